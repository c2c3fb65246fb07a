import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, IntegrityError } from 'hexline'
import { exportDataset } from 'hexline/bulk'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { readCheckedManifest } from '../../../src/dataset/folder/check-manifest.ts'
import { type Manifest, ManifestFile, parseManifest } from '../../../src/dataset/folder/manifest.ts'
import { startDatasetChain } from '../../support/dataset-chain.ts'

const HASH = `0x${'77'.repeat(32)}`
let dir: string
let path: string
let text: string
let manifest: Manifest
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-manifest-'))
  path = join(dir, 'manifest.json')
  const server = await startDatasetChain({ head: 40 })
  await using client = createClient(server.url)
  await exportDataset(client, { from: 5, to: 25, dir, tables: ['blocks', 'transactions'], format: 'parquet', blocksPerFile: 10 })
  await server.close()
  text = await readFile(path, 'utf8')
  manifest = parseManifest(text, path)
})
afterAll(() => rm(dir, { recursive: true }))
beforeEach(() => writeFile(path, text))

async function fault(): Promise<IntegrityError> {
  const error = await readCheckedManifest(dir).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(IntegrityError)
  expect((error as IntegrityError).file).toBe('manifest.json')
  return error as IntegrityError
}

/** The digest is right, as a liar would make it. */
async function forge(change: (copy: Record<string, never>) => void): Promise<void> {
  const copy = structuredClone(manifest)
  change(copy as unknown as Record<string, never>)
  await writeFile(path, new ManifestFile(dir, copy).text)
}

const sign = (lines: string) => `${lines}"sha256": "${createHash('sha256').update(lines).digest('hex')}"\n}\n`

it('gives back what was written', async () => {
  expect(await readCheckedManifest(dir)).toEqual(manifest)
})

it.each<[string, (text: string) => string, string]>([
  ['another byte', (all) => all.replace('"chainId": 1', '"chainId": 2'), 'its lines do not have the SHA-256 that it ends with'],
  ['no digest', (all) => all.slice(0, -10), 'it does not end with its own SHA-256'],
  ['something behind it', (all) => `${all} `, 'it does not end with its own SHA-256'],
  ['nothing', () => '', 'it does not end with its own SHA-256'],
  ['no JSON', () => sign('{\n"ranges": [,\n'), 'text: expected JSON of a manifest'],
  [
    'other white space',
    (all) => sign(all.slice(0, all.lastIndexOf('"sha256"')).replace('"chainId": 1', '"chainId":  1')),
    'text: expected the text that its values make',
  ],
  [
    'a field twice',
    (all) => sign(all.slice(0, all.lastIndexOf('"sha256"')).replace('"from": 5', '"from": 6,\n"from": 5')),
    'text: expected the text that its values make',
  ],
])('%s is refused', async (_, change, message) => {
  await writeFile(path, change(text))
  expect((await fault()).message).toContain(message)
})

it('the absence of a digest is a falsehood, and another version is not', async () => {
  await rm(path)
  expect((await fault()).message).toBe(`manifest.json: file: expected a file, found none; is ${dir} a folder that hexline export wrote?`)
  await forge((copy) => Object.assign(copy, { schema: 2 }))
  await expect(readCheckedManifest(dir)).rejects.toThrow(/schema 2.*needs a newer one$/)
})

describe('a manifest with its digest made anew', () => {
  type Copy = { ranges: { files: Record<string, unknown>[] }[] } & Record<string, unknown>
  const range = (i: number, change: object) => (copy: Copy) => Object.assign(copy.ranges[i] as object, change)
  const file = (i: number, j: number, change: object) => (copy: Copy) => Object.assign(copy.ranges[i]?.files[j] as object, change)

  it.each<[string, (copy: Copy) => unknown]>([
    ['chainId', (copy) => Object.assign(copy, { chainId: '1' })],
    ['format', (copy) => Object.assign(copy, { format: 'csv' })],
    ['compression', (copy) => Object.assign(copy, { compression: 'gzip' })],
    ['from', (copy) => Object.assign(copy, { from: -1 })],
    ['blocksPerFile', (copy) => Object.assign(copy, { blocksPerFile: 0 })],
    ['tables', (copy) => Object.assign(copy, { tables: ['transactions', 'blocks'] })],
    ['tables', (copy) => Object.assign(copy, { tables: ['blocks', 'traces'] })],
    ['columns', (copy) => Object.assign(copy, { columns: null })],
    ['columns', (copy) => Object.assign(copy, { columns: { blocks: ['number'] } })],
    ['columns.blocks', (copy) => Object.assign(copy, { columns: { blocks: ['hash', 'number'], transactions: ['hash'] } })],
    ['columns.blocks', (copy) => Object.assign(copy, { columns: { blocks: [], transactions: ['hash'] } })],
    ['manifest', (copy) => Object.assign(copy, { note: 'more' })],
    ['manifest', (copy) => delete copy.checks],
    ['ranges[0].from', (copy) => Object.assign(copy, { from: 4 })],
    ['ranges[1].from', (copy) => copy.ranges.splice(1, 1)],
    ['ranges[0].to', range(0, { to: 10 })],
    ['ranges[0].to', range(0, { to: 4 })],
    ['ranges[0].firstHash', range(0, { firstHash: '0x1' })],
    ['ranges[1].parentHash', range(1, { parentHash: HASH })],
    ['ranges[0].files', range(0, { files: [] })],
    ['ranges[0].files[0]', file(0, 0, { size: 1 })],
    ['ranges[0].files[0].name', file(0, 0, { name: '../blocks/000000005-000000009.parquet' })],
    ['ranges[0].files[0].name', file(0, 0, { name: 'blocks/000000010-000000019.parquet' })],
    ['ranges[0].files[0].rows', file(0, 0, { rows: 4 })],
    ['ranges[0].files[1].rows', file(0, 1, { rows: -1 })],
    ['ranges[0].files[1].bytes', file(0, 1, { bytes: '7' })],
    ['ranges[0].files[1].sha256', file(0, 1, { sha256: 'x' })],
    ['ranges[0].checks', range(0, { checks: {} })],
    ['ranges[0].nulls.blocks.difficulty', range(0, { nulls: { 'blocks.difficulty': -1 } })],
    ['ranges[0].nulls.blocks.size', range(0, { nulls: { 'blocks.size': 1 } })],
    ['ranges[0].nulls.receipts.l1Fee', range(0, { nulls: { 'receipts.l1Fee': 1 } })],
    ['ranges[0].nulls.blocks.difficulty.x', range(0, { nulls: { 'blocks.difficulty.x': 1 } })],
    ['ranges[0].nulls', range(0, { nulls: null })],
    ['ranges[0].parentHash', range(0, { parentHash: [HASH] })],
    ['ranges[0].files[0].sha256', file(0, 0, { sha256: ['7'.repeat(64)] })],
    ['checks', (copy) => Object.assign(copy, { checks: {} })],
    ['checks.receiptsRoot', (copy) => Object.assign(copy.checks as object, { receiptsRoot: [] })],
    ['ranges[0].checks.made', range(0, { checks: { made: null, skipped: {} } })],
    ['ranges[0].checks.made.hash', range(0, { checks: { made: { hash: 6 }, skipped: {} } })],
    ['ranges[0].checks.skipped', range(0, { checks: { made: {}, skipped: [] } })],
    ['ranges[0].checks.skipped.hash', range(0, { checks: { made: {}, skipped: { hash: 'why' } } })],
    ['ranges[0].checks.skipped.hash.why', range(0, { checks: { made: {}, skipped: { hash: { why: 0 } } } })],
    ['ranges[0].tool', range(0, { tool: 1 })],
  ])('%s', async (field, change) => {
    await forge((copy) => change(copy as unknown as Copy))
    expect((await fault()).field).toBe(field)
  })

  it('the hashes of a range of one block are one hash', async () => {
    await forge((copy) => {
      const all = copy as unknown as Copy
      all.ranges.splice(1)
      Object.assign(all, { from: 9 })
      range(0, { from: 9, to: 9 })(all)
    })
    expect((await fault()).field).toBe('ranges[0].lastHash')
  })
})
