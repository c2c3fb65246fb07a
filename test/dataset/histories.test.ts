import { createHash } from 'node:crypto'
import { cp, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Client, createClient, IntegrityError } from 'hexline'
import { type ExportDatasetOptions, exportDataset, mergeDataset, verifyDataset } from 'hexline/bulk'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { duckDbViews } from '../../src/dataset/duckdb-views.ts'
import { findManifest } from '../../src/dataset/folder/check-manifest.ts'
import type { DatasetFormat, Manifest, RangeEntry } from '../../src/dataset/folder/manifest.ts'
import { rangesOf, type Shard } from '../../src/dataset/shard.ts'
import type { DatasetTable } from '../../src/dataset/tables.ts'
import { type ChainServer, startChain } from '../support/chain-server.ts'
import { digestsOf } from '../support/dataset-kills.ts'
import { type MadeBlock, madeJson } from '../support/decoded-blocks.ts'
import { query } from '../support/duckdb.ts'
import { type DiskFault, onFailingDisk } from '../support/failing-disk.ts'
import { randomFrom } from '../support/random.ts'
import { seeds } from '../support/runs.ts'
import { validBlocks } from '../support/valid-chain.ts'

/*
 * Folders of a dataset, and all that may happen to them: exports that end, fail, are aborted or
 * killed, alone or at a time, as one or as shards; merges; a chain that is reorganised; damage.
 * After each step, the folders are read without the code that wrote them, as far as that can be.
 */

const FIRST = 8
const LAST = 33
/** The first block that the other branch has of its own. */
const FORK = 26

type Branch = ReadonlyMap<number, MadeBlock>

/** The path of a file of rows. */
const OF_ROWS = /\d{9}-\d{9}\./

/** It must appear in no file and in no error. */
const SECRET = '0123456789abcdef0123456789abcdef'
/** No process has this number. */
const DEAD_PID = 2 ** 22 + 1

let branches: readonly Branch[]
let chain: Branch
let head = LAST
/** The block that the node fails to give. */
let failing: number | undefined
let server: ChainServer
let client: Client
let folder: string

beforeAll(async () => {
  const main = await validBlocks(LAST - FIRST + 1)
  const other = new Map(main)
  for (let number = FORK; number <= LAST; number++) {
    const parentHash = other.get(number - 1)?.block.hash as `0x${string}`
    other.set(number, await madeJson({ number: BigInt(number), parentHash, header: { extraData: '0x6f74686572' } }))
  }
  branches = [main, other]
  chain = main
  server = await startChain({
    head: LAST,
    answer({ method, params }) {
      if (method === 'eth_chainId') return { result: '0x1' }
      if (method === 'eth_blockNumber') return { result: `0x${head.toString(16)}` }
      const number = params[0] === 'latest' ? head : Number(params[0])
      if (number === failing) return { error: { code: -32602, message: `invalid params ${SECRET}` } }
      const found = number > head ? undefined : chain.get(number)
      if (method === 'eth_getBlockReceipts') return { result: found?.receipts ?? null }
      if (found === undefined) return { result: null }
      const { block } = found
      return { result: params[1] === true ? block : { ...block, transactions: block.transactions.map(({ hash }) => hash) } }
    },
  })
  client = createClient(`${server.url}/v3/${SECRET}`)
  folder = await mkdtemp(join(tmpdir(), 'hexline-histories-'))
})
afterAll(async () => {
  await client.close()
  await server.close()
  await rm(folder, { recursive: true })
})

interface Setting {
  readonly from: number
  readonly blocksPerFile: number
  readonly format: DatasetFormat
  readonly tables: readonly DatasetTable[]
  readonly columns?: readonly string[]
}

/** The digests of the files of a range, as an export of it alone writes them, by its last hash. */
const references = new Map<string, Promise<Record<string, string>>>()

function referenceOf(setting: Setting, { from, to, lastHash }: RangeEntry): Promise<Record<string, string>> {
  const key = JSON.stringify([setting.format, setting.tables, setting.columns, from, lastHash])
  let reference = references.get(key)
  if (reference === undefined) {
    reference = exportAlone(setting, from, to, lastHash)
    references.set(key, reference)
  }
  return reference
}

async function exportAlone(setting: Setting, from: number, to: number, lastHash: string): Promise<Record<string, string>> {
  const before = [chain, head, failing] as const
  const of = branches.find((each) => each.get(to)?.block.hash === lastHash)
  if (of === undefined) throw new Error(`no branch has block ${to} as ${lastHash}`)
  const dir = join(folder, 'reference')
  try {
    ;[chain, head, failing] = [of, LAST, undefined]
    await exportDataset(client, { ...setting, from, to, dir, blocksPerFile: 1000 })
    return await digestsOf(dir)
  } finally {
    ;[chain, head, failing] = before
    await rm(dir, { recursive: true, force: true })
  }
}

/** What a folder holds, on the disk. */
interface Held {
  readonly manifest: Manifest | undefined
  readonly parts: readonly RangeEntry[]
  readonly goals: readonly number[]
  /** Whether it has what is to be merged, be it no part. */
  readonly hasParts: boolean
}

async function heldBy(dir: string): Promise<Held> {
  const manifest = await findManifest(dir)
  const names = (await stat(join(dir, 'parts', 'dataset', 'manifest.json')).catch(() => undefined)) === undefined ? [] : await readdir(join(dir, 'parts'))
  const parts: RangeEntry[] = []
  for (const name of names.filter((each) => /^\d+$/.test(each))) {
    const part = (await findManifest(join(dir, 'parts', name))) as Manifest
    parts.push(part.ranges[0] as RangeEntry)
  }
  const goals = names.flatMap((name) => /^to-(\d+)/.exec(name)?.[1] ?? []).map(Number)
  return { manifest, parts, goals, hasParts: names.length > 0 }
}

function covers(ranges: readonly RangeEntry[], block: number): boolean {
  return ranges.some(({ from, to }) => from <= block && block <= to)
}

/** The files that a range has are those that an export of it alone writes. */
async function checkRange(setting: Setting, dir: string, range: RangeEntry): Promise<void> {
  const reference = await referenceOf(setting, range)
  expect(range.files.map(({ name }) => name.split('/')[0])).toEqual(setting.tables)
  for (const { name, bytes, sha256 } of range.files) {
    const found = await readFile(join(dir, name))
    expect([name, found.length, createHash('sha256').update(found).digest('hex')]).toEqual([name, bytes, sha256])
    expect([name, sha256]).toEqual([name, reference[name]])
  }
}

/** The files of a folder that belong to no dataset and no part. */
async function othersIn(dir: string, { manifest, parts }: Held): Promise<string[]> {
  const known = new Set<string>()
  if (manifest !== undefined) known.add('manifest.json')
  for (const { files } of manifest?.ranges ?? []) for (const { name } of files) known.add(name)
  for (const { from, files } of parts)
    for (const name of ['manifest.json', ...files.map((file) => file.name)]) known.add(`parts/${String(from).padStart(9, '0')}/${name}`)
  return Object.keys(await digestsOf(dir)).filter(
    (name) => !known.has(name) && name !== 'parts/dataset/manifest.json' && !/^parts\/to-\d+(-of-\d+)?$/.test(name),
  )
}

/** A sentence that a user can act on, without a secret. */
function checkError(error: unknown): void {
  expect(error).toBeInstanceOf(Error)
  const { message } = error as Error
  expect(message).not.toContain(SECRET)
  expect(message).not.toMatch(/\n|undefined|\[object|\bE[A-Z]{2,}: |\.\./)
}

/** The processes that were killed are dead, although this one runs. */
async function bury(dir: string): Promise<void> {
  if ((await stat(dir).catch(() => undefined)) === undefined) return
  for (const name of Object.keys(await digestsOf(dir))) {
    if (!/(^|\/)\.lock|process\.json$/.test(name)) continue
    const path = join(dir, name)
    const text = await readFile(path, 'utf8')
    await writeFile(path, text.replace(/"pid":\d+/, `"pid":${DEAD_PID}`))
  }
}

class History {
  readonly #random: () => number
  readonly #setting: Setting
  readonly #dirs: readonly string[]
  readonly #of: number
  /** Folders that a killed process has left something in. */
  readonly #littered = new Set<string>()
  /** Blocks that an operation has said are there, by folder. */
  readonly #promised = new Map<string, Set<number>>()
  readonly log: string[] = []

  constructor(seed: number, root: string) {
    this.#random = randomFrom(seed)
    const format = this.#oneOf<DatasetFormat>('ndjson', 'ndjson.gz', 'parquet', 'parquet')
    this.#setting = {
      from: FIRST + this.#below(5),
      blocksPerFile: 1 + this.#below(9),
      format,
      tables: this.#oneOf<readonly DatasetTable[]>(
        ['blocks', 'transactions'],
        ['blocks', 'transactions', 'receipts', 'logs', 'withdrawals'],
        ['logs'],
        ['blocks', 'receipts', 'logs'],
      ),
    }
    if (format === 'parquet' && this.#below(3) === 0 && this.#setting.tables.includes('blocks'))
      Object.assign(this.#setting, { columns: ['blocks.number', 'blocks.hash', 'blocks.parentHash'] })
    this.#dirs = Array.from({ length: 1 + this.#below(3) }, (_, i) => join(root, `folder ${i}`))
    this.#of = 1 + this.#below(3)
    this.log.push(JSON.stringify(this.#setting))
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  #oneOf<V>(...values: readonly V[]): V {
    return values[this.#below(values.length)] as V
  }

  async step(): Promise<void> {
    const dir = this.#oneOf(...this.#dirs)
    const kind = this.#oneOf(
      'export',
      'export',
      'export',
      'shard',
      'shard',
      'shards',
      'shards',
      'merge',
      'merge',
      'verify',
      'damage',
      'other',
      'chain',
      'together',
    )
    this.log.push(`${kind} ${dir.at(-1)}`)
    if (kind === 'export') await this.#export(dir)
    else if (kind === 'shard') await this.#shard(dir)
    else if (kind === 'shards') await this.#shards(dir)
    else if (kind === 'merge') await this.#merge(dir)
    else if (kind === 'verify') await this.#verify(dir)
    else if (kind === 'damage') await this.#damage(dir)
    else if (kind === 'other') await this.#other(dir)
    else if (kind === 'together') await this.#together(dir)
    else {
      if (this.#below(2) === 0) chain = branches[this.#below(2)] as Branch
      head = FIRST + 5 + this.#below(LAST - FIRST - 4)
      this.log.push(`  head ${head} of branch ${branches.indexOf(chain)}`)
    }
    for (const each of this.#dirs) await this.#check(each)
  }

  /** Everything that was promised is there, whole, and nothing else but what was killed. */
  async #check(dir: string): Promise<void> {
    if ((await stat(dir).catch(() => undefined)) === undefined) return
    const held = await heldBy(dir)
    const ranges = [...(held.manifest?.ranges ?? []), ...held.parts]
    for (const range of held.manifest?.ranges ?? []) await checkRange(this.#setting, dir, range)
    for (const range of held.parts) await checkRange(this.#setting, join(dir, 'parts', String(range.from).padStart(9, '0')), range)
    for (const block of this.#promised.get(dir) ?? []) if (!covers(ranges, block)) throw new Error(`${dir} has lost block ${block}`)
    if (!this.#littered.has(dir)) expect(await othersIn(dir, held)).toEqual([])
    for (const name of Object.keys(await digestsOf(dir))) if (/json$|lock/.test(name)) expect(await readFile(join(dir, name), 'utf8')).not.toContain(SECRET)
  }

  #promise(dir: string, blocks: Iterable<number>): void {
    const promised = this.#promised.get(dir) ?? new Set()
    for (const block of blocks) promised.add(block)
    this.#promised.set(dir, promised)
  }

  /** Promises what the folder holds, so that it may not be lost. */
  async #promiseHeld(dir: string): Promise<void> {
    if ((await stat(dir).catch(() => undefined)) === undefined) return
    const { manifest, parts } = await heldBy(dir)
    for (const { from, to } of [...(manifest?.ranges ?? []), ...parts]) this.#promise(dir, numbers(from, to))
  }

  #to(): number {
    return this.#setting.from + this.#below(head - this.#setting.from + 1)
  }

  /**
   * Runs an operation that writes to a folder, perhaps with something in its way. Gives its error;
   * undefined if it has ended well.
   */
  async #trouble(
    dir: string,
    run: (options: Pick<ExportDatasetOptions, 'signal' | 'onProgress'>) => Promise<unknown>,
  ): Promise<{ error: unknown; isTroubled: boolean }> {
    const trouble = this.#oneOf<DiskFault | 'none' | 'abort' | 'node'>('none', 'none', 'none', 'killed', 'killed', 'full', 'once', 'abort', 'node')
    if (trouble === 'none') return { error: await run({}).then(nothing, same), isTroubled: false }
    if (trouble === 'node') {
      failing = this.#setting.from + this.#below(20)
      const error = await run({}).then(nothing, same)
      failing = undefined
      return { error, isTroubled: true }
    }
    if (trouble === 'abort') {
      const stop = new AbortController()
      let until = this.#below(12)
      const reason = new Error('it was aborted')
      if (until === 0) stop.abort(reason)
      const onProgress = () => {
        if (--until === 0) stop.abort(reason)
      }
      return { error: await run({ signal: stop.signal, onProgress }).then(nothing, same), isTroubled: true }
    }
    // Some between two files of rows, others between all that is done before and after them.
    const isOfRows = this.#below(2) === 0
    const after = 1 + this.#below(isOfRows ? this.#oneOf(10, 40, 120) : 20)
    const { error, failed } = await onFailingDisk(
      dir,
      trouble,
      after,
      () => run({}),
      (path) => isOfRows || !OF_ROWS.test(path),
    )
    this.log.push(`  ${trouble} at change ${after}${failed === undefined ? ', which did not come' : `, ${failed}`}`)
    if (failed === undefined) return { error, isTroubled: false }
    // What could not be removed stays.
    if (trouble === 'killed' || /^rm/.test(failed)) this.#littered.add(dir)
    await bury(dir)
    return { error: trouble === 'killed' ? new Error('killed') : error, isTroubled: true }
  }

  #tell(error: unknown): void {
    this.log.push(`  ${error === undefined ? 'done' : (error as Error).message}`)
    if (error !== undefined) checkError(error)
  }

  async #export(dir: string): Promise<void> {
    const to = this.#to()
    const before = await this.#state(dir)
    await this.#promiseHeld(dir)
    const { error, isTroubled } = await this.#trouble(dir, (more) => exportDataset(client, { ...this.#setting, dir, to, ...more }))
    this.log.push(`  to ${to}`)
    this.#tell(error)
    if (error === undefined) {
      this.#promise(dir, numbers(this.#setting.from, to))
      if (isTroubled) return
      this.#littered.delete(dir)
      await verifyDataset(dir)
      return
    }
    if (isTroubled) return
    const { manifest, hasParts } = before
    const last = manifest?.ranges.at(-1)
    if (hasParts) expect((error as Error).message).toContain('has parts of shards: run `hexline merge')
    else {
      expect(last !== undefined && last.to < to && last.lastHash !== chain.get(last.to)?.block.hash).toBe(true)
      expect(error).toMatchObject({ name: 'IntegrityError', message: expect.stringContaining('the chain was reorganised') })
    }
    if (!this.#littered.has(dir)) expect(await digestsOf(dir)).toEqual(before.digests)
    if (!hasParts) this.#littered.delete(dir)
  }

  async #shard(dir: string): Promise<void> {
    const to = this.#to()
    const shard: Shard = { index: 1 + this.#below(this.#of), of: this.#of }
    await this.#promiseHeld(dir)
    const { error, isTroubled } = await this.#trouble(dir, (more) => exportDataset(client, { ...this.#setting, dir, to, shard, ...more }))
    this.log.push(`  ${shard.index}/${shard.of} to ${to}`)
    this.#tell(error)
    if (error === undefined) this.#promiseShard(dir, shard, to)
    else expect(isTroubled).toBe(true)
  }

  /** All shards, one after another. */
  async #shards(dir: string): Promise<void> {
    await this.#promiseHeld(dir)
    for (let index = 1; index <= this.#of; index++) {
      const shard = { index, of: this.#of }
      await exportDataset(client, { ...this.#setting, dir, to: head, shard })
      this.#promiseShard(dir, shard, head)
    }
  }

  #promiseShard(dir: string, shard: Shard, to: number): void {
    for (const range of rangesOf({ from: this.#setting.from, to }, this.#setting.blocksPerFile, shard)) this.#promise(dir, numbers(range.from, range.to))
  }

  async #merge(dir: string): Promise<void> {
    const there: string[] = []
    for (const each of this.#dirs) if ((await stat(each).catch(() => undefined)) !== undefined) there.push(each)
    if (there.length === 0) return
    const sources = this.#below(2) === 0 && there.includes(dir) ? [dir] : there
    const into = this.#oneOf(sources[0] as string, dir)
    const before = await Promise.all(there.map((each) => this.#state(each)))
    for (const each of there) await this.#promiseHeld(each)
    const used = [...new Set([into, ...sources])]
    const held = await Promise.all(used.filter((each) => there.includes(each)).map(heldBy))
    const mergeable = joins(held, this.#setting)
    const { error, isTroubled } = await this.#trouble(into, ({ signal }) => mergeDataset(sources, { into, signal }))
    // What it has put in place stays for the next merge.
    if (error !== undefined && isTroubled) this.#littered.add(into)
    this.log.push(`  ${sources.map((each) => each.at(-1))} into ${into.at(-1)}`)
    this.#tell(error)
    if (error === undefined) {
      expect(mergeable).toBe('whole')
      if (!isTroubled) this.#littered.delete(into)
      for (const each of held) for (const { from, to } of [...each.parts, ...(each.manifest?.ranges ?? [])]) this.#promise(into, numbers(from, to))
      if (!isTroubled) await verifyDataset(into)
    } else if (!isTroubled) {
      expect([mergeable, (error as Error).message]).toEqual([expect.not.stringMatching('whole'), expect.any(String)])
    }
    for (const [i, each] of there.entries()) {
      const now = await this.#state(each)
      if (each !== into || (error !== undefined && !isTroubled && !this.#littered.has(each))) expect(now.digests).toEqual(before[i]?.digests)
    }
    if (error !== undefined && !there.includes(into) && !isTroubled) await expect(stat(into)).rejects.toThrow('ENOENT')
  }

  async #verify(dir: string): Promise<void> {
    const { manifest, hasParts, exists } = await this.#state(dir)
    if (!exists) return
    const error = await verifyDataset(dir).then(nothing, same)
    this.#tell(error)
    if (hasParts) expect((error as Error).message).toContain('has parts of shards that are not merged')
    else if (manifest === undefined) expect((error as Error).message).toContain('manifest.json')
    else if (!this.#littered.has(dir)) expect(error).toBe(undefined)
    else if (error !== undefined) expect(error).toBeInstanceOf(IntegrityError)
    if (manifest !== undefined) await this.#query(dir, manifest)
  }

  /** Readers see whole ranges, whatever was killed. */
  async #query(dir: string, manifest: Manifest): Promise<void> {
    const table = this.#oneOf(...this.#setting.tables)
    const at = manifest.tables.indexOf(table)
    const rows = manifest.ranges.reduce((sum, { files }) => sum + (files[at]?.rows as number), 0)
    const views = duckDbViews(dir, manifest).filter((each) => each.startsWith('CREATE VIEW'))
    const [select] = views.filter((each) => each.startsWith(`CREATE VIEW ${table} AS `)).map((each) => each.slice(`CREATE VIEW ${table} AS `.length))
    expect(await query(`select count(*)::int as count from (${select})`)).toEqual([{ count: rows }])
  }

  /** Damages a whole folder, which verify and mostly export find; and mends it again. */
  async #damage(dir: string): Promise<void> {
    const { manifest, hasParts, digests } = await this.#state(dir)
    if (manifest === undefined || manifest.ranges.length === 0 || hasParts || this.#littered.has(dir)) return
    const saved = `${dir} saved`
    // A merge may have given a file a second name in this folder, which a copy has not.
    await rename(dir, saved)
    await cp(saved, dir, { recursive: true })
    const name = this.#oneOf(...Object.keys(digests))
    const path = join(dir, name)
    const bytes = await readFile(path)
    const kind = this.#oneOf('flip', 'cut', 'more', 'delete', 'rename', 'extra', 'swap')
    const at = this.#below(bytes.length)
    const other = this.#oneOf(...Object.keys(digests).filter((each) => each !== name))
    let keepsSize = false
    if (kind === 'flip' && bytes.length > 0) {
      bytes[at] = (bytes[at] as number) ^ (1 << this.#below(8))
      await writeFile(path, bytes)
      keepsSize = true
    } else if (kind === 'cut' && bytes.length > 0) await writeFile(path, bytes.subarray(0, at))
    else if (kind === 'delete') await rm(path)
    else if (kind === 'rename') await rename(path, join(dirname(path), 'renamed'))
    else if (kind === 'extra') {
      await writeFile(join(dirname(path), this.#oneOf('extra', '.DS_Store', '000000001-000000001.parquet', `${name.split('/').at(-1)}.123.partial`)), '')
      keepsSize = true
    } else if (kind === 'swap' && digests[other] !== digests[name]) {
      const swapped = await readFile(join(dir, other))
      keepsSize = swapped.length === bytes.length && name !== 'manifest.json' && other !== 'manifest.json'
      await writeFile(path, swapped)
      await writeFile(join(dir, other), bytes)
    } else await writeFile(path, Buffer.concat([bytes, Buffer.from('\n')]))
    this.log.push(`  ${kind} ${name} at ${at}, ${other}`)
    const found = await verifyDataset(dir).then(nothing, same)
    this.#tell(found)
    expect(found).toBeInstanceOf(IntegrityError)
    if (!keepsSize || (kind === 'flip' && name === 'manifest.json')) {
      const damaged = await digestsOf(dir)
      const error = await exportDataset(client, { ...this.#setting, dir, to: head }).then(nothing, same)
      this.#tell(error)
      expect([kind, name, error]).toEqual([kind, name, expect.any(Error)])
      const merged = await mergeDataset([dir]).then(nothing, same)
      this.#tell(merged)
      expect(merged).toBeInstanceOf(Error)
      expect(await digestsOf(dir)).toEqual(damaged)
    }
    await rm(dir, { recursive: true })
    await rename(saved, dir)
    await verifyDataset(dir)
  }

  /** Other options than the folder was started with. */
  async #other(dir: string): Promise<void> {
    const { manifest, hasParts, digests } = await this.#state(dir)
    if (manifest === undefined && !hasParts) return
    const { tables, blocksPerFile, from, format } = this.#setting
    const different: Partial<ExportDatasetOptions> = this.#oneOf<Partial<ExportDatasetOptions>>(
      { from: from + 1 },
      { blocksPerFile: blocksPerFile + 1 },
      { tables: tables.includes('withdrawals') ? ['blocks'] : [...tables, 'withdrawals'] },
      { format: format === 'ndjson' ? 'ndjson.gz' : 'ndjson', columns: undefined },
    )
    const shard = this.#oneOf(undefined, { index: 1, of: 2 })
    const error = await exportDataset(client, { ...this.#setting, ...different, dir, to: head, shard }).then(nothing, same)
    this.#tell(error)
    if (!hasParts || shard !== undefined) expect(error).toMatchObject({ name: 'OptionError' })
    else expect(error).toBeInstanceOf(Error)
    const now = await digestsOf(dir)
    if (!this.#littered.has(dir)) expect(now).toEqual(digests)
  }

  /** Several operations on a folder at a time: each keeps what it promises. */
  async #together(dir: string): Promise<void> {
    await this.#promiseHeld(dir)
    const jobs = Array.from({ length: 2 + this.#below(2) }, () => {
      const to = this.#to()
      const kind = this.#oneOf('export', 'shard', 'shard', 'merge')
      const shard = { index: 1 + this.#below(this.#of), of: this.#of }
      const wait = this.#below(40)
      return async () => {
        for (let i = 0; i < wait; i++) await stat(folder)
        if (kind === 'merge') await mergeDataset([dir])
        else await exportDataset(client, { ...this.#setting, dir, to, ...(kind === 'shard' && { shard }) })
        if (kind === 'export') this.#promise(dir, numbers(this.#setting.from, to))
        else if (kind === 'shard') this.#promiseShard(dir, shard, to)
        this.log.push(`  ${kind} ${kind === 'shard' ? `${shard.index}/${shard.of} ` : ''}to ${to}: done`)
      }
    })
    for (const result of await Promise.allSettled(jobs.map((job) => job()))) if (result.status === 'rejected') this.#tell(result.reason)
  }

  async #state(dir: string) {
    if ((await stat(dir).catch(() => undefined)) === undefined)
      return { exists: false, manifest: undefined, hasParts: false, digests: {} as Record<string, string> }
    const held = await heldBy(dir)
    return { exists: true, manifest: held.manifest, hasParts: held.hasParts, digests: await digestsOf(dir) }
  }
}

function nothing(): undefined {
  return undefined
}

function same(error: unknown): unknown {
  return error
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)
}

/** Whether what folders hold is a whole dataset, by trying all ways. */
function joins(held: readonly Held[], { from }: Setting): 'whole' | 'contradicts itself' | 'has gaps' | 'nothing' {
  const all = held.flatMap(({ manifest, parts }) => {
    const last = manifest?.ranges.at(-1)?.to ?? -1
    return [...(manifest?.ranges ?? []), ...parts.filter((part) => part.from > last)]
  })
  const goal = Math.max(from - 1, ...held.flatMap(({ manifest, goals }) => [...goals, manifest?.ranges.at(-1)?.to ?? -1]))
  const hashes = new Map<number, string>()
  for (const { from: first, to, parentHash, firstHash, lastHash } of all) {
    for (const [block, hash] of [
      [first - 1, parentHash],
      [first, firstHash],
      [to, lastHash],
    ] as const) {
      if ((hashes.get(block) ?? hash) !== hash) return 'contradicts itself'
      hashes.set(block, hash)
    }
  }
  if (held.every(({ manifest, hasParts }) => manifest === undefined && !hasParts)) return 'nothing'
  const reached = new Set([from])
  for (const { from: first, to } of [...all].sort((a, b) => a.from - b.from)) if (reached.has(first)) reached.add(to + 1)
  return reached.has(goal + 1) ? 'whole' : 'has gaps'
}

/** Steps of a history. */
const STEPS = 14

it.each(seeds(5, 200))('history %d: nothing is lost or half there, and what is damaged is found', async (seed) => {
  const root = await mkdtemp(join(folder, 'history-'))
  ;[chain, head, failing] = [branches[0] as Branch, LAST, undefined]
  const history = new History(seed, root)
  try {
    for (let step = 0; step < STEPS; step++) await history.step()
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${history.log.join('\n')}`, { cause: error })
  } finally {
    await rm(root, { recursive: true, force: true })
  }
})
