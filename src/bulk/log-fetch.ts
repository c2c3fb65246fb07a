import type { Client, Request } from '../client/client.ts'
import { AVOID, clockOf, connectionsOf, type RequestMarks, TALLY, UNREAD } from '../client/internals.ts'
import { scrubError } from '../client/scrub-error.ts'
import { CodecError, HexlineError, IntegrityError, MalformedReplyError, RpcError } from '../errors.ts'
import { moved } from '../eth/codec/codec-path.ts'
import type { Hash } from '../eth/codec/hex.ts'
import { rangeLimit, suggestedRange } from '../eth/errors/log-range.ts'
import type { Log } from '../eth/objects.ts'
import { BodyPool } from '../rpc/body-pool.ts'
import { releaseReply } from '../rpc/call.ts'
import { mayRepeat } from '../rpc/failure-kinds.ts'
import { Tally } from '../rpc/tally.ts'
import { bytesOf } from './fetch.ts'
import { logFault } from './log-fault.ts'
import type { CheckedFilter, FilterParams } from './log-filter.ts'
import type { EndpointLimits, LogRange } from './log-range.ts'
import { isSameLog } from './same-log.ts'

/** A log of a block: decoded, or in another form that holds one. */
export interface LogReader<T> {
  /** The logs of an `eth_getLogs` result. Throws `SyntaxError` and `CodecError`. */
  logs(bytes: Buffer): T[]
  logOf(item: T): Log
  /** Items of `logs` refer to the bytes that they were read from. */
  readonly keepsBytes: boolean
}

/** Blocks `from` to `to`, both included. */
export interface LogSpan {
  readonly from: number
  readonly to: number
}

/** The logs of the blocks `from` to `to`, in their order. */
export interface FetchedLogs<T> extends LogSpan {
  /** Last block that was requested. The rest has to be requested if that is not `to`. */
  readonly end: number
  readonly items: T[]
  readonly bytes: number
  /** The endpoints that gave them. */
  readonly endpoints: ReadonlySet<string>
}

/** How the logs of a span are asked for. */
interface AskOptions {
  readonly signal: AbortSignal
  readonly urgent: boolean
  /** Endpoints to ask only if there is no other. */
  readonly avoid: readonly string[]
  /** It has failed for a reason that is not its size, and is repeated until its deadline. */
  readonly isPatient?: boolean
}

/** Logs of one block that no reply could hold. */
export type FetchBlock<T> = (number: number, signal: AbortSignal) => Promise<T[]>

/** Attempts for a range before it is split because of failures that may come from its size. */
const ATTEMPTS_OF_RANGE = 2
/** Splits because of such failures, one within the other, until they are taken for an outage. */
const MOST_SPLITS_ON_FAILURE = 4
/** Attempts for a reply that is invalid JSON, or holds logs that were not asked for. */
const ATTEMPTS = 4
/** First wait for a second endpoint, in ms; twice as long each time. */
const WAIT_MS = 500
/** Parts of a split range to request at once; the rest is left to the caller. */
const MOST_PARTS = 4
/** Fewer results are not suspected of being cut. */
const LEAST_CUT = 500

/** Fetches logs, in ranges that the endpoint accepts. */
export class LogFetcher<T> {
  readonly #client: Client
  readonly #bulk: Client
  readonly #urgent: Client
  readonly #filter: CheckedFilter
  readonly #reader: LogReader<T>
  readonly #range: LogRange
  readonly #limits: EndpointLimits
  readonly #fetchBlock: FetchBlock<T>
  /** The only block, in place of a range. */
  readonly #blockHash: Hash | undefined
  readonly #bodies = new BodyPool()
  /** Calls of `eth_getLogs`, and ranges that were split. */
  calls = 0
  splits = 0

  constructor(
    client: Client,
    filter: CheckedFilter,
    reader: LogReader<T>,
    range: LogRange,
    limits: EndpointLimits,
    fetchBlock: FetchBlock<T>,
    blockHash?: Hash,
  ) {
    this.#client = client
    this.#bulk = client.with({ priority: 'bulk' })
    this.#urgent = client.with({ priority: 'interactive', attempts: Number.POSITIVE_INFINITY })
    this.#filter = filter
    this.#reader = reader
    this.#range = range
    this.#limits = limits
    this.#fetchBlock = fetchBlock
    this.#blockHash = blockHash
  }

  /**
   * All logs of the span that the filter selects, or of its first blocks if it holds far more than
   * expected.
   */
  async fetch(span: LogSpan, options: AskOptions): Promise<FetchedLogs<T>> {
    const endpoints = new Set<string>()
    const parts = await Promise.all(this.#filter.groups.map((group) => this.#askAll(group, span, options, endpoints, 0)))
    const to = Math.min(...parts.map((part) => part.to))
    const items = parts.length === 1 ? (parts[0] as Part<T>).items : this.#sorted(parts.flatMap((part) => this.#until(to, part)))
    return { from: span.from, to, end: span.to, items, bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0), endpoints }
  }

  /** The logs of a part up to this block. */
  #until(to: number, part: Part<T>): T[] {
    return part.to <= to ? part.items : part.items.filter((item) => Number(this.#reader.logOf(item).blockNumber) <= to)
  }

  /**
   * The same logs from another endpoint; undefined if none answers. One that is out for the moment
   * is waited for.
   */
  async again({ from, to, endpoints }: FetchedLogs<T>, signal: AbortSignal): Promise<FetchedLogs<T> | undefined> {
    if (this.#client.endpoints.length <= endpoints.size) return undefined
    for (let attempt = 1; ; attempt++) {
      const fetched = await this.#fetchWhole({ from, to }, { signal, urgent: false, avoid: [...endpoints] })
      if (![...fetched.endpoints].some((name) => endpoints.has(name))) return fetched
      if (attempt === ATTEMPTS) return undefined
      await this.#pause(WAIT_MS * 2 ** attempt, signal)
    }
  }

  async #fetchWhole({ from, to }: LogSpan, options: AskOptions): Promise<FetchedLogs<T>> {
    const all: FetchedLogs<T>[] = []
    for (let next = from; next <= to; next = (all.at(-1) as FetchedLogs<T>).to + 1) all.push(await this.fetch({ from: next, to }, options))
    return {
      from,
      to,
      end: to,
      items: all.flatMap(({ items }) => items),
      bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
      endpoints: new Set(all.flatMap(({ endpoints }) => [...endpoints])),
    }
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const clock = clockOf(this.#client)
    await new Promise<void>((resolve) => {
      const timer = clock.wakeAt(clock.now() + ms, done)
      function done(): void {
        clock.cancel(timer)
        signal.removeEventListener('abort', done)
        resolve()
      }
      signal.addEventListener('abort', done)
    })
    signal.throwIfAborted()
  }

  async #askAll(group: FilterParams, span: LogSpan, options: AskOptions, endpoints: Set<string>, failures: number): Promise<Part<T>> {
    const blocks = span.to - span.from + 1
    const tally = new Tally(clockOf(this.#client))
    const mayBeSplit = blocks > 1 && failures < MOST_SPLITS_ON_FAILURE && !options.urgent && options.isPatient !== true
    let part: Part<T>
    try {
      part = await this.#ask(group, span, options, tally, mayBeSplit)
    } catch (error) {
      const split = blocks > 1 ? this.#splitAfter(error, blocks, failures) : undefined
      if (split !== undefined) return this.#askParts(group, span, split.part, options, endpoints, split.failures)
      if (blocks === 1 && isTooMuch(error)) return this.#askBlock(span.from, options, error, 0)
      if (mayBeSplit && isPassing(error)) return this.#askAll(group, span, { ...options, isPatient: true }, endpoints, failures)
      throw error
    }
    if (tally.endpoint !== undefined) endpoints.add(tally.endpoint)
    const { length } = part.items
    const isCut = length >= this.#limits.maxResultsOf(tally.endpoint)
    if (isCut || (length >= LEAST_CUT && length % LEAST_CUT === 0)) {
      const whole =
        blocks > 1
          ? await this.#askParts(group, span, Math.ceil(blocks / 2), options, endpoints, failures)
          : await this.#askBlock(span.from, options, undefined, length)
      const given = this.#until(whole.to, part)
      const isMore = whole.items.length > given.length
      if (isMore && !isCut) this.#limits.leavesOutAfter(tally.endpoint, length)
      if (isMore) this.#range.refused(blocks, Math.ceil(blocks / 2))
      // What came once is not lost because it did not come again.
      return whole.items.length < given.length ? { ...whole, items: this.#sorted([...given, ...whole.items]) } : whole
    }
    this.#range.answered({ blocks, bytes: part.bytes, logs: length, tookMs: tally.tookMs })
    return part
  }

  /**
   * The first part alone, since it may have to be split again; then others at once, as large as it
   * has shown that they may be. Ends early where there are too many.
   */
  async #askParts(group: FilterParams, { from, to }: LogSpan, size: number, options: AskOptions, endpoints: Set<string>, failures: number): Promise<Part<T>> {
    this.splits++
    const first = { from, to: Math.min(to, from + size - 1) }
    const part = await this.#askAll(group, first, options, endpoints, failures)
    if (part.to < first.to) return part
    const parts = [part]
    const most = this.#range.blocks
    const others: LogSpan[] = []
    for (let start = first.to + 1; start <= to && others.length < MOST_PARTS; start += most) others.push({ from: start, to: Math.min(to, start + most - 1) })
    const asked = await Promise.all(others.map((span) => this.#askAll(group, span, options, endpoints, failures)))
    for (const [i, other] of asked.entries()) {
      parts.push(other)
      // What follows a part that ended early is requested again, later.
      if (other.to < (others[i] as LogSpan).to) break
    }
    return {
      to: (parts.at(-1) as Part<T>).to,
      items: parts.flatMap(({ items }) => items),
      bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
    }
  }

  /** The logs of a block that do not fit into one reply. */
  async #askBlock(number: number, { signal }: AskOptions, refusal: unknown, given: number): Promise<Part<T>> {
    try {
      const items = await this.#fetchBlock(number, signal)
      return { to: number, items: items.filter((item) => this.#filter.matches(this.#reader.logOf(item))), bytes: 0 }
    } catch (error) {
      if (!(error instanceof HexlineError)) throw error
      if (!(refusal instanceof HexlineError)) {
        const message = `block ${number}: the node gave ${given} logs, which may be all that fit into a reply, and its receipts could not be fetched: ${error.message}`
        throw Object.assign(error, { message })
      }
      const message = `block ${number} has more logs than the node sends in one reply, and its receipts could not be fetched (${error.message}): ${refusal.message}`
      throw Object.assign(refusal, { message })
    }
  }

  /** The size of the parts to ask for after a failure; undefined if a smaller range does not help. */
  #splitAfter(error: unknown, blocks: number, failures: number): { readonly part: number; readonly failures: number } | undefined {
    if (!(error instanceof HexlineError)) return undefined
    if (isTooMuch(error)) {
      const part = partAfter(error, blocks)
      const isOfBlocks = error instanceof RpcError && suggestedRange(error.said) === undefined && rangeLimit(error.said) !== undefined
      if (isOfBlocks) this.#limits.takes(error.endpoint, part)
      else this.#range.refused(blocks, part)
      return { part, failures }
    }
    if (!MAYBE_TOO_MUCH.includes(error.kind) || error.attempts === 0 || failures >= MOST_SPLITS_ON_FAILURE) return undefined
    const part = Math.ceil(blocks / 2)
    if (error.kind === 'timeout') this.#range.refused(blocks, part)
    return { part, failures: failures + 1 }
  }

  /** One `eth_getLogs`, sent again while its reply is not one to this request. */
  async #ask(group: FilterParams, { from, to }: LogSpan, { signal, urgent, avoid }: AskOptions, tally: Tally, mayBeSplit: boolean): Promise<Part<T>> {
    const where = this.#blockHash === undefined ? { fromBlock: hexOf(from), toBlock: hexOf(to) } : { blockHash: this.#blockHash }
    const params = [{ ...group, ...where }]
    const avoided = [...avoid]
    for (let attempt = 1; ; attempt++) {
      const settings = mayBeSplit ? { attempts: ATTEMPTS_OF_RANGE } : {}
      const request: Request & RequestMarks = {
        method: 'eth_getLogs',
        params,
        required: true,
        as: 'bytes',
        [UNREAD]: this.#bodies,
        [TALLY]: tally,
        [AVOID]: avoided,
        signal,
        ...settings,
      }
      this.calls++
      const reply = await (urgent ? this.#urgent : this.#bulk).send(request)
      try {
        const items = this.#checked(this.#reader.logs(bytesOf(reply)), from, to)
        if (!this.#reader.keepsBytes) releaseReply(reply)
        return { to, items, bytes: reply.bytes }
      } catch (error) {
        if (!(error instanceof SyntaxError || error instanceof IntegrityError || error instanceof CodecError)) throw error
        if (attempt === ATTEMPTS) throw this.#unusable(error, from, to, tally)
        if (tally.endpoint !== undefined) avoided.push(tally.endpoint)
      }
    }
  }

  #unusable(error: SyntaxError | IntegrityError | CodecError, from: number, to: number, tally: Tally): HexlineError {
    const { endpoint } = tally
    if (error instanceof SyntaxError) return new MalformedReplyError(`logs of blocks ${from} to ${to}: received invalid JSON ${ATTEMPTS} times`, { endpoint })
    const connections = connectionsOf(this.#client)
    if (error instanceof IntegrityError) return scrubError(Object.assign(error, { endpoint }), connections) as HexlineError
    const path = `logs${error.path.startsWith('[') ? '' : '.'}${error.path}`
    return scrubError(moved(error, path, { method: 'eth_getLogs', kind: 'malformed' }), connections, tally) as HexlineError
  }

  /** The logs in order, each once. Throws `IntegrityError` for one that was not asked for. */
  #checked(items: T[], from: number, to: number): T[] {
    let isSorted = true
    let lastBlock = -1
    let lastIndex = -1
    for (const item of items) {
      const log = this.#reader.logOf(item)
      const number = Number(log.blockNumber ?? -1)
      const index = log.logIndex ?? -1
      if (number < from || number > to || index < 0) {
        throw new IntegrityError(
          `requested logs of blocks ${from} to ${to}, but received one of ${log.blockNumber === null ? 'a pending block' : `block ${log.blockNumber}`}`,
        )
      }
      const why = logFault(log)
      if (why !== undefined) throw new IntegrityError(`block ${number}: log ${index} ${why}`)
      if (!this.#filter.matches(log)) throw new IntegrityError(`block ${number}: log ${index} does not match the filter`)
      if (number < lastBlock || (number === lastBlock && index <= lastIndex)) isSorted = false
      lastBlock = number
      lastIndex = index
    }
    const logs = isSorted ? items : this.#sorted(items)
    for (let i = 1; i < logs.length; i++) {
      const [before, log] = [this.#reader.logOf(logs[i - 1] as T), this.#reader.logOf(logs[i] as T)]
      if (log.blockHash !== before.blockHash && log.blockNumber === before.blockNumber)
        throw new IntegrityError(`block ${log.blockNumber}: its logs are those of two blocks, ${before.blockHash} and ${log.blockHash}`)
    }
    return logs
  }

  /** In their order, each once. Throws `IntegrityError` for different ones in one place. */
  #sorted(items: readonly T[]): T[] {
    const { logOf } = this.#reader
    const sorted = [...items].sort((a, b) => compare(logOf(a), logOf(b)))
    return sorted.filter((item, i) => {
      if (i === 0) return true
      const [before, log] = [logOf(sorted[i - 1] as T), logOf(item)]
      if (compare(before, log) !== 0) return true
      if (!isSameLog(before, log)) throw new IntegrityError(`block ${log.blockNumber}: log ${log.logIndex} came twice, and differs`)
      return false
    })
  }
}

interface Part<T> {
  /** Its last block, which may be one before the last one that was requested. */
  readonly to: number
  readonly items: T[]
  readonly bytes: number
}

function compare(a: Log, b: Log): number {
  return Number(a.blockNumber) - Number(b.blockNumber) || (a.logIndex as number) - (b.logIndex as number)
}

/** The node, or hexline, refused the size of the range or of its reply. */
function isTooMuch(error: unknown): boolean {
  return error instanceof HexlineError && (error.kind === 'range-too-large' || error.kind === 'response-too-large')
}

/** The same range may do better later, such as at a node that lags behind. */
function isPassing(error: unknown): boolean {
  return error instanceof HexlineError && mayRepeat(error) === true && error.attempts > 0
}

/** Failures that may come from the size of the range. */
const MAYBE_TOO_MUCH = ['timeout', 'server', 'malformed', 'overloaded']

/**
 * The size that the refusal names, if it is smaller than the refused one. A limit of exactly the
 * refused size does not count the last block; any other that fails again is halved.
 */
function partAfter(error: unknown, blocks: number): number {
  const named = error instanceof RpcError ? rangeLimit(error.said) : undefined
  if (named !== undefined && named < blocks) return named
  return named === blocks ? blocks - 1 : Math.ceil(blocks / 2)
}

function hexOf(number: number): string {
  return `0x${number.toString(16)}`
}
