import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'hexline'
import { exportDataset } from 'hexline/bulk'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Manifest, type RangeEntry, readManifest } from '../../../src/dataset/folder/manifest.ts'
import { CheckCounts } from '../../../src/dataset/verify/check-counts.ts'
import { type ChosenBlock, verifyRange } from '../../../src/dataset/verify/verify-range.ts'
import { FIRST, startValidChain, validBlocks } from '../../support/valid-chain.ts'

let dir: string
let manifest: Manifest
let range: RangeEntry
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-range-'))
  const server = await startValidChain(3)
  await using client = createClient(server.url)
  await exportDataset(client, { from: FIRST, to: FIRST + 2, dir, format: 'ndjson', tables: ['blocks'] })
  await server.close()
  manifest = (await readManifest(dir)) as Manifest
  range = manifest.ranges[0] as RangeEntry
})
afterEach(() => rm(dir, { recursive: true }))

async function verify(change: Partial<RangeEntry> = {}, signal?: AbortSignal) {
  const counts = new CheckCounts()
  const seen: [bigint, string | undefined][] = []
  const onBlock = (number: bigint, chosen: ChosenBlock | undefined) => void seen.push([number, chosen?.hash])
  const job = { dir, header: manifest, senderOf: undefined, signal, chosen: new Set([FIRST, FIRST + 2]), onBlock }
  await verifyRange(job, { ...range, ...change }, counts)
  return { counts, seen }
}

const wrong = `0x${'99'.repeat(32)}`

it('counts what was proven of each block, and gives the rows of those that are chosen', async () => {
  const { counts, seen } = await verify()
  expect(counts.checks).toMatchObject({ files: 3, rows: 3, link: 3, header: 3 })
  const blocks = await validBlocks(3)
  expect(seen).toEqual([...blocks].map(([number, { block }]) => [BigInt(number), number === FIRST + 1 ? undefined : block.hash]))
})

it.each([
  ['parentHash', { parentHash: wrong }, 'parentHash', FIRST],
  ['firstHash', { firstHash: wrong }, 'hash', FIRST],
  ['lastHash', { lastHash: wrong }, 'hash', FIRST + 2],
])('a manifest with another %s', async (_, change, field, block) => {
  await expect(verify(change)).rejects.toMatchObject({ field, block: BigInt(block), expected: wrong, file: range.files[0]?.name })
})

it('reads no row of a file whose digest is wrong', async () => {
  await writeFile(join(dir, range.files[0]?.name as string), 'no JSON')
  await expect(verify()).rejects.toMatchObject({ field: 'sha256' })
})

it('ends with its signal', async () => {
  await expect(verify({}, AbortSignal.abort(new Error('enough')))).rejects.toThrow()
})
