import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { linksOf } from '../../../docs/site/links.ts'
import { fileOf, MADE } from '../../../docs/site/places.ts'
import { sidebar } from '../../../docs/site/sidebar.ts'
import { guides, textOf } from '../../support/pages.ts'

const pages = sidebar.flatMap(({ pages }) => pages.map(({ page }) => page))
const written = guides().flatMap((page) => (page.startsWith('docs/') ? [page.slice('docs/'.length)] : []))

it('has each page of docs once', () => {
  expect(pages.filter((page) => !page.startsWith(`${MADE}/`)).sort()).toEqual(written.sort())
})

it('has pages that are made from files that exist, and those of the entry points', () => {
  const made = pages.filter((page) => page.startsWith(`${MADE}/`))
  for (const page of made.filter((each) => each.startsWith(`${MADE}/files/`)))
    expect(existsSync(new URL(`../../../${fileOf(page)}`, import.meta.url))).toBe(true)
  expect(made.filter((page) => !page.startsWith(`${MADE}/files/`))).toEqual(
    ['hexline', 'bulk', 'rest', 'sandbox', 'viem', 'ethers', 'otel', 'bullmq'].map((name) => `${MADE}/${name}.md`),
  )
})

it('and so has docs/index.md, where there is no sidebar', () => {
  const linked = linksOf(textOf('docs/index.md')).map(({ target }) => target)
  for (const page of written) if (page !== 'index.md') expect(linked).toContain(page)
})
