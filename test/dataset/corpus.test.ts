import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, type Post, replyOf } from 'hexline'
import { type DatasetTable, exportDataset, verifyDataset } from 'hexline/bulk'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type BlockFile, hasCorpus, noCorpus, readBlocks } from '../support/corpus.ts'

/** A node that has one block. */
function nodeOf({ chainId, block, receipts }: BlockFile): Post {
  const { number } = block as unknown as { readonly number: string }
  const results: Record<string, unknown> = { eth_chainId: `0x${chainId.toString(16)}`, eth_blockNumber: number, eth_getBlockReceipts: receipts }
  return async (calls) =>
    calls.map(({ method, params: [at] }) => replyOf(structuredClone(method === 'eth_getBlockByNumber' ? (at === number ? block : null) : results[method])))
}

describe.skipIf(!hasCorpus)(`every whole block of the corpus${hasCorpus ? '' : ` (${noCorpus})`}`, () => {
  const whole = readBlocks().filter(({ block }) => typeof block.transactions[0] === 'object')

  it.each(whole)('$name is exported in full, and what is written verifies', async (file) => {
    const dir = await mkdtemp(join(tmpdir(), 'hexline-corpus-'))
    const client = createClient(nodeOf(file))
    onTestFinished(async () => {
      await client.close()
      await rm(dir, { recursive: true })
    })
    const number = BigInt((file.block as unknown as { readonly number: string }).number)
    const tables: DatasetTable[] = ['blocks', 'transactions', ...(file.receipts === undefined ? [] : (['receipts', 'logs'] as const))]
    for (const format of ['ndjson', 'parquet'] as const) {
      await exportDataset(client, { from: number, to: number, dir: join(dir, format), tables, format, verify: 'full' })
      const { checks } = await verifyDataset(join(dir, format), { senders: true, against: client })
      expect(checks).toMatchObject({ files: 1, rows: 1, link: 1, against: 1 })
    }
  })
})
