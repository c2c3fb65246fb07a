import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished, vi } from 'vitest'
import { assertProven } from '../../examples/verification/assert-proven.ts'
import { IntegrityError } from '../../src/index.ts'
import { type VerifyCheck, verifyBlock } from '../../src/index-bulk.ts'
import { madeBlock } from '../support/decoded-blocks.ts'
import { madeChain, startMadeChain } from '../support/made-chain.ts'

const root = new URL('../../', import.meta.url)
const page = await readFile(new URL('docs/verification.md', root), 'utf8')
const programs = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code as string)

it('shows the examples unchanged; they are type-checked, and run below', async () => {
  const folder = new URL('examples/verification/', root)
  const files = await Promise.all((await readdir(folder)).map((name) => readFile(new URL(name, folder), 'utf8')))
  expect(programs.toSorted()).toEqual(files.toSorted())
})

it('verifies a range and a block', async () => {
  const chain = await startMadeChain(await madeChain(2))
  const dir = await mkdtemp(join(tmpdir(), 'hexline-docs-'))
  const printed: unknown[] = []
  const log = vi.spyOn(console, 'log').mockImplementation((line) => void printed.push(line))
  onTestFinished(async () => {
    log.mockRestore()
    await chain.close()
    await rm(dir, { recursive: true })
  })
  const program = join(dir, 'program.ts')
  await writeFile(program, (programs[0] as string).replaceAll('http://127.0.0.1:8545', chain.url))
  await import(pathToFileURL(program).href)
  const numbers = printed.filter((line) => typeof line === 'bigint')
  expect(numbers).toEqual([0n, 1n, 2n])
  const checks = { hash: 3, uncles: 3, withdrawals: 3, transactions: 3, receipts: 3, prices: 3, size: 3 }
  expect(printed).toContainEqual({ blocks: 3, checks, skipped: {} })
  expect(printed.at(-1)).toEqual({ checks: Object.keys(checks), skipped: [], uncovered: ['transactions.from', 'receipts.from', 'receipts.contractAddress'] })
})

it('treats a skip as a failure', async () => {
  const { block, receipts } = await madeBlock()
  expect(() => assertProven({ checks: [], skipped: [], uncovered: [] })).not.toThrow()
  assertProven(await verifyBlock(block, receipts))
  await expect(verifyBlock(block).then(assertProven)).rejects.toThrow('not proven: receipts: there are no receipts')
  // As a node could hide that it has altered a header.
  const altered = { ...block, gasLimit: 1n, madeUp: '0x1' }
  await expect(verifyBlock(altered, receipts).then(assertProven)).rejects.toThrow('not proven: hash: the header has fields that hexline does not know (madeUp)')
  await expect(verifyBlock({ ...block, gasLimit: 1n }, receipts)).rejects.toBeInstanceOf(IntegrityError)
})

it('lists every check', async () => {
  const all = { hash: 0, uncles: 0, withdrawals: 0, transactions: 0, receipts: 0, prices: 0, size: 0, senders: 0 } satisfies Record<VerifyCheck, 0>
  const [, table = ''] = page.split('| check | proves |')
  const listed = [...(table.split('\n\n')[0] as string).matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  expect(listed).toEqual(Object.keys(all))
})
