import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { anchorOf } from '../../docs/site/anchor.ts'
import { headingsOf, isExternal, linksOf } from '../../docs/site/links.ts'
import { linkedFile } from '../../docs/site/places.ts'
import { allPages, textOf } from '../support/pages.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The anchors of a page. A heading that comes again has a number. */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>()
  for (const heading of headingsOf(textOf(page))) {
    const anchor = anchorOf(heading)
    let unused = anchor
    for (let n = 1; anchors.has(unused); n++) unused = `${anchor}-${n}`
    anchors.add(unused)
  }
  return anchors
}

describe.each(allPages())('%s', (page) => {
  const links = linksOf(textOf(page)).filter(({ target }) => !isExternal(target))

  it('links to files and headings that exist', () => {
    for (const { target } of links) {
      const file = linkedFile(target, page) ?? page
      expect(existsSync(root + file), `${page}: ${target}`).toBe(true)
      const [, anchor] = target.split('#')
      if (anchor !== undefined) expect([...anchorsOf(file)], `${page}: ${target}`).toContain(anchor)
    }
  })

  it('links to nothing outside of the project, whose place only its author knows', () => {
    for (const { target } of links) expect(linkedFile(target, page) ?? '').not.toMatch(/^(?:\/|\.\.)/)
  })
})
