import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { ManifestUpdates } from '../../../src/dataset/export/manifest-updates.ts'
import { type Manifest, ManifestFile, type RangeEntry, readManifest } from '../../../src/dataset/folder/manifest.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-updates-'))
})
afterEach(() => rm(dir, { recursive: true }))

const header = {
  schema: 1,
  chainId: 1,
  format: 'ndjson',
  compression: null,
  from: 0,
  blocksPerFile: 10,
  tables: ['blocks'],
  columns: null,
  checks: {},
} as const
const range = (from: number): RangeEntry => ({
  ...{ from, to: from + 9, parentHash: '0x1', firstHash: '0x2', lastHash: '0x3' },
  ...{ files: [], checks: { made: {}, skipped: {} }, nulls: {}, tool: '0.1.0' },
})

/** Updates of a manifest that takes this long to write, in virtual ms. */
function startUpdates(writeMs: number, check: () => Promise<void> = async () => {}) {
  const clock = new VirtualClock()
  const file = new ManifestFile(dir, { ...header, ranges: [] } satisfies Manifest)
  const { write } = file
  let writes = 0
  file.write = async () => {
    writes++
    if (writeMs > 0) await clock.sleep(writeMs)
    await write.call(file)
  }
  const updates = new ManifestUpdates(file, { check, release: async () => {} }, clock)
  return { clock, updates, writes: () => writes }
}

const named = async () => (await readManifest(dir))?.ranges.length

it('are written with each range while that takes no time', async () => {
  const { updates } = startUpdates(0)
  for (let i = 0; i < 3; i++) {
    await updates.add(range(10 * i))
    expect(await named()).toBe(i + 1)
  }
  expect(updates.isBehind).toBe(false)
})

it('take a twentieth of the time, and are all there at the end', async () => {
  const { clock, updates, writes } = startUpdates(100)
  for (let i = 0; i < 100; i++) {
    await clock.sleep(100)
    await updates.add(range(10 * i))
  }
  // 100 ranges in some 10 s, 0.1 s for each of which 1.9 s follow without.
  expect(writes()).toBe(6)
  expect(updates.isBehind).toBe(true)
  await updates.finish()
  expect(await named()).toBe(100)
  await updates.finish()
  expect(writes()).toBe(7)
})

it('end where another process has taken the folder: nothing is written over its manifest', async () => {
  let isTaken = false
  const { updates } = startUpdates(100, async () => {
    if (isTaken) throw new Error('taken')
  })
  await updates.add(range(0))
  await updates.add(range(10))
  isTaken = true
  await expect(updates.finish()).rejects.toThrow('taken')
  expect(await named()).toBe(1)
  expect(updates.isBehind).toBe(true)
})
