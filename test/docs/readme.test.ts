import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const root = new URL('../../', import.meta.url)
const read = (page: string) => readFileSync(new URL(page, root), 'utf8')

describe('README.md', () => {
  it('has at most 900 words, code and tables included', () => {
    expect(read('README.md').trim().split(/\s+/).length).toBeLessThanOrEqual(900)
  })

  it('links to every page of the documentation except the REST specification, to which the page of the REST API links', () => {
    const pages = readdirSync(new URL('docs/', root)).filter((name) => name.endsWith('.md') && name !== 'service.md')
    for (const page of pages) expect(read('README.md')).toContain(`](docs/${page})`)
    expect(read('docs/rest.md')).toContain('](service.md)')
  })
})

/** GitHub's anchor for a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const pages = ['README.md', 'bench/README.md', ...readdirSync(new URL('docs/', root)).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : []))]
it.each(pages)('%s: links lead to files and headings that exist', (page) => {
  const targets = [...read(page).matchAll(/\]\((?!https?:)([^)\s]*)\)/g)].map(([, target]) => target as string)
  for (const target of targets) {
    const [path = '', anchor] = target.split('#')
    const file = new URL(path, new URL(page, root))
    expect(existsSync(file), `${page}: ${target}`).toBe(true)
    if (anchor === undefined) continue
    const headings = [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading as string))
    expect(headings, `${page}: ${target}`).toContain(anchor)
  }
})
