import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Manifest, ManifestFile, parseManifest, type RangeEntry, readManifest } from '../../../src/dataset/folder/manifest.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-manifest-'))
})
afterEach(() => rm(dir, { recursive: true }))

const empty: Manifest = {
  schema: 1,
  format: 'ndjson',
  compression: null,
  from: 0,
  blocksPerFile: 10,
  tables: ['blocks'],
  columns: null,
  checks: { link: [] },
  chainId: 1,
  ranges: [],
}
const range = (from: number): RangeEntry => ({
  from,
  to: from + 9,
  parentHash: '0x1',
  firstHash: '0x2',
  lastHash: '0x3',
  files: [{ name: `blocks/${from}`, rows: 10, bytes: 100, sha256: 'ab' }],
  checks: { made: { link: 10 }, skipped: {} },
  nulls: {},
  tool: '0.1.0',
})

it('is read as it was written, and grows by ranges', async () => {
  expect(await readManifest(dir)).toBeUndefined()
  const file = new ManifestFile(dir, empty)
  await file.write()
  expect(await readManifest(dir)).toEqual(empty)
  file.add(range(0))
  file.add(range(10))
  expect(await readManifest(dir)).toEqual(empty)
  await file.write()
  const both = { ...empty, ranges: [range(0), range(10)] }
  expect(await readManifest(dir)).toEqual(both)
  expect(new ManifestFile(dir, both).text).toBe(await readFile(join(dir, 'manifest.json'), 'utf8'))
  expect(JSON.parse(file.text).ranges).toHaveLength(2)
  expect(await readdir(dir)).toEqual(['manifest.json'])
})

it('every flipped bit is found', () => {
  const bytes = Buffer.from(new ManifestFile(dir, { ...empty, ranges: [range(0)] }).text)
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const wrong = Buffer.from(bytes)
    wrong[bit >> 3] = (wrong[bit >> 3] as number) ^ (1 << (bit & 7))
    expect(() => parseManifest(wrong.toString('latin1'), 'x'), `bit ${bit}`).toThrow('x is damaged')
  }
})

it('a layout of a later version is refused as such', async () => {
  await writeFile(join(dir, 'manifest.json'), new ManifestFile(dir, { ...empty, schema: 2 as 1 }).text)
  await expect(readManifest(dir)).rejects.toThrow('has schema 2, which this version of hexline does not know')
})
