import { type TraceForm, tracesCall } from '../bulk/blocks/block-traces.ts'
import { Fetcher } from '../bulk/blocks/fetch.ts'
import type { Client } from '../client/client.ts'
import { HexlineError, MalformedReplyError } from '../errors.ts'
import { isBloom } from '../eth/bloom.ts'
import type { Reply } from '../rpc/call.ts'
import { readUnread } from '../rpc/post/unread.ts'
import { takeBytes } from '../rpc/reply.ts'
import { Counts, countingClient } from './counting-client.ts'
import { type Estimator, estimator, sum, type Traits } from './estimate.ts'
import { chosenFrom, headersIn } from './spread.ts'

/** A block of the sample, in the node's own bytes. */
export interface SampledBlock {
  readonly number: number
  readonly block: Buffer
  /** Undefined if the job needs none. */
  readonly receipts: Buffer | undefined
  readonly traces: Buffer | undefined
  readonly header: Header
  /** Size of its replies, in bytes. */
  readonly bytes: number
  /** The logs in its receipts: their number, and their size as JSON, in bytes. */
  readonly logs: { readonly count: number; readonly bytes: number }
  /** Calls that it took, by method. */
  readonly calls: Readonly<Record<string, number>>
}

/** What a plan reads of a header. */
export interface Header {
  readonly number: number
  readonly transactions: number
  readonly gasUsed: number
  readonly logsBloom: string | undefined
}

/** Blocks of the sample that the node does not have: a job would end there. */
export interface Missing {
  /** How many of the sampled ones. */
  readonly blocks: number
  /** The first and the last one. */
  readonly from: bigint
  readonly to: bigint
  /** What the node said about the last one. */
  readonly why: string
}

/** What the node has of the blocks that a plan asks for. */
export interface Sample {
  /** At least one. */
  readonly blocks: readonly SampledBlock[]
  /** Those of the blocks among them. */
  readonly headers: readonly Header[]
  readonly missing: Missing | null
  /** Of the whole blocks, and of the headers. */
  readonly counts: Counts
  readonly headerCounts: Counts
}

/**
 * Attempts for each call. What the last one does not give counts as missing; throttling does not
 * count as an attempt.
 */
export const ATTEMPTS = 4

/** Blocks that a job requests ahead of its reader, until it has shown that it is quicker. */
export const BLOCKS_AHEAD = 256

/** What to sample: blocks of a range, as a job fetches them. */
export interface SampleOptions {
  readonly full: boolean
  readonly receipts: boolean
  readonly traces?: TraceForm | undefined
  readonly signal: AbortSignal | undefined
}

/**
 * Fetches headers of the range, and some of its blocks as the job would. Rejects if the node has
 * none of them.
 */
export async function takeSample(client: Client, from: number, blocks: number, size: number, options: SampleOptions): Promise<Sample> {
  const [counts, headerCounts] = [new Counts(), new Counts()]
  const asking = client.with({ attempts: ATTEMPTS })
  const fetcher = new Fetcher(countingClient(asking, counts), options)
  const { headers, whole } = await until(options.signal, async (stop) => {
    const asked = countingClient(asking, headerCounts)
    const found = await settled(headersIn(from, blocks, size), Number, (number) => headerOf(asked, number, stop))
    const chosen = chosenFrom(found.found, size).map(({ number }) => number)
    return { headers: found, whole: await settled(chosen, Number, (number) => sampledBlock(fetcher, number, options.traces, stop)) }
  })
  const gaps = [...headers.gaps, ...whole.gaps].sort((a, b) => a.number - b.number)
  if (whole.found.length === 0) throw gaps.at(-1)?.error
  return { blocks: whole.found, headers: headers.found, missing: missingOf(gaps), counts, headerCounts }
}

/** Runs a task, and aborts its requests when it fails, or when `signal` is aborted. */
export async function until<T>(signal: AbortSignal | undefined, task: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  const onAbort = () => stop.abort(signal?.reason)
  signal?.throwIfAborted()
  signal?.addEventListener('abort', onAbort)
  try {
    return await task(stop.signal)
  } finally {
    signal?.removeEventListener('abort', onAbort)
    stop.abort()
  }
}

/** The estimator for a job over this many blocks. */
export function estimatorFor(blocks: number, sample: Pick<Sample, 'blocks' | 'headers'>): Estimator {
  const traits = ({ transactions, gasUsed }: Header): Traits => [transactions, gasUsed]
  return estimator(
    blocks,
    sample.blocks.map(({ header }) => traits(header)),
    sample.headers.map(traits),
  )
}

/** A block that the node does not give. */
export interface Gap {
  readonly number: number
  readonly error: HexlineError
}

/** Why a node does not give a block that is not beyond its head. */
const ABSENT = ['pruned', 'not-found', 'lagging']

/** What was found, and the gaps, each at the number of its item. Rejects with any other failure. */
export async function settled<I, T>(items: readonly I[], numberOf: (item: I) => number, ask: (item: I) => Promise<T>): Promise<{ found: T[]; gaps: Gap[] }> {
  const gaps: Gap[] = []
  const found = await Promise.all(
    items.map((item) =>
      ask(item).then(
        (value) => [value],
        (error) => {
          if (!(error instanceof HexlineError) || !ABSENT.includes(error.kind)) throw error
          gaps.push({ number: numberOf(item), error })
          return []
        },
      ),
    ),
  )
  return { found: found.flat(), gaps: gaps.sort((a, b) => a.number - b.number) }
}

/** Null if there are no gaps, which are in order. */
export function missingOf(gaps: readonly Gap[]): Missing | null {
  const [first, last] = [gaps[0], gaps.at(-1)]
  if (first === undefined || last === undefined) return null
  return { blocks: gaps.length, from: BigInt(first.number), to: BigInt(last.number), why: last.error.message }
}

async function headerOf(client: Client, number: number, signal: AbortSignal): Promise<Header> {
  const reply = await client.send({
    method: 'eth_getBlockByNumber',
    params: [`0x${number.toString(16)}`, false],
    required: true,
    priority: 'bulk',
    attempts: ATTEMPTS,
    signal,
  })
  return readHeader(number, reply.take())
}

async function sampledBlock(fetcher: Fetcher, number: number, form: TraceForm | undefined, signal: AbortSignal): Promise<SampledBlock> {
  for (let attempt = 1; ; attempt++) {
    const fetched = await fetcher.fetch(BigInt(number), signal)
    try {
      const block = checkedCopy(fetched.block)
      const receipts = fetched.receipts && checkedCopy(fetched.receipts)
      const traces = fetched.traces && checkedCopy(fetched.traces)
      const header = readHeader(number, block.value)
      const isSingle = receipts !== undefined && fetched.origins.receipts === undefined
      const calls = {
        eth_getBlockByNumber: 1,
        ...(receipts && (isSingle ? { eth_getTransactionReceipt: header.transactions } : { eth_getBlockReceipts: 1 })),
        // Nodes do not trace the first block.
        ...(form !== undefined && number > 0 && { [tracesCall(form, '').method]: 1 }),
      }
      const logs = logsOf(receipts?.value)
      return { number, block: block.bytes, receipts: receipts?.bytes, traces: traces?.bytes, header, bytes: fetched.bytes, logs, calls }
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      // Without the cause: its message quotes the text.
      if (attempt === ATTEMPTS) throw new MalformedReplyError(`block ${number}: received invalid JSON ${ATTEMPTS} times`, { method: 'eth_getBlockByNumber' })
    }
  }
}

/** The result in its own memory. Throws `SyntaxError` unless it is JSON. */
function checkedCopy(reply: Reply): { readonly bytes: Buffer; readonly value: unknown } {
  return readUnread(takeBytes(reply), (whole) => ({ value: JSON.parse(whole.toString('utf8')), bytes: Buffer.from(whole) }))
}

/** Whatever else is wrong with the block, the job itself reports. */
function readHeader(number: number, block: unknown): Header {
  const { transactions, gasUsed, logsBloom } = (block ?? {}) as Record<string, unknown>
  return {
    number,
    transactions: Array.isArray(transactions) ? transactions.length : 0,
    gasUsed: Number(gasUsed) || 0,
    logsBloom: isBloom(logsBloom) ? logsBloom : undefined,
  }
}

function logsOf(receipts: unknown): SampledBlock['logs'] {
  const lists = Array.isArray(receipts) ? receipts.map((receipt) => receipt?.logs).filter(Array.isArray) : []
  return { count: sum(lists.map(({ length }) => length)), bytes: sum(lists.map((logs) => Buffer.byteLength(JSON.stringify(logs)))) }
}
