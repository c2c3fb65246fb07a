import fs, { cp, mkdir, mkdtemp, readdir, readFile, rm, rmdir, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { hostname, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { type Client, createClient } from 'hexline'
import { type ExportDatasetOptions, exportDataset } from 'hexline/bulk'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import { checkExportOptions } from '../../../src/dataset/export/export-options.ts'
import { type OpenParts, openParts, type PartOptions } from '../../../src/dataset/export/open-parts.ts'
import { lockFolder } from '../../../src/dataset/folder/lock.ts'
import { readManifest } from '../../../src/dataset/folder/manifest.ts'
import { type Part, readPart, removeDamaged } from '../../../src/dataset/folder/parts.ts'
import { hasFiles } from '../../../src/dataset/folder/whole-files.ts'
import type { ChainOptions } from '../../support/chain-server.ts'
import { type DatasetChain, startDatasetChain } from '../../support/dataset-chain.ts'
import { digestsOf } from '../../support/dataset-kills.ts'

let onPost: ChainOptions['gate'] & object
let server: DatasetChain
let client: Client
let folder: string
let dir: string
beforeAll(async () => {
  onPost = () => {}
  server = await startDatasetChain({ head: 60, gate: (calls) => onPost(calls) })
  client = createClient(server.url)
})
afterAll(async () => {
  await client.close()
  await server.close()
})
beforeEach(async () => {
  onPost = () => {}
  folder = await mkdtemp(join(tmpdir(), 'hexline-open-parts-'))
  dir = join(folder, 'data')
})
afterEach(() => rm(folder, { recursive: true }))

const options = { from: 3, to: 32, format: 'ndjson', tables: ['blocks', 'logs'], blocksPerFile: 10 } as const
const jobFor = (more: Partial<ExportDatasetOptions> = {}) => checkExportOptions({ ...options, dir, ...more })

async function exportRange(client: Client, job: ReturnType<typeof jobFor>, range: Parameters<OpenParts['exportRange']>[0], given: PartOptions = {}) {
  const open = await openParts(client, job)
  try {
    return await open.exportRange(range, given)
  } finally {
    await open.close()
  }
}

const parts = async () => (await readdir(join(dir, 'parts'))).sort()

it('writes the files of one range as a plain export does, in a folder of its own', async () => {
  const { added } = await exportRange(client, jobFor(), { from: 10, to: 19 })
  expect(await parts()).toEqual(['000000010', 'dataset', 'to-000000032'])
  await exportDataset(client, { ...options, dir: join(folder, 'plain') })
  const plain = await digestsOf(join(folder, 'plain'))
  const names = ['blocks/000000010-000000019.ndjson', 'logs/000000010-000000019.ndjson']
  const { 'manifest.json': manifest, ...files } = await digestsOf(join(dir, 'parts/000000010'))
  expect(files).toEqual(Object.fromEntries(names.map((name) => [name, plain[name]])))
  expect(manifest).toEqual(expect.any(String))
  expect((await readManifest(join(folder, 'plain')))?.ranges[1]).toEqual(added)
  expect((await readManifest(join(dir, 'parts/000000010')))?.ranges).toEqual([added])
})

it('a range that is there is not fetched again', async () => {
  await exportRange(client, jobFor(), { from: 10, to: 19 })
  const before = await digestsOf(dir)
  const asked: string[] = []
  onPost = (calls) => void asked.push(...calls.map(({ method }) => method))
  expect(await exportRange(client, jobFor(), { from: 10, to: 19 })).toEqual({ added: null })
  expect(asked.filter((method) => method === 'eth_getBlockByNumber')).toEqual([])
  expect(await digestsOf(dir)).toEqual(before)
})

it.each([
  ['is missing', (file: string) => rm(file)],
  ['is cut', (file: string) => truncate(file, 10)],
  ['is a link', (file: string) => rm(file).then(() => symlink('/etc/hostname', file))],
])('a range of which a file %s is written anew', async (_, damage) => {
  await exportRange(client, jobFor(), { from: 10, to: 19 })
  const before = await digestsOf(dir)
  await damage(join(dir, 'parts/000000010/logs/000000010-000000019.ndjson'))
  expect((await exportRange(client, jobFor(), { from: 10, to: 19 })).added).toMatchObject({ from: 10, to: 19 })
  expect(await digestsOf(dir)).toEqual(before)
  expect(await parts()).toEqual(['000000010', 'dataset', 'to-000000032'])
})

it('a damaged part that cannot be removed is reported, not exported for ever', async () => {
  await exportRange(client, jobFor(), { from: 10, to: 19 })
  const part = (await readPart(dir, 10)) as Part
  await rm(join(part.dir, 'logs'), { recursive: true })
  await expect(removeDamaged(part, join(dir, 'parts/dataset'))).rejects.toThrow(/000000010 lacks a file, and cannot be removed: .*; delete that folder$/)
})

it('a part that another process has written anew meanwhile stays', async () => {
  await exportRange(client, jobFor(), { from: 10, to: 19 })
  const before = await digestsOf(dir)
  await removeDamaged((await readPart(dir, 10)) as Part, join(folder, 'aside'))
  expect(await digestsOf(dir)).toEqual(before)
  expect(await readdir(folder)).toEqual(['data'])
})

it('a file that the system says nothing of is not taken for missing', async () => {
  const files = [{ name: 'x'.repeat(300), rows: 1, bytes: 1, sha256: '' }]
  await expect(hasFiles(folder, { files })).rejects.toThrow('cannot be read: ')
})

it('a range that several write at once is committed once, and nothing else stays', async () => {
  const results = await Promise.all(Array.from({ length: 4 }, () => exportRange(client, jobFor(), { from: 10, to: 19 })))
  expect(results.filter(({ added }) => added !== null)).toHaveLength(1)
  expect(await parts()).toEqual(['000000010', 'dataset', 'to-000000032'])
})

it('one that the end of an earlier run cut short is completed by a part of its own', async () => {
  await exportRange(client, jobFor({ to: 14 }), { from: 10, to: 14 })
  const { added } = await exportRange(client, jobFor(), { from: 10, to: 19 })
  expect(added).toMatchObject({ from: 15, to: 19 })
  expect(await exportRange(client, jobFor(), { from: 10, to: 19 })).toEqual({ added: null })
})

it('one that ends later than another that is committed first is completed', async () => {
  const open = await openParts(client, jobFor())
  let isFirst = true
  onPost = async (calls) => {
    if (!isFirst || !calls.some(({ params }) => params[0] === '0xf')) return
    isFirst = false
    await exportRange(client, jobFor({ to: 12 }), { from: 10, to: 12 })
  }
  expect((await open.exportRange({ from: 10, to: 19 })).added).toMatchObject({ from: 13, to: 19 })
  await open.close()
  expect(await parts()).toEqual(['000000010', '000000013', 'dataset', 'to-000000012', 'to-000000032'])
})

it('the blocks of a manifest are there', async () => {
  await exportDataset(client, { ...options, to: 14, dir })
  expect((await exportRange(client, jobFor(), { from: 10, to: 19 })).added).toMatchObject({ from: 15, to: 19 })
  expect(await exportRange(client, jobFor(), { from: 3, to: 9 })).toEqual({ added: null })
})

it('what fails or is aborted leaves nothing, and can be done again', async () => {
  const stop = new AbortController()
  onPost = (calls) => {
    if (calls.some(({ params }) => params[0] === '0xf')) stop.abort(new Error('stopped'))
  }
  await expect(exportRange(client, jobFor(), { from: 10, to: 19 }, { signal: stop.signal })).rejects.toThrow('stopped')
  expect(await parts()).toEqual(['dataset', 'to-000000032'])
  onPost = () => {}
  expect((await exportRange(client, jobFor(), { from: 10, to: 19 })).added).toMatchObject({ from: 10, to: 19 })
})

it.each([
  ['another table', { tables: ['blocks'] }, 'tables: expected blocks, logs, which '],
  ['another first block', { from: 4 }, 'from: expected 3, which '],
] as const)('%s is refused', async (_, other, message) => {
  await exportRange(client, jobFor(), { from: 10, to: 19 })
  await expect(exportRange(client, jobFor(other), { from: 20, to: 29 })).rejects.toThrow(message)
  expect(await parts()).toEqual(['000000010', 'dataset', 'to-000000032'])
})

it('a range that is not within one file is refused', async () => {
  const open = await openParts(client, jobFor())
  for (const [from, to, message] of [
    [10, 20, 'from 3 to 19, received 10 to 20'],
    [2, 9, 'from 3 to 32, received 2 to 9'],
    [30, 33, 'from 3 to 32, received 30 to 33'],
    [12, 11, 'from 3 to 32, received 12 to 11'],
  ] as const)
    await expect(open.exportRange({ from, to })).rejects.toThrow(`blocks of one file, which has 10, ${message}`)
  await open.close()
})

it('a single export and parts exclude each other', async () => {
  const lock = await mkdir(dir).then(() => lockFolder(dir))
  await expect(exportRange(client, jobFor(), { from: 10, to: 19 })).rejects.toThrow(`${dir} is in use by this process (${process.pid})`)
  await lock.release()
  await exportRange(client, jobFor(), { from: 10, to: 19 })
  await expect(exportDataset(client, { ...options, dir })).rejects.toThrow(`${dir} has parts of shards: run \`hexline merge ${dir}\` first`)
  expect(await readdir(dir)).toEqual(['parts'])
})

it('a folder with other files is refused', async () => {
  await mkdir(dir)
  await writeFile(join(dir, 'photo.jpg'), '')
  await expect(exportRange(client, jobFor(), { from: 10, to: 19 })).rejects.toThrow('is neither empty nor a dataset: it has "photo.jpg"')
  expect(await readdir(dir)).toEqual(['photo.jpg'])
})

it('removes what dead processes left behind, and nothing of those that run', async () => {
  const open = await openParts(client, jobFor())
  const [mine] = (await parts()).filter((name) => name.startsWith('writer-'))
  const holder = JSON.parse(await readFile(join(dir, 'parts', mine as string, 'process.json'), 'utf8'))
  const write = async (id: string, other: object, age = 0) => {
    const path = join(dir, 'parts', `writer-${id}`)
    await cp(join(dir, 'parts', mine as string), path, { recursive: true })
    await mkdir(join(path, '1/blocks'), { recursive: true })
    await writeFile(join(path, '1/blocks/000000010-000000019.ndjson.1.partial'), '{')
    await writeFile(join(path, 'process.json'), JSON.stringify({ ...holder, ...other }))
    await utimes(join(path, 'process.json'), Date.now() / 1000 - age, Date.now() / 1000 - age)
  }
  await write('ended', { start: 'another boot 1' })
  await write('elsewhere', { host: `not ${hostname()}` })
  await write('elsewhere-and-silent', { host: `not ${hostname()}` }, 3600)
  await (await openParts(client, jobFor())).close()
  expect((await parts()).filter((name) => name.startsWith('writer-')).sort()).toEqual([mine, 'writer-elsewhere'].sort())
  expect((await open.exportRange({ from: 10, to: 19 })).added).toMatchObject({ from: 10 })
  await open.close()
})

it('a process that was taken for dead commits nothing', async () => {
  const open = await openParts(client, jobFor())
  const [mine] = (await parts()).filter((name) => name.startsWith('writer-'))
  onPost = (calls) => (calls.some(({ params }) => params[0] === '0xf') ? rm(join(dir, 'parts', mine as string, 'process.json')) : undefined)
  await expect(open.exportRange({ from: 10, to: 19 })).rejects.toThrow('was removed while this process was writing')
  await open.close()
  expect(await parts()).toEqual(['dataset', 'to-000000032'])
})

it('a folder of parts that the last process before removes meanwhile is made again', async () => {
  const { mkdir: own } = fs
  let isRemoved = false
  onTestFinished(() => {
    Object.assign(fs, { mkdir: own })
    syncBuiltinESMExports()
  })
  const removing = async (path: string, ...others: []) => {
    if (basename(path).startsWith('writer-') && !isRemoved) {
      isRemoved = true
      await rmdir(dirname(path))
    }
    return await own(path, ...others)
  }
  Object.assign(fs, { mkdir: removing })
  syncBuiltinESMExports()
  expect((await exportRange(client, jobFor(), { from: 10, to: 19 })).added).toMatchObject({ from: 10, to: 19 })
  expect(isRemoved).toBe(true)
})
