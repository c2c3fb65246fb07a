import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { type Client, createClient, IntegrityError, OptionError } from 'hexline'
import { type ExportDatasetOptions, exportDataset, type VerifyDatasetOptions, verifyDataset } from 'hexline/bulk'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type DatasetTable, tableNames } from '../../../src/dataset/tables.ts'
import { hasZstd } from '../../../src/dataset/zstd.ts'
import { startAnvil } from '../../support/anvil.ts'
import type { ChainOptions } from '../../support/chain-server.ts'
import { everyLie, lieAndVerify } from '../../support/dataset-lies.ts'
import type { MadeBlock } from '../../support/decoded-blocks.ts'
import { flipBits } from '../../support/flipped-bits.ts'
import { forgeFile, forgeLines, forgeManifest, type Line } from '../../support/forged-dataset.ts'
import { nightly, runs } from '../../support/runs.ts'
import { FIRST, startValidChain, type ValidChain } from '../../support/valid-chain.ts'

const COUNT = 5
const LAST = FIRST + COUNT - 1
const compressed = ['ndjson.gz', ...(hasZstd ? (['ndjson.zst'] as const) : [])] as const
const formats = ['ndjson', ...compressed, 'parquet'] as const

type Raw = Readonly<Record<string, unknown>>

let answer: ChainOptions['answer']
let server: ValidChain
let client: Client
let folder: string
let dir: string
beforeAll(async () => {
  server = await startValidChain(COUNT, { answer: (call, right) => answer?.(call, right) })
  client = createClient(server.url)
})
afterAll(async () => {
  await client.close()
  await server.close()
})
beforeEach(async () => {
  answer = undefined
  folder = await mkdtemp(join(tmpdir(), 'hexline-verify-'))
  dir = join(folder, 'data')
})
afterEach(() => rm(folder, { recursive: true }))

const write = (options: Partial<ExportDatasetOptions> = {}) =>
  exportDataset(client, { from: FIRST, to: LAST, dir, format: 'ndjson', tables: tableNames, blocksPerFile: 2, ...options })

/** What `verifyDataset` rejects with; undefined if it finds nothing. */
async function faultOf(options: VerifyDatasetOptions = {}, path = dir): Promise<IntegrityError | undefined> {
  try {
    await verifyDataset(path, options)
    return undefined
  } catch (error) {
    if (!(error instanceof IntegrityError)) throw error
    return error
  }
}

const all = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, COUNT]))

describe('what is proven', () => {
  const everything = [
    ...['files', 'rows', 'link', 'header', 'transactionHashes', 'transactionsRoot', 'receiptsRoot', 'logsBloom', 'withdrawalsRoot'],
    ...['uncles', 'prices', 'size'],
  ]

  it.each(formats)('%s with all tables: everything but the senders, and with them everything', async (format) => {
    await write({ format })
    const report = await verifyDataset(dir)
    expect(report).toMatchObject({ chainId: 1, from: FIRST, to: LAST, ranges: 3, blocks: COUNT, files: 15, rows: 23 * COUNT, skipped: {}, against: null })
    expect(report.checks).toEqual(all(everything))
    expect(report.uncovered).toEqual(['receipts.contractAddress', 'receipts.from', 'transactions.from'])
    expect(report.lastHash).toBe(server.blocks.get(LAST)?.block.hash)
    const sizes = await Promise.all((await readdir(dir, { recursive: true })).filter((name) => /\d/.test(name)).map((name) => readFile(join(dir, name))))
    expect(report.bytes).toBe(sizes.reduce((sum, { length }) => sum + length, 0))
    const withSenders = await verifyDataset(dir, { senders: true })
    expect(withSenders.checks).toEqual(all([...everything, 'senders']))
    expect(withSenders.uncovered).toEqual([])
  })

  it.each([
    ['ndjson', ['blocks'], ['files', 'rows', 'link', 'header', 'withdrawalsRoot', 'uncles'], ['blocks.size']],
    ['parquet', ['blocks'], ['files', 'rows', 'link', 'header', 'uncles'], ['blocks.size', 'blocks.transactionCount']],
    [
      'ndjson',
      ['blocks', 'receipts'],
      ['files', 'rows', 'link', 'header', 'receiptsRoot', 'logsBloom', 'withdrawalsRoot', 'uncles'],
      [
        'blocks.size',
        ...['blobGasUsed', 'contractAddress', 'effectiveGasPrice', 'from', 'logs.transactionHash', 'to', 'transactionHash'].map((name) => `receipts.${name}`),
      ],
    ],
    ['parquet', ['blocks', 'logs'], ['files', 'rows', 'link', 'header', 'logsBloom', 'uncles'], ['blocks.size', 'blocks.transactionCount', 'logs.*']],
    ['ndjson', ['transactions', 'logs'], ['files', 'rows', 'transactionHashes'], ['logs.*', 'transactions.from', 'transactions.gasPrice']],
    ['parquet', ['withdrawals'], ['files', 'rows'], ['withdrawals.*']],
  ] as const)('%s with %s', async (format, tables, proven, uncovered) => {
    await write({ format, tables: tables as readonly DatasetTable[] })
    const report = await verifyDataset(dir)
    expect(report.checks).toEqual(all(proven))
    expect(report.uncovered).toEqual(uncovered)
    // Each check that is not made has a reason that names what is not stored.
    for (const reasons of Object.values(report.skipped)) {
      expect(Object.values(reasons)).toEqual([COUNT])
      expect(Object.keys(reasons)[0]).toMatch(/not stored/)
    }
  })

  it('of some columns: what they allow, with what is missing', async () => {
    const columns = ['blocks.number', 'blocks.hash', 'blocks.parentHash', 'transactions.hash', 'transactions.value']
    await write({ format: 'parquet', tables: ['blocks', 'transactions'], columns })
    const { checks, skipped } = await verifyDataset(dir)
    expect(checks).toEqual(all(['files', 'link']))
    expect(skipped.rows).toEqual({ 'not stored: transactions.blockNumber': COUNT })
    expect(skipped.transactionHashes).toEqual({
      'not stored: transactions.blockNumber, transactions.transactionIndex, transactions.type, transactions.from, transactions.to and 16 more': COUNT,
    })
  })

  /** Changes what the node sends of its first block, and of the receipts of that block. */
  const spoil = (ofBlock: (block: Raw) => Raw, ofReceipts: (receipts: readonly Raw[]) => readonly Raw[] = (receipts) => receipts) => {
    answer = ({ method, params }, right) => {
      if (Number(params[0]) !== FIRST || right === null) return undefined
      const { block, receipts } = server.blocks.get(FIRST) as unknown as { block: Raw; receipts: readonly Raw[] }
      if (method === 'eth_getBlockByNumber') return { result: ofBlock(block) }
      return method === 'eth_getBlockReceipts' ? { result: ofReceipts(receipts) } : undefined
    }
  }
  const firstLog = (change: Raw) => (receipts: readonly Raw[]) => {
    const at = receipts.findIndex(({ logs }) => (logs as Raw[]).length > 0)
    return receipts.map((receipt, i) =>
      i === at ? { ...receipt, logs: (receipt.logs as Raw[]).map((log, k) => (k === 0 ? { ...log, ...change } : log)) } : receipt,
    )
  }

  it.each(['parquet', 'ndjson'] as const)('%s: what export accepts with all checks, such as JSON numbers', async (format) => {
    spoil(
      ({ gasUsed, timestamp, baseFeePerGas, withdrawals, ...block }) => ({
        ...block,
        ...{ gasUsed: Number(gasUsed), timestamp: Number(timestamp), baseFeePerGas: Number(baseFeePerGas) },
        withdrawals: (withdrawals as Raw[]).map(({ amount, ...each }) => ({ ...each, amount: Number(amount) })),
      }),
      firstLog({ logIndex: 0, removed: 0 }),
    )
    await write({ format, verify: 'full' })
    const { uncovered } = await verifyDataset(dir, { senders: true })
    // No column of booleans can hold it.
    expect(uncovered).toEqual(format === 'parquet' ? ['logs.removed'] : [])
  })

  it.each([
    ['parquet', 2 ** 60, ['blocks.totalDifficulty']],
    ['parquet', 1.5, ['blocks.totalDifficulty']],
    ['ndjson', 2 ** 60, ['blocks.totalDifficulty']],
  ] as const)('%s: a JSON number that is not exact, %d', async (format, totalDifficulty, uncovered) => {
    spoil((block) => ({ ...block, totalDifficulty }))
    await write({ format })
    const report = await verifyDataset(dir, { senders: true })
    expect(report.checks).toEqual(all([...everything, 'senders']))
    expect(report.uncovered).toEqual(uncovered)
  })

  it('a log without topics is refused by its file and block, also where only its bloom is checked', async () => {
    spoil((block) => block, firstLog({ topics: null }))
    await write({ tables: ['blocks', 'transactions', 'logs'] })
    const fault = await faultOf()
    expect(fault).toMatchObject({ block: BigInt(FIRST), field: 'logs[0].topics', expected: 'an array', found: 'null' })
    expect(fault?.file).toMatch(/^logs\/.*\.ndjson$/)
  })

  it('no column whose value is in extra', async () => {
    spoil((block) => ({ ...block, totalDifficulty: `0x1${'0'.repeat(40)}` }), firstLog({ logIndex: 0, removed: '' }))
    await write({ format: 'parquet' })
    expect((await verifyDataset(dir, { senders: true })).uncovered).toEqual(['blocks.totalDifficulty', 'logs.removed'])
  })

  it('of one topic without the one before it', async () => {
    await write({ format: 'parquet', tables: ['logs'], columns: ['logs.blockNumber', 'logs.topic1'] })
    expect((await verifyDataset(dir)).checks).toEqual(all(['files', 'rows']))
  })

  it('a folder without any blocks', async () => {
    await write()
    for (const table of tableNames) await rm(join(dir, table), { recursive: true })
    await forgeManifest(dir, (manifest) => ({ ...manifest, ranges: [] }))
    expect(await verifyDataset(dir)).toMatchObject({ from: null, to: null, lastHash: null, blocks: 0, checks: {}, skipped: {} })
  })

  it('a folder that was extended', async () => {
    await write({ to: FIRST + 2 })
    await write()
    expect((await verifyDataset(dir)).checks).toEqual(all(everything))
  })

  it('reports the progress of each block', async () => {
    await write()
    const seen: (readonly [bigint, number, number])[] = []
    await verifyDataset(dir, { onProgress: ({ number, done, total }) => seen.push([number, done, total]) })
    expect(seen).toEqual(Array.from({ length: COUNT }, (_, i) => [BigInt(FIRST + i), i + 1, COUNT]))
  })

  it('ends with its signal', async () => {
    await write()
    const stop = new AbortController()
    await expect(verifyDataset(dir, { signal: stop.signal, onProgress: () => stop.abort(new Error('enough')) })).rejects.toThrow('enough')
    await expect(verifyDataset(dir, { signal: AbortSignal.abort(new Error('at once')) })).rejects.toThrow('at once')
  })
})

it.each(['ndjson', 'parquet'] as const)('%s: what a real node says of its blocks', { timeout: 60_000 }, async (format) => {
  const anvil = await startAnvil()
  try {
    await using real = createClient(anvil.url)
    const [from, to] = (await real.request({ method: 'eth_accounts' })) as [string, string]
    // Mined by itself, a transaction may be in a block only after its call has returned.
    await real.request({ method: 'evm_setAutomine', params: [false] })
    for (let i = 0; i < 5; i++) {
      await real.request({ method: 'eth_sendTransaction', params: [{ from, to, value: `0x${(i + 1).toString(16)}` }] })
      await real.request({ method: 'evm_mine' })
    }
    await exportDataset(real, { from: 0, to: 5, dir, format, tables: tableNames, blocksPerFile: 4 })
    const { checks, uncovered } = await verifyDataset(dir, { senders: true, against: real })
    const proven = [
      'files',
      'rows',
      'link',
      'header',
      'transactionHashes',
      'transactionsRoot',
      'receiptsRoot',
      'logsBloom',
      'withdrawalsRoot',
      'prices',
      'senders',
      'against',
    ]
    expect(checks).toMatchObject(Object.fromEntries(proven.map((name) => [name, 6])))
    expect(uncovered.filter((name) => /^(?:transactions|logs|withdrawals)/.test(name))).toEqual([])
  } finally {
    await anvil.stop()
  }
})

describe('a flipped bit is found', () => {
  // verify-dataset.nightly.test.ts flips all bits of each byte.
  it.each(['ndjson', 'parquet', ...nightly(...compressed)] as const)('%s: one of every ninth byte', async (format) => {
    await write({ format, tables: ['withdrawals'], to: FIRST, ...(format === 'parquet' && { columns: ['withdrawals.index'] }) })
    const [data] = (await readdir(join(dir, 'withdrawals'))) as [string]
    for (const name of [`withdrawals/${data}`, 'manifest.json']) {
      const path = join(dir, name)
      const bytes = await readFile(path)
      await flipBits(bytes, 'few', async () => {
        await writeFile(path, bytes)
        return (await faultOf())?.file === name
      })
      await writeFile(path, bytes)
    }
    expect(await faultOf()).toBeUndefined()
  })
})

describe('other bytes with all digests made anew are proven or refused, and nothing else is thrown', () => {
  it.each(formats)('%s', async (format) => {
    await write({ format, to: FIRST + 1 })
    const files = await Promise.all(
      tableNames.map(async (table) => [table, await readFile(join(dir, table, (await readdir(join(dir, table)))[0] as string))] as const),
    )
    const rights = Object.fromEntries(files)
    const change = fc.record({ from: fc.constantFrom('start', 'end'), at: fc.nat(3000), to: fc.nat(255) })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...files.map(([table]) => table)), fc.array(change, { minLength: 1, maxLength: 3 }), async (table, changes) => {
        const right = rights[table] as Buffer
        const bytes = Buffer.from(right)
        for (const { from, at, to } of changes) bytes[from === 'start' ? at % bytes.length : bytes.length - 1 - (at % bytes.length)] = to
        await forgeFile(dir, table, bytes)
        await faultOf()
        await forgeFile(dir, table, right)
      }),
      runs(6),
    )
  })
})

describe('a node that lied: no digest shows it, but hashes and roots do', () => {
  // verify-dataset.nightly.test.ts tells all of them.
  it.each(['ndjson', ...nightly('parquet')] as ('ndjson' | 'parquet')[])('%s: values of a block, its receipts and logs', async (format) => {
    const lies = (await everyLie()).filter((_, i) => i % 15 === 3)
    expect(lies.length).toBeGreaterThan(10)
    expect(await lieAndVerify(lies, format, folder)).toEqual([])
  })

  it.each([
    [
      'transactions',
      'transactions[1].value',
      (lines: Line[]) => lines.map((line, i) => (i === 1 ? { ...line, value: '0x1' } : line)),
      /transactions\[1\]\.hash/,
    ],
    ['transactions', 'an order', (lines: Line[]) => [lines[1] as Line, lines[0] as Line, ...lines.slice(2)], /transactions\[0\]\.transactionIndex/],
    ['transactions', 'a row left out', (lines: Line[]) => lines.filter((_, i) => i !== 3), /transactions\[3\]\.transactionIndex/],
    ['transactions', 'the last row left out', (lines: Line[]) => lines.filter((_, i) => i !== 6), /receipts: expected 6 rows, found 7 rows/],
    ['transactions', 'a row twice', (lines: Line[]) => [...lines, lines.at(-1) as Line], /transactionIndex/],
    [
      'receipts',
      'no gas',
      (lines: Line[]) => lines.map(({ cumulativeGasUsed, ...line }, i) => (i === 0 ? line : { cumulativeGasUsed, ...line })),
      /receipts\[0\]\.cumulativeGasUsed: expected a quantity/,
    ],
    ['receipts', 'a status', (lines: Line[]) => lines.map((line, i) => (i === 0 ? { ...line, status: '0x0' } : line)), /receiptsRoot/],
    ['logs', 'data', (lines: Line[]) => lines.map((line, i) => (i === 1 ? { ...line, data: '0x' } : line)), /receiptsRoot/],
    ['logs', 'a log left out', (lines: Line[]) => lines.slice(0, -1), /receiptsRoot/],
    ['withdrawals', 'an amount', (lines: Line[]) => lines.map((line) => ({ ...line, amount: '0x1' })), /withdrawalsRoot/],
    ['blocks', 'a time', (lines: Line[]) => lines.map((line, i) => (i === 0 ? { ...line, timestamp: '0x1' } : line)), /blockTimestamp|hash/],
    ['blocks', 'blocks in another order', (lines: Line[]) => lines.reverse(), /rows: expected 1 row, found 0 rows/],
    ['logs', 'no indexes', (lines: Line[]) => lines.map(({ logIndex: _, ...line }) => line), /logs\[0\]\.logIndex: expected 0, found null/],
    ['logs', 'no transactions', (lines: Line[]) => lines.map(({ transactionHash: _, ...line }) => line), /logs\[0\]\.transactionHash: .*found null/],
    [
      'logs',
      'no index of a transaction',
      (lines: Line[]) => lines.map(({ transactionIndex: _, ...line }) => line),
      /logs\[0\]\.transactionIndex: .*found null/,
    ],
    ['receipts', 'no block', (lines: Line[]) => lines.map(({ blockHash: _, ...line }) => line), /receipts\[0\]\.blockHash: .*found null/],
    [
      'receipts',
      'no indexes',
      (lines: Line[]) => lines.map(({ transactionIndex: _, ...line }) => line),
      /receipts\[0\]\.transactionIndex: expected 0, found null/,
    ],
    [
      'transactions',
      'no indexes',
      (lines: Line[]) => lines.map(({ transactionIndex: _, ...line }) => line),
      /transactions\[0\]\.transactionIndex: .*found null/,
    ],
    ['blocks', 'a block twice', (lines: Line[]) => [lines[0] as Line, lines[0] as Line], /rows: expected 1 row, found 2 rows/],
  ] as const)('%s: %s, with all digests made anew', async (table, _, change, field) => {
    await write()
    await forgeLines(dir, table, change)
    const fault = (await faultOf()) as IntegrityError
    expect(fault.message).toMatch(field)
    expect(fault.file).toMatch(/^(?:blocks|transactions|receipts|logs|withdrawals)\//)
    expect(fault.block).toBeGreaterThanOrEqual(BigInt(FIRST))
  })

  it('a block without its parent, where no hash of the header is compared', async () => {
    await write({ tables: ['blocks'] })
    // ZKsync Era: the hash of a header is made in another way there.
    await forgeManifest(dir, (manifest) => ({ ...manifest, chainId: 324 }))
    expect((await verifyDataset(dir)).checks).toMatchObject({ link: COUNT })
    await forgeLines(dir, 'blocks', (lines) => lines.map(({ parentHash, ...line }, i) => (i === 1 ? line : { parentHash, ...line })))
    expect((await faultOf())?.message).toMatch(/parentHash: expected 0x[0-9a-f]{64}, found null/)
  })

  it('another chain, whose blocks do not follow those of the manifest', async () => {
    await write()
    await forgeManifest(dir, (manifest) => ({
      ...manifest,
      ranges: manifest.ranges.map((range, i) => (i === 0 ? { ...range, parentHash: `0x${'77'.repeat(32)}` } : range)),
    }))
    const fault = (await faultOf()) as IntegrityError
    expect(fault).toMatchObject({ field: 'parentHash', block: BigInt(FIRST), expected: `0x${'77'.repeat(32)}` })
  })
})

it('roots in a header that is not proven cover nothing', async () => {
  await write()
  // A chain whose headers hexline cannot hash: a liar can claim it of any other.
  await forgeManifest(dir, (manifest) => ({ ...manifest, chainId: 25 }))
  await forgeLines(dir, 'blocks', (lines) => lines.map((line, i) => (i === 0 ? { ...line, stateRoot: `0x${'77'.repeat(32)}` } : line)))
  const { checks, uncovered } = await verifyDataset(dir)
  expect(checks).toMatchObject({ header: COUNT - 1, receiptsRoot: COUNT })
  expect(uncovered).toEqual(expect.arrayContaining(['blocks.*', 'receipts.*', 'logs.*', 'withdrawals.*']))
})

it('the progress counts the bytes of the files whose blocks it names', async () => {
  await write()
  const seen: number[] = []
  const { bytes } = await verifyDataset(dir, { onProgress: (progress) => seen.push(progress.bytes) })
  expect(seen.at(-1)).toBe(bytes)
})

it.each(['ndjson', 'parquet'] as const)('%s: blocks of a test network that claim to be of another chain', async (format) => {
  await write({ format })
  await forgeManifest(dir, (manifest) => ({ ...manifest, chainId: 11155111 }))
  expect(await faultOf()).toMatchObject({ field: 'transactions[0].chainId', block: BigInt(FIRST), expected: '11155111', found: '1' })
  // A local node may continue another chain, and others began as a copy of one.
  for (const chainId of [31337, 10001]) {
    await forgeManifest(dir, (manifest) => ({ ...manifest, chainId }))
    expect(await faultOf()).toBeUndefined()
  }
})

describe('against a node', () => {
  it.each(['ndjson', 'parquet'] as const)('%s: compares the first, the last and others, the same for one seed', async (format) => {
    await write({ format })
    const before = server.calls.length
    const report = await verifyDataset(dir, { against: client, sample: 3, seed: 7 })
    expect(report).toMatchObject({ against: { blocks: 3, seed: 7 }, checks: { against: 3 } })
    const asked = () => server.calls.slice(before).flatMap(({ method, params }) => (method === 'eth_getBlockByNumber' ? [Number(params[0])] : []))
    expect(asked()).toHaveLength(3)
    expect([asked()[0], asked()[2]]).toEqual([FIRST, LAST])
    const first = asked()
    await verifyDataset(dir, { against: client, sample: 3, seed: 7 })
    expect(asked()).toEqual([...first, ...first])
  })

  it('names the block whose hash the node does not have', async () => {
    await write()
    const { block } = server.blocks.get(LAST) as MadeBlock
    answer = ({ method, params }) =>
      method === 'eth_getBlockByNumber' && Number(params[0]) === LAST ? { result: { ...block, hash: `0x${'99'.repeat(32)}`, transactions: [] } } : undefined
    const fault = (await faultOf({ against: client })) as IntegrityError
    expect(fault).toMatchObject({
      file: `blocks/0000000${LAST}-0000000${LAST}.ndjson`,
      block: BigInt(LAST),
      field: 'hash',
      found: block.hash,
      expected: `0x${'99'.repeat(32)}`,
    })
  })

  it('refuses a node of another chain, and says which block it does not have', async () => {
    await write()
    answer = ({ method }) => (method === 'eth_chainId' ? { result: '0x5' } : undefined)
    await expect(verifyDataset(dir, { against: client })).rejects.toThrow(
      'against: expected a node of chain id 1, as manifest.json says, received one of chain id 5',
    )
    answer = ({ method, params }) => (method === 'eth_getBlockByNumber' && Number(params[0]) === FIRST ? { result: null } : undefined)
    await expect(verifyDataset(dir, { against: client })).rejects.toThrow(`the node has no block ${FIRST}`)
  })

  it('takes the hash of a row, or of the manifest, where blocks are not stored', async () => {
    await write({ format: 'parquet', tables: ['withdrawals'], columns: ['withdrawals.index', 'withdrawals.amount'], blocksPerFile: 1000 })
    const report = await verifyDataset(dir, { against: client })
    expect(report.checks.against).toBe(2)
    expect(report.skipped.against).toEqual({ 'no column has the hash or number of the block': COUNT - 2 })
  })
})

describe('bad input', () => {
  it.each([
    [{ sender: true }, 'options: expected only senders, against, sample, seed, signal, onProgress, received "sender" (did you mean `senders`?)'],
    [{ senders: 1 }, 'senders: expected true or false, received 1'],
    [{ sample: 3 }, 'sample: expected against as well, received no against'],
    [{ against: 'http://127.0.0.1' }, 'against: expected a client, as createClient returns it, received a string'],
    [{ signal: 1 }, 'signal: expected an AbortSignal, received 1'],
    [{ onProgress: 1 }, 'onProgress: expected a function, received 1'],
  ])('%o', async (options, message) => {
    const error = await verifyDataset(dir, options as VerifyDatasetOptions).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(OptionError)
    expect((error as Error).message).toBe(message)
  })

  it('a path of nothing, or of a file', async () => {
    await expect(verifyDataset(dir)).rejects.toThrow(`dir: expected a folder, received "${dir}", which does not exist`)
    await writeFile(dir, '')
    await expect(verifyDataset(dir)).rejects.toThrow(`dir: expected a folder, received "${dir}", which is a file`)
    await expect(verifyDataset('a\0b')).rejects.toThrow('dir: expected the path of a folder, received "a')
    await expect(verifyDataset('')).rejects.toThrow('dir: expected the path of a folder, received ""')
  })

  it('a folder without a manifest', async () => {
    expect(await faultOf({}, folder)).toMatchObject({ file: 'manifest.json', field: 'file' })
  })

  it('a copy elsewhere is the same dataset', async () => {
    await write()
    const copy = join(folder, 'copy')
    await cp(dir, copy, { recursive: true })
    expect(await faultOf({}, copy)).toBeUndefined()
  })
})
