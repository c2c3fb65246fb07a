import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { MADE } from '../../docs/site/places.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** A block of code of a page. */
export interface CodeBlock {
  /** Path of the page, such as `docs/logs.md`. */
  readonly page: string
  /** Its place among the blocks of its language on the page, from 0. */
  readonly index: number
  readonly code: string
}

/** All Markdown pages of the project, by their paths. */
export function allPages(): string[] {
  const folders = ['', 'bench/', 'bench/results/', 'demo/', 'docs/', 'examples/', 'test/support/']
  return folders.flatMap((folder) => readdirSync(root + folder).flatMap((name) => (name.endsWith('.md') ? [folder + name] : [])))
}

/** README.md and the pages of the documentation. */
export function guides(): string[] {
  return allPages().filter((page) => page === 'README.md' || (page.startsWith('docs/') && !page.startsWith(`docs/${MADE}/`)))
}

/** The text of a page. */
export function textOf(page: string): string {
  return readFileSync(root + page, 'utf8')
}

/** The blocks of code of a language on a page. */
export function codeOf(language: string, page: string): CodeBlock[] {
  const found = textOf(page).matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, 'gm'))
  return [...found].map(([, code], index) => ({ page, index, code: code as string }))
}
