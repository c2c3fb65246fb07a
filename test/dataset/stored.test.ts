import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { verifyDataset } from 'hexline/bulk'
import { parquetMetadata } from 'hyparquet'
import { expect, it } from 'vitest'
import { hasZstd } from '../../src/dataset/zstd.ts'

/**
 * Blocks 8 to 10 of a made-up chain, exported with Node.js 20 (Snappy) and 24 (Zstandard),
 * and never written again. Verification makes footers and page headers with the
 * installed hyparquet-writer: one that encodes them in another way would make all existing datasets
 * false, and no test that writes its own files would notice.
 */
const dir = (name: string) => fileURLToPath(new URL(`stored/${name}`, import.meta.url))

it.each(['snappy', 'zstd'])('a stored dataset is true: %s', async (name) => {
  const bytes = await readFile(`${dir(name)}/blocks/000000008-000000010.parquet`)
  const codecs = new Set(parquetMetadata(new Uint8Array(bytes).buffer).row_groups.flatMap(({ columns }) => columns.map(({ meta_data }) => meta_data?.codec)))
  expect([...codecs].sort()).toEqual([name.toUpperCase(), 'UNCOMPRESSED'].sort())
  if (name === 'zstd' && !hasZstd) return
  const { checks, blocks, lastHash, uncovered } = await verifyDataset(dir(name))
  expect(checks).toEqual({ files: 3, rows: 3, link: 3, header: 3, logsBloom: 3, uncles: 3 })
  expect(blocks).toBe(3)
  expect(lastHash).toBe('0x2d64789cf69b89697ad623f5a7a400a99160fde3133905d8073c7137b4052aa5')
  expect(uncovered).toEqual(['blocks.size', 'blocks.transactionCount', 'logs.*'])
})
