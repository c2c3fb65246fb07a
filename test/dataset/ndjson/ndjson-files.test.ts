import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import zlib from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLines, wantedForLines } from '../../../src/dataset/ndjson/ndjson-files.ts'
import { blockCutter } from '../../../src/dataset/rows/cut-block.ts'
import type { DatasetTable } from '../../../src/dataset/tables.ts'
import { hasZstd } from '../../../src/dataset/zstd.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-lines-'))
})
afterEach(() => rm(dir, { recursive: true }))

const HASH = `0x${'a'.repeat(64)}`

/** The text of the file of a table, for blocks with these fields. */
async function textOf(
  table: DatasetTable,
  tables: readonly DatasetTable[],
  blocks: readonly string[],
  format: 'ndjson' | 'ndjson.gz' | 'ndjson.zst' = 'ndjson',
): Promise<string> {
  const wanted = Object.fromEntries(tables.map((each) => [each, wantedForLines(each, tables)]))
  const reader = blockCutter(wanted, { full: true, receipts: false })
  const file = await createLines(dir, 'x', table, format)
  for (const [i, fields] of blocks.entries()) {
    const block = `{"number":"0x${i.toString(16)}","hash":"${HASH}","parentHash":"${HASH}"${fields}}`
    await file.add(reader.item(reader.block(Buffer.from(block)), undefined))
  }
  await file.finish()
  await file.publish()
  const bytes = await readFile(join(dir, 'x'))
  if (format === 'ndjson.gz') return zlib.gunzipSync(bytes).toString()
  return (format === 'ndjson' ? bytes : (zlib as unknown as { zstdDecompressSync(bytes: Buffer): Buffer }).zstdDecompressSync(bytes)).toString()
}

const start = `{"number":"0x0","hash":"${HASH}","parentHash":"${HASH}"`

describe('a line of a block without its lists', () => {
  it.each([
    [',"transactions":[],"a":1', ',"a":1}'],
    [',"a":1,"transactions":[{"x":"0x1"},{}]', ',"a":1}'],
    [',"transactions":[],"withdrawals":[{}]', '}'],
    [',"withdrawals":[],"a":1,"transactions":[],"b":2', ',"a":1,"b":2}'],
    [',"withdrawals":null,"transactions":[]', ',"withdrawals":null}'],
    [',"\\u0074ransactions":[],"\u00e9":1', ',"\u00e9":1}'],
  ])('%s', async (fields, end) => {
    expect(await textOf('blocks', ['blocks', 'transactions', 'withdrawals'], [fields])).toBe(`${start}${end}\n`)
  })

  it('also where the list comes first, or alone', async () => {
    const first = `{"transactions":[],"number":"0x0","hash":"${HASH}","parentHash":"${HASH}"}`
    const reader = blockCutter({ blocks: wantedForLines('blocks', ['blocks', 'transactions']) }, { full: true, receipts: false })
    const file = await createLines(dir, 'x', 'blocks', 'ndjson')
    await file.add(reader.item(reader.block(Buffer.from(first)), undefined))
    await file.finish()
    await file.publish()
    expect(await readFile(join(dir, 'x'), 'utf8')).toBe(`${start}}\n`)
  })
})

it('a withdrawal gets the number of its block, also if it has nothing else', async () => {
  const text = await textOf('withdrawals', ['withdrawals'], [',"transactions":[]', ',"transactions":[],"withdrawals":[{"index":"0x1"},{}]'])
  expect(text).toBe('{"blockNumber":"0x1","index":"0x1"}\n{"blockNumber":"0x1"}\n')
})

describe.each(['ndjson', 'ndjson.gz', ...(hasZstd ? (['ndjson.zst'] as const) : [])] as const)('%s', (format) => {
  it('holds lines that are longer than a piece, and pieces of many lines', async () => {
    const sizes = [10, 3_000_000, 5, 1024 * 1024, 1024 * 1024 - 20, 400_000, 400_000, 400_000, 1]
    const rows = sizes.map((size, i) => `{"i":${i},"x":"${'y'.repeat(size)}"}`)
    const blocks = [rows.slice(0, 3), [], rows.slice(3, 8), rows.slice(8)].map((some) => `,"transactions":[${some.join()}]`)
    const text = await textOf('transactions', ['transactions'], blocks, format)
    expect(text === `${rows.join('\n')}\n`).toBe(true)
  })

  it('is valid without a line', async () => {
    expect(await textOf('transactions', ['transactions'], [',"transactions":[]'], format)).toBe('')
  })
})
