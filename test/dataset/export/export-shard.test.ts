import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, createClient } from 'hexline'
import { type ExportDatasetOptions, exportDataset, mergeDataset, type Progress } from 'hexline/bulk'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { ChainOptions } from '../../support/chain-server.ts'
import { type DatasetChain, startDatasetChain } from '../../support/dataset-chain.ts'
import { digestsOf } from '../../support/dataset-kills.ts'
import { nightly } from '../../support/runs.ts'

let onPost: ChainOptions['gate'] & object
let answer: ChainOptions['answer'] & object
let server: DatasetChain
let client: Client
let folder: string
let dir: string
beforeAll(async () => {
  server = await startDatasetChain({ head: 60, gate: (calls) => onPost(calls), answer: (call, right) => answer(call, right) })
  client = createClient(server.url)
})
afterAll(async () => {
  await client.close()
  await server.close()
})
beforeEach(async () => {
  onPost = () => {}
  answer = () => undefined
  folder = await mkdtemp(join(tmpdir(), 'hexline-export-shard-'))
  dir = join(folder, 'data')
})
afterEach(() => rm(folder, { recursive: true }))

const options = { from: 3, to: 58, format: 'ndjson', blocksPerFile: 5 } as const
const shard = (index: number, of: number, more: Partial<ExportDatasetOptions> = {}) => exportDataset(client, { ...options, dir, shard: { index, of }, ...more })
const parts = async () => (await readdir(join(dir, 'parts'))).filter((name) => /^\d/.test(name)).sort()

it.each([3, ...nightly(1, 8)])('%d shards at once fill a folder with what one export writes', async (of) => {
  const all = await Promise.all(Array.from({ length: of }, (_, i) => shard(i + 1, of)))
  for (const { from, to } of all) expect([from, to]).toEqual([3n, 58n])
  expect(all.reduce((sum, { blocks }) => sum + blocks, 0)).toBe(56)
  await mergeDataset([dir])
  const plain = await exportDataset(client, { ...options, dir: join(folder, 'plain') })
  expect(await digestsOf(dir)).toEqual(await digestsOf(join(folder, 'plain')))
  for (const of of ['ranges', 'files', 'rows', 'bytes'] as const) expect(all.reduce((sum, each) => sum + each[of], 0)).toBe(plain[of])
})

it('each writes its own ranges, and a later run what is missing', async () => {
  expect(await shard(2, 4, { to: 26 })).toMatchObject({ ranges: 2, blocks: 7 })
  expect(await parts()).toEqual(['000000005', '000000025'])
  expect(await shard(2, 4)).toMatchObject({ ranges: 2, blocks: 8 })
  expect(await parts()).toEqual(['000000005', '000000025', '000000027', '000000045'])
  expect(await shard(2, 4)).toMatchObject({ ranges: 0, blocks: 0 })
})

it('the same shard in two processes at once writes each range once', async () => {
  const both = await Promise.all([shard(1, 2), shard(1, 2)])
  expect(both[0].ranges + both[1].ranges).toBe(6)
  await shard(2, 2)
  await mergeDataset([dir])
  await exportDataset(client, { ...options, dir: join(folder, 'plain') })
  expect(await digestsOf(dir)).toEqual(await digestsOf(join(folder, 'plain')))
})

it('tells its progress over all ranges of the shard', async () => {
  const told: Progress[] = []
  await shard(1, 2, { onProgress: (progress) => told.push(progress) })
  // Ranges 0, 2, 4 and so on, of which the first begins with block 3.
  expect(told.map(({ done }) => done)).toEqual(Array.from({ length: 27 }, (_, i) => i + 1))
  for (const [i, { total, bytes }] of told.entries()) {
    expect(total).toBe(27)
    expect(bytes).toBeGreaterThan(told[i - 1]?.bytes ?? 0)
  }
  expect(told.map(({ number }) => Number(number)).sort((a, b) => a - b)).toEqual([
    3,
    4,
    ...[10, 20, 30, 40, 50].flatMap((from) => [0, 1, 2, 3, 4].map((i) => from + i)),
  ])
})

it('ends at a signal with whole ranges, and goes on from there', async () => {
  const stop = new AbortController()
  onPost = (calls) => {
    if (calls.some(({ params }) => params[0] === '0x29')) stop.abort(new Error('stopped'))
  }
  await expect(shard(1, 2, { signal: stop.signal })).rejects.toThrow('stopped')
  expect((await readdir(join(dir, 'parts'))).filter((name) => name.startsWith('writer'))).toEqual([])
  const before = await parts()
  onPost = () => {}
  expect((await shard(1, 2)).ranges).toBe(6 - before.length)
  await expect(shard(2, 2, { signal: stop.signal })).rejects.toThrow('stopped')
})

it('ends with the first error of a range, and leaves nothing of the others', async () => {
  answer = ({ params }) => (params[0] === '0x29' ? { error: { code: -32602, message: 'no such block' } } : undefined)
  await expect(shard(1, 2)).rejects.toThrow('no such block')
  expect((await readdir(join(dir, 'parts'))).filter((name) => name.startsWith('writer'))).toEqual([])
})

it('adds nothing to a folder that has all of its blocks, which needs no other merge then', async () => {
  await exportDataset(client, { ...options, dir })
  const before = await digestsOf(dir)
  expect(await shard(2, 4)).toMatchObject({ ranges: 0, blocks: 0 })
  expect(await digestsOf(dir)).toEqual(before)
  expect(await readdir(dir)).not.toContain('parts')
  expect(await exportDataset(client, { ...options, dir })).toMatchObject({ blocks: 0 })
})
