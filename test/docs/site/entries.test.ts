import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { entriesOfPackage } from '../../../docs/site/entries.ts'
import { sidebar } from '../../../docs/site/sidebar.ts'

const dist = fileURLToPath(new URL('../../../dist/', import.meta.url))

it('has each entry point of the package, whose declarations are in the build', () => {
  const entries = entriesOfPackage()
  expect(Object.keys(entries).sort()).toEqual(['bulk', 'bullmq', 'ethers', 'hexline', 'otel', 'rest', 'sandbox', 'viem'])
  expect(Object.values(entries).filter((file) => !existsSync(dist + file))).toEqual([])
})

it('has those to whose reference the sidebar leads', () => {
  const pages = sidebar.flatMap(({ pages }) => pages.flatMap(({ page }) => /^reference\/(\w+)\.md$/.exec(page)?.[1] ?? []))
  expect(pages.sort()).toEqual(Object.keys(entriesOfPackage()).sort())
})
