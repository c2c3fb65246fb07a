import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createClient, IntegrityError } from 'hexline'
import { exportDataset } from 'hexline/bulk'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Manifest, readManifest } from '../../../src/dataset/folder/manifest.ts'
import { type DatasetTable, tableNames } from '../../../src/dataset/tables.ts'
import { CheckCounts } from '../../../src/dataset/verify/check-counts.ts'
import type { ChosenBlock } from '../../../src/dataset/verify/verify-range.ts'
import { type RangesJob, type Threads, verifyRanges } from '../../../src/dataset/verify/verify-ranges.ts'
import { forgeLines, type Line } from '../../support/forged-dataset.ts'
import { nightly } from '../../support/runs.ts'
import { FIRST, startValidChain } from '../../support/valid-chain.ts'

const COUNT = 11
const LAST = FIRST + COUNT - 1
/** Threads run built files. */
const built = fileURLToPath(new URL('../../../dist/src/dataset/verify/range-worker.js', import.meta.url))

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'hexline-ranges-'))
})
afterEach(() => rm(dir, { recursive: true }))

/** Six ranges. */
async function write(format: 'ndjson' | 'parquet'): Promise<void> {
  const server = await startValidChain(COUNT)
  await using client = createClient(server.url)
  await exportDataset(client, { from: FIRST, to: LAST, dir, format, tables: tableNames, blocksPerFile: 2 })
  await server.close()
}

interface Seen {
  readonly blocks: bigint[]
  readonly compared: bigint[]
  readonly ranges: number[]
  readonly counts: Pick<CheckCounts, 'checks' | 'skipped' | 'uncovered'>
  readonly fault: Partial<IntegrityError> | undefined
}

async function verify(threads: Threads, options: Partial<RangesJob> = {}): Promise<Seen> {
  const { ranges, ...header } = (await readManifest(dir)) as Manifest
  const counts = new CheckCounts()
  const [blocks, compared, done]: [bigint[], bigint[], number[]] = [[], [], []]
  const job: RangesJob = {
    ...{ dir, header, ranges, senders: false, signal: undefined, chosen: [FIRST, FIRST + 5, LAST] },
    compare: async ({ rows }) => void compared.push(rows.number),
    onBlock: (number) => blocks.push(number),
    onRange: ({ from }) => done.push(from),
    ...options,
  }
  const fault = await verifyRanges(job, counts, threads).then(
    () => undefined,
    (error: unknown) => {
      if (!(error instanceof IntegrityError)) throw error
      const { message, file, block, field, expected, found } = error
      return { message, file, block, field, expected, found } as Partial<IntegrityError>
    },
  )
  const { checks, skipped, uncovered } = counts
  return { blocks, compared: compared.sort(), ranges: done, counts: { checks, skipped, uncovered }, fault }
}

const alone: Threads = { count: 0, file: undefined }
const inThreads = [2, ...nightly(1, 3)].map((count): Threads => ({ count, file: built }))

/** A file for a thread that dies when it has told this much. */
async function dying(after: number): Promise<string> {
  const file = join(dir, '..', `${dir.split('/').at(-1)}.mjs`)
  const text = `import { parentPort } from 'node:worker_threads'
const tell = parentPort.postMessage.bind(parentPort)
let told = 0
parentPort.postMessage = (news) => (told++ < ${after} ? tell(news) : process.exit())
await import(${JSON.stringify(pathToFileURL(built).href)})
`
  await writeFile(file, text)
  return file
}

describe.each(['parquet', ...nightly('ndjson')] as ('ndjson' | 'parquet')[])('%s', (format) => {
  it('threads prove the same as the main thread alone, and report it in the same order', async () => {
    await write(format)
    const expected = await verify(alone)
    expect(expected).toMatchObject({ fault: undefined, compared: [FIRST, FIRST + 5, LAST].map(BigInt).sort() })
    expect(expected.blocks).toEqual(Array.from({ length: COUNT }, (_, i) => BigInt(FIRST + i)))
    expect(expected.ranges).toHaveLength(6)
    for (const threads of inThreads) expect(await verify(threads)).toEqual(expected)
  })
})

it('and they find the same falsehood, the first one of several', async () => {
  await write('ndjson')
  const change = (table: DatasetTable, range: number) => forgeLines(dir, table, (lines: Line[]) => lines.map((line) => ({ ...line, amount: '0x9' })), range)
  await change('withdrawals', 4)
  await change('withdrawals', 2)
  const expected = await verify(alone)
  expect(expected.fault).toMatchObject({ field: 'withdrawalsRoot', block: BigInt(FIRST + 4) })
  for (const threads of inThreads) {
    const { fault, blocks, ranges } = await verify(threads)
    expect({ fault, blocks, ranges }).toEqual({ fault: expected.fault, blocks: expected.blocks, ranges: expected.ranges })
  }
})

it('what the comparison finds counts in the order of the blocks', async () => {
  await write('ndjson')
  await forgeLines(dir, 'withdrawals', (lines) => lines.map((line) => ({ ...line, amount: '0x9' })), 3)
  const compare = async ({ rows: { number } }: ChosenBlock) => {
    if (number === BigInt(FIRST + 5)) throw new IntegrityError('differs', { field: 'hash' })
  }
  for (const threads of [alone, ...inThreads]) expect((await verify(threads, { compare })).fault).toMatchObject({ message: 'differs' })
  await forgeLines(dir, 'withdrawals', (lines) => lines.map((line) => ({ ...line, amount: '0x9' })), 1)
  for (const threads of [alone, ...inThreads])
    expect((await verify(threads, { compare })).fault).toMatchObject({ field: 'withdrawalsRoot', block: BigInt(FIRST + 2) })
})

it.each([1, ...nightly(0, 2, 3, 7)])('a thread that dies after %i messages neither holds up the verification nor hides anything', async (after) => {
  await write('ndjson')
  const file = await dying(after)
  try {
    const expected = await verify(alone)
    expect(await verify({ count: 2, file })).toEqual(expected)
    await forgeLines(dir, 'blocks', (lines) => lines.map((line) => ({ ...line, gasUsed: '0x9' })), 5)
    const found = await verify(alone)
    expect(found.fault).toBeDefined()
    expect((await verify({ count: 2, file })).fault).toEqual(found.fault)
  } finally {
    await rm(file)
  }
})

it('a thread that cannot start changes nothing', async () => {
  await write('ndjson')
  expect(await verify({ count: 2, file: join(dir, 'none.js') })).toEqual(await verify(alone))
})

it.each([alone, ...inThreads])('ends with its signal: %o', async (threads) => {
  await write('ndjson')
  const stop = new AbortController()
  const onBlock = (number: bigint) => {
    if (number === BigInt(FIRST + 1)) stop.abort(new Error('enough'))
  }
  await expect(verify(threads, { signal: stop.signal, onBlock })).rejects.toThrow('enough')
})
