import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { type Client, createClient } from 'hexline'
import { type DatasetTable, type ExportDatasetOptions, exportDataset } from 'hexline/bulk'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { readManifest } from '../../../src/dataset/folder/manifest.ts'
import { hasZstd } from '../../../src/dataset/zstd.ts'
import { type DatasetChain, datasetBlock, datasetReceipts, hashOf, startDatasetChain } from '../../support/dataset-chain.ts'
import type { MadeBlock } from '../../support/decoded-blocks.ts'
import { forgeManifest } from '../../support/forged-dataset.ts'
import { FIRST, startValidChain, validBlocks } from '../../support/valid-chain.ts'

const TABLES = ['blocks', 'transactions', 'receipts', 'logs', 'withdrawals'] as const
const HEAD = 60

let branch = 'b'
let server: DatasetChain
let client: Client
let folder: string
let dir: string

beforeAll(async () => {
  server = await startDatasetChain({ head: HEAD, branch: () => branch })
  client = createClient(server.url)
})
afterAll(async () => {
  await client.close()
  await server.close()
})
beforeEach(async () => {
  branch = 'b'
  folder = await mkdtemp(join(tmpdir(), 'hexline-dataset-'))
  dir = join(folder, 'data')
})
afterEach(() => rm(folder, { recursive: true }))

const run = (options: Partial<ExportDatasetOptions> = {}) =>
  exportDataset(client, { from: 3, to: 32, dir, format: 'ndjson', tables: TABLES, blocksPerFile: 10, ...options })

/** All files of a folder with their digests. */
async function digests(path = dir): Promise<Record<string, string>> {
  const names = await readdir(path, { recursive: true, withFileTypes: true })
  const files = names.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name))
  const entries = await Promise.all(
    files.map(async (file) => [
      file.slice(path.length + 1),
      createHash('sha256')
        .update(await readFile(file))
        .digest('hex'),
    ]),
  )
  return Object.fromEntries(entries.sort())
}

/** The lines of a table, in order, as text. */
async function linesOf(table: DatasetTable): Promise<string[]> {
  const { ranges } = (await readManifest(dir)) as NonNullable<Awaited<ReturnType<typeof readManifest>>>
  const lines: string[] = []
  for (const { files } of ranges)
    for (const { name, rows } of files.filter((file) => file.name.startsWith(`${table}/`))) {
      const bytes = await readFile(join(dir, name))
      const text = name.endsWith('.gz') ? gunzipSync(bytes).toString() : bytes.toString()
      const some = text.split('\n')
      expect(some.pop()).toBe('')
      expect(some).toHaveLength(rows)
      lines.push(...some)
    }
  return lines
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
const text = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row))

/** What the lines of a table must be: the node's own JSON, without the lists that are tables. */
const expected: Record<DatasetTable, (number: number) => unknown[]> = {
  blocks: (number) => {
    const { transactions: _, withdrawals: __, ...block } = datasetBlock(number, branch)
    return [block]
  },
  transactions: (number) => [...datasetBlock(number, branch).transactions],
  receipts: (number) => datasetReceipts(number, branch).map(({ logs: _, ...receipt }) => receipt),
  logs: (number) => datasetReceipts(number, branch).flatMap(({ logs }) => logs),
  withdrawals: (number) => datasetBlock(number, branch).withdrawals.map((each) => ({ blockNumber: `0x${number.toString(16)}`, ...each })),
}

describe.each(['ndjson', 'ndjson.gz'] as const)('%s', (format) => {
  it("the lines are the node's own bytes, without the lists that have their own tables", async () => {
    const summary = await run({ format })
    for (const table of TABLES) expect(await linesOf(table)).toEqual(text(numbers(3, 32).flatMap(expected[table])))
    const { ranges } = (await readManifest(dir)) as NonNullable<Awaited<ReturnType<typeof readManifest>>>
    expect(ranges.map(({ from, to }) => [from, to])).toEqual([
      [3, 9],
      [10, 19],
      [20, 29],
      [30, 32],
    ])
    const files = ranges.flatMap((range) => range.files)
    expect(summary).toEqual({
      from: 3n,
      to: 32n,
      ranges: 4,
      blocks: 30,
      files: 20,
      rows: files.reduce((sum, { rows }) => sum + rows, 0),
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    })
    expect(ranges.map(({ parentHash, firstHash, lastHash }) => [parentHash, firstHash, lastHash])).toEqual([
      [hashOf(2), hashOf(3), hashOf(9)],
      [hashOf(9), hashOf(10), hashOf(19)],
      [hashOf(19), hashOf(20), hashOf(29)],
      [hashOf(29), hashOf(30), hashOf(32)],
    ])
    const { 'manifest.json': _, ...there } = await digests()
    expect(there).toEqual(Object.fromEntries(files.map(({ name, sha256 }) => [name, sha256])))
  })

  it('a table without rows has files, too', async () => {
    await run({ format, tables: ['transactions'], from: 7, to: 7 })
    expect(await linesOf('transactions')).toEqual([])
  })
})

it('a block keeps the lists that have no table, with the hashes of its transactions', async () => {
  await run({ tables: ['blocks', 'receipts'] })
  expect(await linesOf('blocks')).toEqual(
    text(
      numbers(3, 32).map((number) => {
        const block = datasetBlock(number)
        return { ...block, transactions: block.transactions.map(({ hash }) => hash) }
      }),
    ),
  )
  expect(await linesOf('receipts')).toEqual(text(numbers(3, 32).flatMap((number) => datasetReceipts(number))))
})

it('the manifest names no URL, and the folder is the same from another one', async () => {
  await run()
  const before = await digests()
  const other = await startDatasetChain({ head: HEAD })
  await using elsewhere = createClient(`${other.url}/v3/0123456789abcdef`)
  const second = join(folder, 'second')
  await exportDataset(elsewhere, { from: 3, to: 32, dir: second, format: 'ndjson', tables: TABLES, blocksPerFile: 10 })
  await other.close()
  expect(await digests(second)).toEqual(before)
  expect(await readFile(join(second, 'manifest.json'), 'utf8')).not.toMatch(/http|127|0123456789abcdef/)
})

describe('a folder is continued', () => {
  it('after each block at which the node fails, with the same bytes', async () => {
    await run()
    const whole = await digests()
    for (const failing of [3, 9, 10, 25, 32]) {
      await rm(dir, { recursive: true })
      const bad = await startDatasetChain({
        head: HEAD,
        answer: ({ method, params }) =>
          method === 'eth_getBlockByNumber' && Number(params[0]) === failing ? { error: { code: -32602, message: 'invalid params' } } : undefined,
      })
      await using its = createClient(bad.url)
      const same = { from: 3, to: 32, dir, format: 'ndjson', tables: TABLES, blocksPerFile: 10 } as const
      await expect(exportDataset(its, same)).rejects.toMatchObject({ name: 'RpcError' })
      await bad.close()
      const names = Object.keys(await digests())
      expect(names.filter((name) => /partial|\.lock/.test(name))).toEqual([])
      await run()
      expect(await digests()).toEqual(whole)
    }
  })

  it('beyond its end, by files that follow the last one', async () => {
    const { ranges } = await run({ to: 15 })
    expect(ranges).toBe(2)
    const before = await digests()
    expect(await run({ to: 15 })).toMatchObject({ from: 3n, to: 15n, ranges: 0, blocks: 0 })
    expect(await run({ to: 10 })).toMatchObject({ to: 15n, ranges: 0 })
    expect(await digests()).toEqual(before)
    expect(await run({ to: 32 })).toMatchObject({ to: 32n, ranges: 3, blocks: 17 })
    const { 'manifest.json': _, ...old } = before
    expect(await digests()).toMatchObject(old)
    for (const table of TABLES) expect(await linesOf(table)).toEqual(text(numbers(3, 32).flatMap(expected[table])))
  })

  it('not on another branch of the chain, and is unchanged then', async () => {
    await run({ to: 15 })
    const before = await digests()
    branch = 'c'
    await expect(run({ to: 32 })).rejects.toMatchObject({
      name: 'IntegrityError',
      message: expect.stringContaining(`block 16 names ${hashOf(15, 'c')} as its parent, but ${dir} ends with block 15 as ${hashOf(15)}`),
    })
    expect(await digests()).toEqual(before)
  })

  it.each<[string, Partial<ExportDatasetOptions>, string, string]>([
    ['format', { format: 'ndjson.gz' }, 'format', 'expected ndjson, which '],
    ['first block', { from: 4 }, 'from', 'expected 3, which '],
    ['size of files', { blocksPerFile: 20 }, 'blocksPerFile', 'expected 10, which '],
    ['tables', { tables: ['blocks'] }, 'tables', 'expected blocks, transactions, receipts, logs, withdrawals, which '],
  ])('not with another %s, and is unchanged then', async (_, other, option, message) => {
    await run({ to: 15 })
    const before = await digests()
    await expect(run(other)).rejects.toMatchObject({ name: 'OptionError', option, message: expect.stringContaining(message) })
    expect(await digests()).toEqual(before)
  })

  it('not from a node of another chain', async () => {
    await run({ to: 15 })
    const other = await startDatasetChain({ head: HEAD, answer: ({ method }) => (method === 'eth_chainId' ? { result: '0x5' } : undefined) })
    await using its = createClient(other.url)
    await expect(exportDataset(its, { from: 3, to: 32, dir, format: 'ndjson', tables: TABLES, blocksPerFile: 10 })).rejects.toMatchObject({
      option: 'client',
      message: expect.stringContaining('expected a node of chain id 1'),
    })
    await other.close()
  })

  it('after it has removed what killed processes left, and nothing else', async () => {
    await run({ to: 15 })
    const before = await digests()
    const left = ['blocks/000000016-000000019.ndjson', 'logs/000000016-000000019.ndjson.4711.partial', 'manifest.json.4711.partial', '.lock.4711-aa']
    for (const name of left) await writeFile(join(dir, name), 'half')
    await writeFile(join(dir, 'blocks/notes.txt'), 'mine')
    await writeFile(join(dir, 'README'), 'mine')
    await run({ to: 15 })
    const { README, 'blocks/notes.txt': notes, ...rest } = await digests()
    expect([README, notes]).not.toContain(undefined)
    expect(rest).toEqual(before)
  })
})

describe('a folder that is not as it was left', () => {
  it('a manifest with any character changed is refused, and nothing is changed', async () => {
    await run({ to: 15 })
    const path = join(dir, 'manifest.json')
    const right = await readFile(path, 'utf8')
    for (const at of [0, 20, right.indexOf('ranges'), right.length - 70, right.length - 2]) {
      const wrong = right.slice(0, at) + (right[at] === 'x' ? 'y' : 'x') + right.slice(at + 1)
      await writeFile(path, wrong)
      const before = await digests()
      await expect(run()).rejects.toThrow(`${path} is damaged`)
      expect(await digests()).toEqual(before)
    }
    await writeFile(path, right.slice(0, -10))
    await expect(run()).rejects.toThrow(`${path} is damaged`)
    await writeFile(path, right)
    await run()
  })

  it('a manifest that hexline did not write is refused, even with its digest, and nothing is changed', async () => {
    await run({ to: 15 })
    await forgeManifest(dir, (manifest) => ({ ...manifest, ranges: manifest.ranges.map((range) => ({ ...range, to: 9000 })) }))
    const before = await digests()
    await expect(run()).rejects.toMatchObject({ file: 'manifest.json', field: 'ranges[0].to' })
    expect(await digests()).toEqual(before)
  })

  it.each(['missing', 'cut'])('a file that is %s is refused', async (how) => {
    await run({ to: 15 })
    const file = join(dir, 'logs/000000003-000000009.ndjson')
    if (how === 'missing') await rm(file)
    else await writeFile(file, (await readFile(file)).subarray(1))
    await expect(run()).rejects.toThrow(`${file} ${how === 'missing' ? 'is missing' : 'has '}`)
  })

  it.each(['ndjson', 'parquet'] as const)('%s: a file whose blocks are exported again elsewhere is the same, byte for byte', async (format) => {
    await run({ format })
    const whole = await digests()
    const name = `blocks/000000010-000000019.${format}`
    await rm(join(dir, name))
    await expect(run({ format })).rejects.toThrow('The same options export the blocks of this file to another folder: copy the file from there')
    const again = join(folder, 'again')
    await run({ format, dir: again, from: 10, to: 19 })
    await copyFile(join(again, name), join(dir, name))
    await run({ format })
    expect(await digests()).toEqual(whole)
  })

  it('a folder with other files and no manifest is refused', async () => {
    await mkdir(dir)
    await writeFile(join(dir, 'thesis.txt'), 'mine')
    await expect(run()).rejects.toThrow(`${dir} is neither empty nor a dataset: it has "thesis.txt"`)
    expect(await readdir(dir)).toEqual(['thesis.txt'])
  })

  it('a path that is a file is refused', async () => {
    await writeFile(dir, 'mine')
    await expect(run()).rejects.toMatchObject({ name: 'OptionError', message: `dir: expected a folder, received "${dir}", which is a file` })
    expect(await readFile(dir, 'utf8')).toBe('mine')
    const below = join(dir, 'below')
    const message = `dir: expected a folder that can be made, received "${below}" (a part of the path is a file)`
    await expect(exportDataset(client, { from: 0, to: 1, dir: below })).rejects.toMatchObject({ name: 'OptionError', message })
  })
})

it('an abort leaves a folder that the next run continues', async () => {
  await run()
  const whole = await digests()
  await rm(dir, { recursive: true })
  const stop = new AbortController()
  const reason = new Error('enough')
  const onProgress = ({ done }: { done: number }) => {
    if (done === 17) stop.abort(reason)
  }
  await expect(run({ signal: stop.signal, onProgress })).rejects.toBe(reason)
  expect(Object.keys(await digests()).filter((name) => name.startsWith('blocks'))).toEqual([
    'blocks/000000003-000000009.ndjson',
    'blocks/000000010-000000019.ndjson',
  ])
  await run()
  expect(await digests()).toEqual(whole)
})

it('ndjson.zst is written where Node.js has Zstandard, and refused at once where it does not', async () => {
  if (hasZstd) expect(await run({ format: 'ndjson.zst' })).toMatchObject({ files: 20 })
  else await expect(run({ format: 'ndjson.zst' })).rejects.toThrow('another format: Zstandard needs Node.js 22.15, 23.8 or later')
})

it('a node that does not have the range leaves nothing', async () => {
  await expect(run({ to: HEAD + 1 })).rejects.toMatchObject({ option: 'to' })
  await expect(stat(dir)).rejects.toMatchObject({ code: 'ENOENT' })
})

it('a second export into the folder is refused while the first one runs', async () => {
  let second: Promise<unknown> | undefined
  const onProgress = () => {
    second ??= run().catch((error) => error)
  }
  await run({ onProgress })
  expect(await second).toMatchObject({ message: `${dir} is in use by this process (${process.pid})` })
  expect((await readdir(dir)).sort()).toEqual([...TABLES, 'manifest.json'].sort())
})

it('an export whose lock was replaced publishes nothing more', async () => {
  let isReplaced = false
  const onProgress = () => {
    if (!isReplaced) writeFileSync(join(dir, '.lock'), '{"pid":1,"host":"elsewhere"}')
    isReplaced = true
  }
  await expect(run({ onProgress })).rejects.toThrow(`${join(dir, '.lock')} was removed or replaced while this process was writing`)
  expect(Object.keys(await digests())).toEqual(['.lock', 'manifest.json'])
})

it.each<[string, object]>([
  ['dir', { dir: 7 }],
  ['format', { format: 'csv' }],
  ['tables', { tables: [] }],
  ['tables', { tables: ['traces'] }],
  ['columns', { columns: ['blocks.number'] }],
  ['columns', { format: 'parquet', columns: ['blocks.colour'] }],
  ['columns', { format: 'parquet', tables: ['blocks'], columns: ['logs.data'] }],
  ['blocksPerFile', { blocksPerFile: 0 }],
  ['verify', { verify: 'all' }],
  ['dir', { dir: '' }],
  ['dir', { dir: 'a\0b' }],
  ['from', { from: -1 }],
  ['from', { from: 2n ** 60n, to: 2n ** 60n }],
  ['maxBytes', { maxBytes: 0 }],
  ['options', { table: ['blocks'] }],
])('an invalid %s is refused at once', async (option, wrong) => {
  await expect(run(wrong)).rejects.toThrow(expect.objectContaining({ name: 'OptionError', option }))
})

describe('verify', () => {
  const COUNT = 6
  const all = { from: FIRST, to: FIRST + COUNT - 1, format: 'ndjson', tables: TABLES, blocksPerFile: 4 } as const
  const rangesOf = async () => ((await readManifest(dir)) as NonNullable<Awaited<ReturnType<typeof readManifest>>>).ranges

  async function startNode(options: Parameters<typeof startValidChain>[1] = {}): Promise<string> {
    const chain = await startValidChain(COUNT, options)
    onTestFinished(() => chain.close())
    return chain.url
  }
  async function clientOf(...urls: [string, ...string[]]): Promise<Client> {
    const made = createClient(urls)
    onTestFinished(() => made.close())
    return made
  }

  it.each(['header', 'full'] as const)('%s: the manifest counts, for each range, what was proven of its blocks', async (verify) => {
    await exportDataset(await clientOf(await startNode()), { ...all, dir, verify })
    const ranges = await rangesOf()
    expect(ranges.map(({ from, to }) => to - from + 1)).toEqual([4, 2])
    for (const { from, to, checks } of ranges) {
      const blocks = to - from + 1
      expect(checks.made).toMatchObject({
        link: blocks,
        hash: blocks,
        ...(verify === 'full' && { transactions: blocks, receipts: blocks, withdrawals: blocks }),
      })
      expect(checks.made).toHaveProperty(verify === 'header' ? 'link' : 'receipts')
    }
  })

  it('full: counts what was skipped, with its reason', async () => {
    await exportDataset(await clientOf(await startNode()), { ...all, tables: ['blocks', 'transactions'], dir, verify: 'full' })
    for (const { from, to, checks } of await rangesOf()) expect(Object.values(checks.skipped.receipts ?? {})).toEqual([to - from + 1])
  })

  it('full: a value that a node altered is taken from another one, and fails where there is none', async () => {
    const { block } = (await validBlocks(COUNT)).get(FIRST + 2) as MadeBlock
    const transactions = (block.transactions as object[]).map((each, i) => (i === 0 ? { ...each, value: '0x7' } : each))
    const altered = await startNode({
      answer: ({ method, params }) =>
        method === 'eth_getBlockByNumber' && Number(params[0]) === FIRST + 2 && params[1] === true ? { result: { ...block, transactions } } : undefined,
    })
    const lone = await clientOf(altered)
    await expect(exportDataset(lone, { ...all, dir, verify: 'full' })).rejects.toMatchObject({ name: 'IntegrityError', field: 'transactions[0].hash' })
    expect(await rangesOf()).toEqual([])
    await exportDataset(await clientOf(altered, await startNode()), { ...all, dir, verify: 'full' })
    expect((await rangesOf()).map(({ checks }) => checks.made.transactions)).toEqual([4, 2])
  })

  it('full without anything to verify is refused', async () => {
    await expect(exportDataset(client, { ...all, tables: ['blocks'], dir, verify: 'full' })).rejects.toThrow(
      expect.objectContaining({ name: 'OptionError', option: 'verify' }),
    )
  })
})

it.each<[string, unknown, string]>([
  ['a URL', 'http://127.0.0.1/eth/k3y', 'a string'],
  ['nothing', undefined, 'undefined'],
])('%s in place of a client is refused at once, and not shown', async (_, wrong, received) => {
  const message = `client: expected a client, as createClient returns it, received ${received}`
  await expect(exportDataset(wrong as never, { from: 0, to: 1, dir })).rejects.toThrow(expect.objectContaining({ name: 'OptionError', message }))
})
