import { describe, expect, it } from 'vitest'
import { releaseNotes } from '../../.ci/release-notes.ts'
import { textOf } from '../support/pages.ts'

const changelog = `# Changelog

## 1.10.0 (not yet released)

- Next.

## 1.1.0 (2026-01-31)

Speed.

- \`getBlocks\`: faster.

### Mended

- All of it.

## 1.0.0 (2025-12-01)
`

describe('the notes of a release', () => {
  it('are the section of its version, to the next one', () => {
    expect(releaseNotes(changelog, '1.1.0')).toEqual({ text: 'Speed.\n\n- `getBlocks`: faster.\n\n### Mended\n\n- All of it.\n', isDated: true })
  })

  it('of a version that has no date say so', () => {
    expect(releaseNotes(changelog, '1.10.0')).toEqual({ text: '- Next.\n', isDated: false })
  })

  it.each([
    ['1.1', 'CHANGELOG.md has no section "## 1.1 (date)"'],
    ['1.0.0', 'CHANGELOG.md has nothing below "## 1.0.0 (2025-12-01)"'],
  ])('of %s are refused', (version, message) => {
    expect(() => releaseNotes(changelog, version)).toThrow(message)
  })

  it('are there for the version of package.json', () => {
    const { version } = JSON.parse(textOf('package.json'))
    expect(releaseNotes(textOf('CHANGELOG.md'), version).text).toMatch(/^- /m)
  })
})
