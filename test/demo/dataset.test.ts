import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { seedChain } from '../../demo/chain.ts'
import { exportArgs, proofOf, prove, sqlArgs } from '../../demo/dataset.ts'
import type { DatasetReport } from '../../src/index-bulk.ts'
import { startAnvil } from '../support/anvil.ts'
import { hexline } from '../support/command.ts'

const never = new AbortController().signal

it('a chain is exported, proven and asked', async () => {
  const anvil = await startAnvil({ timestamp: 1_700_000_000 })
  const dir = await mkdtemp(join(tmpdir(), 'hexline-demo-'))
  onTestFinished(async () => {
    await anvil.stop()
    await rm(dir, { recursive: true })
  })
  const { tokens, collectible } = await seedChain(anvil.url, { blocks: 60, blobs: 0 })
  expect(await hexline(exportArgs(anvil.url, dir))).toMatchObject({ code: 0 })
  const proof = await prove(dir, 61, never)
  expect(proof).toMatch(/^5 files verified in \d+\.\d s without the node: .*\n61 blocks, computed anew from [\d,]+ rows\. .*\nlast hash, 0x[0-9a-f]{64}$/)
  expect(proof.split('\n').filter((line) => line.length > 80)).toEqual([])
  const { stdout } = await hexline([...sqlArgs(dir), '--csv'])
  const [head, ...found] = stdout.trimEnd().split('\n')
  expect(head).toBe('token,transfers')
  expect(found).toHaveLength(3)
  for (const line of found) expect([...tokens, collectible]).toContain(line.split(',')[0])

  const [name = ''] = await readdir(join(dir, 'blocks'))
  await writeFile(join(dir, 'blocks', name), 'x')
  await expect(prove(dir, 61, never)).rejects.toThrow(name)
})

it('a chain of which something was not proven is no proof', () => {
  const checks = { link: 9, header: 9, transactionsRoot: 9, receiptsRoot: 8, withdrawalsRoot: 9 }
  expect(() => proofOf({ checks } as unknown as DatasetReport, 9, 1)).toThrow('receiptsRoot was proven of 8 blocks instead of 9')
})

it('a proof of any size is at most 80 columns wide', () => {
  const checks = Object.fromEntries(['link', 'header', 'transactionsRoot', 'receiptsRoot', 'withdrawalsRoot'].map((name) => [name, 100_000]))
  const report = { checks, rows: 9_999_999, files: 500, lastHash: `0x${'ab'.repeat(32)}` } as unknown as DatasetReport
  for (const line of proofOf(report, 100_000, 99.94).split('\n')) expect(line.length).toBeLessThanOrEqual(80)
})
