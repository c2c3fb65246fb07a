import { copyFile, mkdir, mkdtemp, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, IntegrityError } from 'hexline'
import { exportDataset } from 'hexline/bulk'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type Manifest, readManifest } from '../../../src/dataset/folder/manifest.ts'
import { checkDigest, checkFolder } from '../../../src/dataset/verify/check-files.ts'
import { startDatasetChain } from '../../support/dataset-chain.ts'

const FIRST = 'blocks/000000005-000000009.ndjson'
const SECOND = 'blocks/000000010-000000012.ndjson'
let dir: string
let manifest: Manifest
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-files-'))
  const server = await startDatasetChain({ head: 40 })
  await using client = createClient(server.url)
  await exportDataset(client, { from: 5, to: 12, dir, tables: ['blocks', 'transactions'], format: 'ndjson', blocksPerFile: 10 })
  await server.close()
  manifest = (await readManifest(dir)) as Manifest
})
afterEach(() => rm(dir, { recursive: true }))

const at = (name: string) => join(dir, name)

async function fault(): Promise<[string | undefined, string | undefined]> {
  try {
    await checkFolder(dir, manifest)
    for (const { files } of manifest.ranges) for (const file of files) await checkDigest(dir, file, undefined)
    return ['', '']
  } catch (error) {
    if (!(error instanceof IntegrityError)) throw error
    return [error.file, error.field]
  }
}

it('what was written is right', async () => {
  expect(await fault()).toEqual(['', ''])
})

it.each<[string, () => Promise<unknown>, string, string]>([
  ['removed', () => rm(at(SECOND)), SECOND, 'file'],
  ['renamed', () => rename(at(SECOND), at('blocks/000000010-000000013.ndjson')), SECOND, 'file'],
  ['replaced by a folder', () => rm(at(SECOND)).then(() => mkdir(at(SECOND))), SECOND, 'file'],
  ['moved to another table', () => rename(at(SECOND), at('transactions/x')), SECOND, 'file'],
  ['truncated by a byte', async () => truncate(at(FIRST), (await readFile(at(FIRST))).length - 1), FIRST, 'bytes'],
  ['emptied', () => truncate(at(FIRST)), FIRST, 'bytes'],
  ['appended to', () => writeFile(at(FIRST), '\n', { flag: 'a' }), FIRST, 'bytes'],
  ['another of the same size', async () => writeFile(at(FIRST), Buffer.alloc((await readFile(at(FIRST))).length)), FIRST, 'sha256'],
  [
    'swapped with another',
    async () => {
      await copyFile(at(FIRST), at('aside'))
      await rename(at(SECOND), at(FIRST))
      await rename(at('aside'), at(SECOND))
    },
    FIRST,
    'bytes',
  ],
])('a file that was %s', async (_, change, file, field) => {
  await change()
  expect(await fault()).toEqual([file, field])
})

it.each([
  ['at the top', 'notes.txt', 'notes.txt'],
  ['beside the files of a table', `${FIRST}.bak`, `${FIRST}.bak`],
  ['of a table that is not stored', 'logs/000000005-000000009.ndjson', 'logs'],
  ['which is hidden', 'blocks/.DS_Store', 'blocks/.DS_Store'],
])('a file that the manifest does not name, %s', async (_, name, found) => {
  await mkdir(at('logs'), { recursive: true })
  if (!name.startsWith('logs')) await rm(at('logs'), { recursive: true })
  await writeFile(at(name), '')
  expect(await fault()).toEqual([found, 'file'])
})

it.each([`${FIRST}.123.partial`, 'manifest.json.123.partial'])('%s says that an export was killed', async (name) => {
  await writeFile(at(name), '')
  await expect(checkFolder(dir, manifest)).rejects.toThrow(`${name}: file: expected none, found a part of a file: an export was killed: run it again first`)
})

it.each(['.lock', '.lock.turn'])('%s says that an export is running or was killed', async (name) => {
  await writeFile(at(name), '{}')
  await expect(checkFolder(dir, manifest)).rejects.toThrow(
    `${name}: file: expected none, found a lock: an export is running here, or was killed: run it again first`,
  )
})

it('what shards leave beside a merged dataset is named as such', async () => {
  await mkdir(at('parts'))
  await expect(checkFolder(dir, manifest)).rejects.toThrow(
    'parts: file: expected none, found a folder of shards, which run here or were killed: run `hexline merge` first',
  )
})

it('a digest ends with its signal', async () => {
  const [file] = (manifest.ranges[0] as Manifest['ranges'][number]).files
  await expect(checkDigest(dir, file as NonNullable<typeof file>, AbortSignal.abort(new Error('enough')))).rejects.toThrow()
})

it('a file or table behind a symbolic link is not in the folder', async () => {
  const elsewhere = `${dir}-elsewhere`
  await rename(at(FIRST), elsewhere)
  await symlink(elsewhere, at(FIRST))
  expect(await fault()).toEqual([FIRST, 'file'])
  await rename(elsewhere, at(FIRST))
  expect(await fault()).toEqual(['', ''])
  await rename(at('blocks'), at('moved'))
  await symlink(at('moved'), at('blocks'))
  expect(await fault()).toEqual(['blocks', 'file'])
})
