import fs, { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, createClient } from 'hexline'
import { type ExportDatasetOptions, exportDataset, mergeDataset, verifyDataset } from 'hexline/bulk'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { checkExportOptions } from '../../../src/dataset/export/export-options.ts'
import { openParts } from '../../../src/dataset/export/open-parts.ts'
import { ManifestFile, readManifest } from '../../../src/dataset/folder/manifest.ts'
import { type DatasetChain, startDatasetChain } from '../../support/dataset-chain.ts'
import { digestsOf } from '../../support/dataset-kills.ts'

let branch = 'b'
let server: DatasetChain
let client: Client
let folder: string
let plain: Record<string, string>
/** All shards of two in one folder, and one folder each: copied by each test. */
let whole: string
beforeAll(async () => {
  server = await startDatasetChain({ head: 60, branch: () => branch })
  client = createClient(server.url)
  whole = await mkdtemp(join(tmpdir(), 'hexline-merge-whole-'))
  await exportDataset(client, { ...options, dir: join(whole, 'plain') })
  plain = await digestsOf(join(whole, 'plain'))
  for (const index of [1, 2]) {
    await exportDataset(client, { ...options, dir: join(whole, 'shared'), shard: { index, of: 2 } })
    await exportDataset(client, { ...options, dir: join(whole, `shard-${index}`), shard: { index, of: 2 } })
  }
})
afterAll(async () => {
  await client.close()
  await server.close()
  await rm(whole, { recursive: true })
})
beforeEach(async () => {
  branch = 'b'
  folder = await mkdtemp(join(tmpdir(), 'hexline-merge-'))
})
afterEach(() => rm(folder, { recursive: true }))

const options = { from: 3, to: 44, format: 'ndjson', tables: ['blocks', 'logs'], blocksPerFile: 10 } as const

/** Copies of folders of `whole`. */
async function copies(...names: string[]): Promise<string[]> {
  for (const name of names) await cp(join(whole, name), join(folder, name), { recursive: true })
  return names.map((name) => join(folder, name))
}

const shard = (dir: string, index: number, more: Partial<ExportDatasetOptions> = {}) =>
  exportDataset(client, { ...options, dir, shard: { index, of: 2 }, ...more })

it('shards of one folder become what one export writes', async () => {
  const [dir = ''] = await copies('shared')
  expect(await mergeDataset([dir])).toMatchObject({ dir, from: 3n, to: 44n, ranges: 5, blocks: 42, files: 10 })
  expect(await digestsOf(dir)).toEqual(plain)
  expect((await readdir(dir)).sort()).toEqual(['blocks', 'logs', 'manifest.json'])
})

it('once more, it changes nothing', async () => {
  const [dir = ''] = await copies('shared')
  const summary = await mergeDataset([dir])
  expect(await mergeDataset([dir])).toEqual(summary)
  expect(await digestsOf(dir)).toEqual(plain)
})

it('shards of a folder each become the first one, or a new one; the others stay as they are', async () => {
  const dirs = await copies('shard-1', 'shard-2')
  const before = await Promise.all(dirs.map(digestsOf))
  const progress: object[] = []
  await mergeDataset(dirs, { into: join(folder, 'new'), onProgress: (each) => progress.push(each) })
  expect(await digestsOf(join(folder, 'new'))).toEqual(plain)
  expect(await Promise.all(dirs.map(digestsOf))).toEqual(before)
  expect(progress).toEqual([1, 2, 3, 4, 5].map((done) => ({ done, total: 5 })))
  await mergeDataset(dirs)
  expect(await digestsOf(dirs[0] as string)).toEqual(plain)
  expect(await digestsOf(dirs[1] as string)).toEqual(before[1])
})

it('a merged folder grows by more shards, or by a single export', async () => {
  const [dir = ''] = await copies('shared')
  await mergeDataset([dir])
  for (const index of [1, 2]) await shard(dir, index, { to: 52 })
  await expect(verifyDataset(dir)).rejects.toThrow(`${dir} has parts of shards that are not merged: run \`hexline merge ${dir}\` first`)
  await mergeDataset([dir])
  await exportDataset(client, { ...options, dir, to: 60 })
  for (const to of [52, 60]) await exportDataset(client, { ...options, dir: join(whole, 'plain'), to })
  expect(await digestsOf(dir)).toEqual(await digestsOf(join(whole, 'plain')))
  await rm(join(whole, 'plain'), { recursive: true })
  await exportDataset(client, { ...options, dir: join(whole, 'plain') })
})

it('names what is missing and the shard that has to export it, and changes nothing', async () => {
  const [one = ''] = await copies('shard-1')
  const before = await digestsOf(one)
  const missing = `${one} lacks shard 2/2: blocks 10 to 19, blocks 30 to 39; export them up to block 44, and merge again; nothing was changed`
  await expect(mergeDataset([one])).rejects.toThrow(missing)
  expect(await digestsOf(one)).toEqual(before)
  await rm(join(one, 'parts/000000040'), { recursive: true })
  await expect(mergeDataset([one])).rejects.toThrow('shard 1/2: blocks 40 to 44; shard 2/2: blocks 10 to 19, blocks 30 to 39; export')
})

it('a run that wants more blocks makes the others too short', async () => {
  const [dir = ''] = await copies('shared')
  await shard(dir, 1, { to: 52 })
  await expect(mergeDataset([dir])).rejects.toThrow(`${dir} lacks shard 2/2: blocks 50 to 52; export them up to block 52`)
  await shard(dir, 2, { to: 52 })
  expect(await mergeDataset([dir])).toMatchObject({ to: 52n })
})

it('names two hashes of one block', async () => {
  const [one = ''] = await copies('shard-1')
  branch = 'c'
  const two = join(folder, 'reorganised')
  await shard(two, 2)
  const before = [await digestsOf(one), await digestsOf(two)]
  await expect(mergeDataset([one, two])).rejects.toMatchObject({
    message: expect.stringMatching(
      /^block 9 has the hash 0xb{8}.* in \/.*\/shard-1\/parts\/000000003, but 0xc{8}.* in \/.*\/reorganised\/parts\/000000010: they contradict each other; delete the one/,
    ),
    file: join(two, 'parts/000000010'),
    block: 9n,
    field: 'hash',
  })
  expect([await digestsOf(one), await digestsOf(two)]).toEqual(before)
})

it('names a damaged part', async () => {
  const [dir = ''] = await copies('shared')
  const part = join(dir, 'parts/000000010')
  await writeFile(join(part, 'logs/000000010-000000019.ndjson'), '')
  await expect(mergeDataset([dir])).rejects.toThrow(/^\/.*\/parts\/000000010\/logs\/000000010-000000019\.ndjson has 0 bytes, not \d+: the dataset is damaged/)
  const text = await readFile(join(part, 'manifest.json'), 'utf8')
  await writeFile(join(part, 'manifest.json'), text.replace('"to":19', '"to":18'))
  await expect(mergeDataset([dir])).rejects.toThrow(`${join(part, 'manifest.json')} is damaged: its lines do not have the SHA-256`)
  await rm(part, { recursive: true })
  await cp(join(dir, 'parts/000000020'), part, { recursive: true })
  await expect(mergeDataset([dir])).rejects.toThrow(`${join(part, 'manifest.json')} is not that of one range from block 10`)
  expect(await readdir(dir)).toEqual(['parts'])
})

it('refuses folders of different datasets', async () => {
  const [one = ''] = await copies('shard-1')
  const two = join(folder, 'other')
  await shard(two, 2, { tables: ['blocks'] })
  await expect(mergeDataset([one, two])).rejects.toThrow(
    `${one} and ${two} are not of one dataset: their values of tables are ["blocks","logs"] and ["blocks"]`,
  )
})

it('refuses a part of another dataset', async () => {
  const [dir = ''] = await copies('shared')
  const part = join(dir, 'parts/000000010')
  const manifest = (await readManifest(part)) as NonNullable<Awaited<ReturnType<typeof readManifest>>>
  await new ManifestFile(part, { ...manifest, chainId: 5 }).write()
  await expect(mergeDataset([dir])).rejects.toThrow(`${dir} and ${part} are not of one dataset: their values of chainId are 1 and 5`)
})

it('a folder in which a shard writes is refused, and says who writes; a process that has it open only does not matter', async () => {
  const [dir = ''] = await copies('shared')
  const parts = await openParts(client, checkExportOptions({ ...options, dir }))
  const [writer = ''] = (await readdir(join(dir, 'parts'))).filter((name) => name.startsWith('writer-'))
  await mkdir(join(dir, 'parts', writer, '1'))
  await expect(mergeDataset([dir])).rejects.toThrow(`${join(dir, 'parts')} is in use by this process (${process.pid})`)
  await rm(join(dir, 'parts', writer, '1'), { recursive: true })
  await mergeDataset([dir])
  expect(await digestsOf(dir)).toEqual(plain)
  // It knows nothing of the merge, and writes nothing.
  await expect(parts.exportRange({ from: 10, to: 19 })).rejects.toThrow('no such folder')
  await parts.close()
  expect(await digestsOf(dir)).toEqual(plain)
})

it('a shard that wants more blocks, and has looked before the merge began, loses nothing', async () => {
  const [dir = ''] = await copies('shared')
  const { link, writeFile } = fs
  let merging: Promise<unknown> | undefined
  let ending: Promise<unknown> | undefined
  onTestFinished(() => {
    Object.assign(fs, { link, writeFile })
    syncBuiltinESMExports()
  })
  // It says up to where it wants blocks when the merge has read that, and may end before the merge.
  const reads = new Promise<void>((resolve) => {
    Object.assign(fs, {
      async link(from: string, to: string) {
        if (from.includes('parts')) {
          resolve()
          await ending
        }
        return await link(from, to)
      },
      async writeFile(...args: Parameters<typeof writeFile>) {
        if (String(args[0]).endsWith('parts/to-000000054-of-2')) {
          merging = mergeDataset([dir]).catch((error) => error)
          await reads
        }
        return await writeFile(...args)
      },
    })
    syncBuiltinESMExports()
  })
  ending = shard(dir, 1, { to: 54 }).catch((error) => error)
  expect(await ending).toMatchObject({ message: `${dir} is in use by this process (${process.pid})` })
  expect(await merging).toMatchObject({ to: 44n })
  expect(await digestsOf(dir)).toEqual(plain)
})

it('continues where an earlier merge was killed, before and after its manifest', async () => {
  const [dir = ''] = await copies('shared')
  await mkdir(join(dir, 'blocks'))
  await copyFile(join(dir, 'parts/000000010/blocks/000000010-000000019.ndjson'), join(dir, 'blocks/000000010-000000019.ndjson'))
  await writeFile(join(dir, 'blocks/000000003-000000009.ndjson'), 'half')
  await writeFile(join(dir, 'blocks/000000020-000000029.ndjson.7.partial'), 'half')
  await mergeDataset([dir])
  expect(await digestsOf(dir)).toEqual(plain)
  // It has removed one part and half of another.
  await cp(join(whole, 'shared/parts'), join(dir, 'parts'), { recursive: true })
  await rm(join(dir, 'parts/000000003'), { recursive: true })
  await rm(join(dir, 'parts/000000010/manifest.json'))
  await mergeDataset([dir])
  expect(await digestsOf(dir)).toEqual(plain)
})

it('continues where an earlier merge was killed between a file and its folder', async () => {
  const [dir = ''] = await copies('plain')
  await mkdir(join(dir, 'parts/dataset'), { recursive: true })
  await mergeDataset([dir])
  expect(await digestsOf(dir)).toEqual(plain)
  // So do a shard and a single export.
  await mkdir(join(dir, 'parts/dataset'), { recursive: true })
  await shard(dir, 1, { shard: { index: 1, of: 1 } })
  await mergeDataset([dir])
  expect(await digestsOf(dir)).toEqual(plain)
  await mkdir(join(dir, 'parts/dataset'), { recursive: true })
  await exportDataset(client, { ...options, dir })
  expect(await digestsOf(dir)).toEqual(plain)
})

it('ends at a signal, and can be called again', async () => {
  const [dir = ''] = await copies('shared')
  const stop = new AbortController()
  await expect(mergeDataset([dir], { signal: stop.signal, onProgress: ({ done }) => done === 2 && stop.abort(new Error('stopped')) })).rejects.toThrow(
    'stopped',
  )
  expect((await readdir(dir)).sort()).toEqual(['blocks', 'logs', 'parts'])
  await expect(exportDataset(client, { ...options, dir })).rejects.toThrow('has parts of shards: run `hexline merge')
  await mergeDataset([dir])
  expect(await digestsOf(dir)).toEqual(plain)
})

it('ends at a signal while it makes a new folder, and can be called again', async () => {
  const dirs = await copies('shard-1', 'shard-2')
  const into = join(folder, 'new')
  const stop = new AbortController()
  await expect(mergeDataset(dirs, { into, signal: stop.signal, onProgress: ({ done }) => done === 2 && stop.abort(new Error('stopped')) })).rejects.toThrow(
    'stopped',
  )
  await mergeDataset(dirs, { into })
  expect(await digestsOf(into)).toEqual(plain)
})

it('does not follow a link out of the folder', async () => {
  const [dir = ''] = await copies('shared')
  await mkdir(join(folder, 'elsewhere'))
  await symlink(join(folder, 'elsewhere'), join(dir, 'blocks'))
  await expect(mergeDataset([dir])).rejects.toThrow(`${join(dir, 'blocks')} is a symbolic link, not a folder`)
  expect(await readdir(join(folder, 'elsewhere'))).toEqual([])
})

it('a part behind a link is not in the folder', async () => {
  const [dir = ''] = await copies('shared')
  const part = join(dir, 'parts', '000000010')
  await rename(part, join(folder, 'elsewhere'))
  await symlink(join(folder, 'elsewhere'), part)
  await expect(mergeDataset([dir])).rejects.toThrow(`${part} is a symbolic link, not a folder; nothing was changed`)
  await expect(shard(dir, 2)).rejects.toThrow(`${part} is a symbolic link`)
  expect(await readdir(dir)).toEqual(['parts'])
})

it('bad arguments are refused at once', async () => {
  const [dir = ''] = await copies('shared')
  const none = join(folder, 'none')
  await mkdir(none)
  await expect(mergeDataset([])).rejects.toThrow('dirs: expected one or more folders')
  await expect(mergeDataset([''])).rejects.toThrow('dir: expected the path of a folder')
  await expect(mergeDataset([dir], { into: join(dir, 'sub') })).rejects.toThrow(
    `into: expected a folder outside of those that are merged, received ${join(dir, 'sub')}`,
  )
  await expect(mergeDataset([dir], { into: '' })).rejects.toThrow('into: expected the path of a folder')
  await expect(mergeDataset([join(dir, 'x')])).rejects.toThrow(`dirs: expected folders that exist, received ${join(dir, 'x')}`)
  await expect(mergeDataset([none])).rejects.toThrow(`dirs: expected folders that hexline export wrote, received ${none}`)
  await expect(mergeDataset([dir], { signal: 1 as unknown as AbortSignal })).rejects.toThrow('signal: expected an AbortSignal')
  await expect(mergeDataset([dir], { to: 1 } as object)).rejects.toThrow('options: expected only into, signal, onProgress')
  await writeFile(join(none, 'photo.jpg'), '')
  await expect(mergeDataset([dir], { into: none })).rejects.toThrow('is neither empty nor a dataset: it has "photo.jpg"')
  await expect(mergeDataset([dir, none])).rejects.toThrow(`${none} is neither empty nor a dataset: it has "photo.jpg"`)
  expect(await readdir(none)).toEqual(['photo.jpg'])
})
