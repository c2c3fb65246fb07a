import { readFileSync } from 'node:fs'
import { argv } from 'node:process'
import { pathToFileURL } from 'node:url'

/** What is new in a version. */
export interface ReleaseNotes {
  /** The section of the version in the changelog, without its heading. */
  readonly text: string
  /** Does the heading have a date, as in `## 1.2.0 (2026-01-31)`? */
  readonly isDated: boolean
}

/** The notes of `version`, from the text of CHANGELOG.md. Throws if it has no section of this version, or an empty one. */
export function releaseNotes(changelog: string, version: string): ReleaseNotes {
  const sections = changelog.split(/^## /m).slice(1)
  const section = sections.find((text) => text.split(/\s/, 1)[0] === version)
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "## ${version} (date)"`)
  const [heading = '', ...lines] = section.split('\n')
  const text = lines.join('\n').trim()
  if (text === '') throw new Error(`CHANGELOG.md has nothing below "## ${heading}"`)
  return { text: `${text}\n`, isDated: /\(\d{4}-\d{2}-\d{2}\)$/.test(heading.trim()) }
}

/* As a program: `tsx .ci/release-notes.ts VERSION [dated]` prints them. `dated` refuses a version without a date. */
if (import.meta.url === pathToFileURL(argv[1] ?? '').href) {
  const [, , version = '', dated] = argv
  const { text, isDated } = releaseNotes(readFileSync('CHANGELOG.md', 'utf8'), version)
  if (dated === 'dated' && !isDated) throw new Error(`the section of ${version} in CHANGELOG.md has no date: "## ${version} (2026-01-31)"`)
  process.stdout.write(text)
}
