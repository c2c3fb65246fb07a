import type { Client } from '../../client/client.ts'
import { connectionsOf } from '../../client/internals.ts'
import { HexlineError } from '../../errors.ts'
import type { Hash } from '../../eth/codec/hex.ts'
import { sortLogs } from './check-logs.ts'
import { ASK_AGAIN, FailedRanges, type Part, type RangeOptions } from './failed-ranges.ts'
import type { CheckedFilter } from './log-filter.ts'
import {
  type DecodedReply,
  isUnusable,
  LogAsker,
  type LogAskOptions,
  type LogPiece,
  type LogQuestion,
  type LogReader,
  type LogReply,
  replyWith,
} from './log-reply.ts'
import { blocksIn, type LogSpan } from './log-span.ts'
import { isTooMuch, isUnsent, type Split, splitAfter } from './log-split.ts'
import { isRound, type RangeLimits } from './range-limits.ts'
import { goodRange, type RangeSize } from './range-size.ts'
import { SecondEndpoint } from './second-endpoint.ts'

/** The logs of the blocks `from` to `to`, most of them still in the bytes that they came in. */
export interface FetchedLogs<T> extends LogSpan {
  /** If the blocks were too many: these, and the others, which have to be requested again. */
  readonly cut: readonly [LogSpan, PartedSpan] | undefined
  /** For each group of addresses, what came. */
  readonly parts: readonly Part<T>[]
  /** Size of the replies, in bytes. */
  readonly received: number
  /** Memory that they take until they are read, in bytes. */
  readonly bytes: number
  /** The endpoints that gave them. */
  readonly endpoints: Set<string>
}

/** Blocks to request in parts. */
export interface PartedSpan extends LogSpan {
  /** Most blocks in a part. Default: what is good for any range. */
  readonly most?: number
}

/** The logs of the blocks `from` to `to`, in their order. */
export interface ReadLogs<T> extends LogSpan {
  readonly items: T[]
  /** Size of the replies, in bytes. */
  readonly received: number
  /** The endpoints that gave them. */
  readonly endpoints: ReadonlySet<string>
}

/**
 * How the logs of a span are asked for. Without `attempts`, a range that may be split and is not
 * urgent has two, and any other has the client's.
 */
type FetchOptions = Pick<LogAskOptions, 'signal' | 'urgent' | 'avoid' | 'only' | 'attempts'>

/**
 * Logs of one block that no reply could hold. If the node has given none (`isRefused`), it rejects
 * where they are known to be incomplete.
 */
export type FetchBlock<T> = (number: number, signal: AbortSignal, isRefused: boolean) => Promise<T[]>

/** Attempts for a range before it counts as failed (failed-ranges.ts). */
const ATTEMPTS_OF_RANGE = 2
/** Attempts to have the same logs from a second endpoint. */
const ATTEMPTS = 4

/**
 * Fetches logs, in ranges that the endpoints accept. What becomes of one `eth_getLogs`:
 *
 *     answered                    its bytes are kept until its logs are wanted (log-reply.ts)
 *     answered, but perhaps cut   both halves are asked for, and joined with what came
 *     refused as too large        its first part is asked for; the caller asks for the rest
 *     failed twice, perhaps as    a part of it is asked for: if that is answered where the whole
 *     too large                   is not even then, its size is the reason (failed-ranges.ts)
 *     failed otherwise            it is asked for again, until its deadline
 *     one block, and too large    its logs are taken from its receipts
 *
 * `RangeSize` and `RangeLimits` learn from each of these, so that the next ranges fit.
 */
export class LogFetcher<T> {
  readonly #client: Client
  readonly #filter: CheckedFilter
  readonly #reader: LogReader<T>
  readonly #size: RangeSize
  readonly #limits: RangeLimits
  readonly #fetchBlock: FetchBlock<T>
  readonly #asker: LogAsker<T>
  readonly #second: SecondEndpoint
  readonly #failed: FailedRanges<T>
  #splits = 0

  constructor(client: Client, filter: CheckedFilter, reader: LogReader<T>, size: RangeSize, limits: RangeLimits, fetchBlock: FetchBlock<T>, blockHash?: Hash) {
    this.#client = client
    this.#filter = filter
    this.#reader = reader
    this.#size = size
    this.#limits = limits
    this.#fetchBlock = fetchBlock
    this.#asker = new LogAsker(client, filter, reader, (endpoint, logs) => limits.mayBeCut(endpoint, logs), blockHash)
    this.#second = new SecondEndpoint(client)
    this.#failed = new FailedRanges(size, (question, options) => this.#askRange(question, options))
  }

  /** Ranges that were split. */
  get splits(): number {
    return this.#splits + this.#failed.splits
  }

  /** Calls of `eth_getLogs`. */
  get calls(): number {
    return this.#asker.calls
  }

  /**
   * All logs of the span that the filter selects, or of its first blocks if the whole was refused.
   */
  async fetch(span: LogSpan, options: FetchOptions): Promise<FetchedLogs<T>> {
    const endpoints = new Set<string>()
    this.#size.requested(blocksIn(span))
    const parts = await Promise.all(this.#filter.groups.map((group) => this.#askRange({ group, span }, { ...options, endpoints })))
    const replies = parts.flatMap((part) => part.replies)
    const to = Math.min(...parts.map((part) => part.to))
    const answered = { from: span.from, to }
    const rest = { from: to + 1, to: span.to, most: Math.min(...parts.map((part) => part.most ?? goodSize(span.from, part))) }
    return {
      ...answered,
      cut: to < span.to ? [answered, rest] : undefined,
      parts,
      received: sumOf(replies, 'received'),
      bytes: sumOf(replies, 'bytes'),
      endpoints,
    }
  }

  /**
   * Decodes the logs, in pages that tile the blocks. What turns out to be unusable is asked for
   * again.
   */
  async *pages(fetched: FetchedLogs<T>, signal: AbortSignal): AsyncGenerator<ReadLogs<T>, void, undefined> {
    const { parts, endpoints } = fetched
    if (parts.length > 1) return yield await this.read(fetched, signal)
    const options = { signal, urgent: true, avoid: [], endpoints }
    for (const reply of (parts[0] as Part<T>).replies) {
      let { received } = reply
      for await (const { from, to, items } of this.#pieces(reply, options)) {
        yield { from, to, items, received, endpoints }
        received = 0
      }
    }
  }

  /** Decodes the logs, all at once. */
  async read({ from, to, parts, received, endpoints }: FetchedLogs<T>, signal: AbortSignal): Promise<ReadLogs<T>> {
    const options = { signal, urgent: true, avoid: [], endpoints }
    const lists: T[][] = []
    for (const part of parts) {
      const items = await this.#readAll(part, options)
      lists.push(part.to === to ? items : this.#upTo(to, items))
    }
    return { from, to, items: lists.length === 1 ? (lists[0] as T[]) : sortLogs(lists.flat(), this.#reader.logOf), received, endpoints }
  }

  /**
   * The same logs from another endpoint: of all blocks, or of those that another one has. Undefined
   * if no other has any.
   */
  async again(page: ReadLogs<T>, signal: AbortSignal): Promise<ReadLogs<T> | undefined> {
    for (const { name } of connectionsOf(this.#client) ?? []) {
      if (page.endpoints.has(name)) continue
      const found = await this.#second.ask(name, page, signal, (span) =>
        this.#fetchWhole(span, { signal, urgent: false, avoid: [], only: name, attempts: ATTEMPTS }),
      )
      if (found !== undefined) return found
    }
    return undefined
  }

  async #fetchWhole({ from, to }: LogSpan, options: FetchOptions): Promise<ReadLogs<T>> {
    const all: ReadLogs<T>[] = []
    for (let next = from; next <= to; next = (all.at(-1) as ReadLogs<T>).to + 1)
      all.push(await this.read(await this.fetch({ from: next, to }, options), options.signal))
    return {
      from,
      to,
      items: all.flatMap(({ items }) => items),
      received: sumOf(all, 'received'),
      endpoints: new Set(all.flatMap(({ endpoints }) => [...endpoints])),
    }
  }

  async #readAll({ replies }: Part<T>, options: RangeOptions): Promise<T[]> {
    const lists: T[][] = []
    for (const reply of replies) for await (const { items } of this.#pieces(reply, options)) lists.push(items)
    return lists.length === 1 ? (lists[0] as T[]) : lists.flat()
  }

  /** The logs of one reply. From where it turns out to be unusable, they are asked for again. */
  async *#pieces(reply: LogReply<T>, options: RangeOptions): AsyncGenerator<LogPiece<T>, void, undefined> {
    const { group, span, record } = reply
    let { from } = span
    try {
      for (const piece of this.#asker.pieces(reply)) {
        yield piece
        from = piece.to + 1
      }
      return
    } catch (error) {
      if (!isUnusable(error)) throw error
    }
    const rest = { group, span: { from, to: span.to } }
    const avoid = record.endpoint === undefined ? [] : [record.endpoint]
    yield { ...rest.span, items: await this.#readWhole(rest, { ...options, avoid, isRead: true }) }
  }

  async #readWhole({ group, span }: LogQuestion, options: RangeOptions): Promise<T[]> {
    const lists: T[][] = []
    for (let { from } = span; from <= span.to; ) {
      const part = await this.#askRange({ group, span: { from, to: span.to } }, options)
      lists.push(await this.#readAll(part, options))
      from = part.to + 1
    }
    return lists.flat()
  }

  /** The logs of a part up to this block. */
  #upTo(to: number, items: T[]): T[] {
    return items.filter((item) => Number(this.#reader.logOf(item).blockNumber) <= to)
  }

  /** The logs of a range, or of its first blocks if the whole was refused. */
  async #askRange(question: LogQuestion, options: RangeOptions): Promise<Part<T>> {
    const blocks = blocksIn(question.span)
    const { attempts, urgent, isPatient = false } = options
    // Its size may be why it fails: then a smaller range is what helps.
    const maySplit = attempts === undefined && blocks > 1 && !isPatient
    const isTrial = blocks > this.#limits.maxBlocks
    const asked = { ...options, ...(maySplit && !urgent && { attempts: ATTEMPTS_OF_RANGE }), ...(isTrial && { isRead: true }) }
    let reply: LogReply<T>
    try {
      reply = await (maySplit
        ? this.#failed.whileSizeMayFit(blocks, options, (signal) => this.#asker.ask(question, { ...asked, signal }))
        : this.#asker.ask(question, asked))
    } catch (error) {
      return this.#askInstead(error, question, options)
    }
    const whole = this.#ifWhole(reply)
    if (whole !== undefined) return this.#accept(whole, options)
    const { endpoint } = reply.record
    const taken = this.#limits.maxBlocksOf(endpoint)
    if (isTrial) this.#limits.takes(endpoint, taken)
    return this.#askFirstPart(question, taken, options)
  }

  /** Asks for a range that has failed: for a part of it, for its receipts, or once more. */
  async #askInstead(error: unknown, question: LogQuestion, options: RangeOptions): Promise<Part<T>> {
    const { span } = question
    const { attempts, isPatient, isAlone } = options
    const blocks = blocksIn(span)
    if (error === ASK_AGAIN) return this.#askFirstPart(question, this.#size.blocks, { ...options, isAhead: true })
    const split = splitAfter(error, blocks)
    if (split !== undefined) {
      this.#learnFrom(split, span, (error as HexlineError).endpoint)
      return this.#askFirstPart(question, split.part, options)
    }
    // What was refused may be another range of the same POST.
    if (blocks === 1 && isTooMuch(error)) return isAlone ? this.#askBlock(question, options, error, 0) : this.#askRange(question, { ...options, isAlone: true })
    // A caller that gives a number of attempts wants the range as it is: to compare it with what
    // another endpoint gave, or to find out whether its size is why it failed.
    if ((blocks === 1 && !isUnsent(error)) || attempts !== undefined || isPatient) throw error
    return this.#failed.ask(question, options, error)
  }

  /** Learns from a reply to a whole range, and gives it, unless its logs may have been cut. */
  async #accept(reply: LogReply<T>, options: RangeOptions): Promise<Part<T>> {
    const { span, count, received, record } = reply
    const blocks = blocksIn(span)
    this.#failed.answered()
    if (record.endpoint !== undefined) options.endpoints.add(record.endpoint)
    this.#limits.answered(record.endpoint, blocks)
    if (this.#limits.isTrialDue) this.#size.tryMore()
    if (reply.type === 'decoded' && this.#limits.mayBeCut(record.endpoint, count)) return this.#askAgainInHalves(reply, options)
    // A part far ahead must not make the ranges before it count as earlier ones.
    this.#size.answered({ blocks, bytes: received, logs: count, tookMs: record.tookMs, to: options.isAhead ? -1 : span.to })
    return { to: span.to, replies: [reply] }
  }

  #learnFrom({ part, tooLarge }: Split, span: LogSpan, endpoint: string | undefined): void {
    if (tooLarge === 'blocks') this.#limits.takes(endpoint, part)
    else this.#size.refused(blocksIn(span), part, span.to)
  }

  /**
   * The reply, unless it is to more blocks than its endpoint takes, as it has said before or while
   * the range was under way, and has no log from beyond these: the endpoint may have answered for
   * the blocks alone that it takes, or for none at all.
   */
  #ifWhole(reply: LogReply<T>): LogReply<T> | undefined {
    const { span, record } = reply
    const taken = this.#limits.maxBlocksOf(record.endpoint)
    if (span.to - span.from < taken) return reply
    const read = this.#asker.readIfUsable(reply)
    return read?.items.some((item) => Number(this.#reader.logOf(item).blockNumber) >= span.from + taken) ? read : undefined
  }

  /** The logs of a span whose reply may have been cut at a maximum number of logs. */
  async #askAgainInHalves(reply: DecodedReply<T>, options: RangeOptions): Promise<Part<T>> {
    const { span, items, record } = reply
    const blocks = blocksIn(span)
    const isCut = items.length >= this.#limits.maxResultsOf(record.endpoint)
    const again = blocks > 1 ? await this.#askHalves(reply, items, { ...options, isRead: true }) : await this.#askBlock(reply, options, undefined, items.length)
    const given = again.to === span.to ? items : this.#upTo(again.to, items)
    const found = sumOf(again.replies, 'count')
    const isMore = found > given.length
    if (isMore && !isCut) this.#limits.leavesOutAfter(record.endpoint, items.length)
    if (isMore) this.#size.refused(blocks, Math.ceil(blocks / 2), span.to)
    else if (found === items.length && again.to === span.to) {
      this.#limits.leftOutNone(record.endpoint, found)
      this.#size.wasComplete({ blocks, bytes: reply.received, logs: found, tookMs: record.tookMs, to: span.to })
    }
    if (found >= given.length) return again
    // What came once is not lost because it did not come again.
    const all = sortLogs([...given, ...(await this.#readAll(again, options))], this.#reader.logOf)
    const asked = { group: reply.group, span: { from: span.from, to: again.to } }
    return { to: again.to, replies: [replyWith(asked, all, sumOf(again.replies, 'received'))] }
  }

  /**
   * The first part of a range alone, since it may have to be split again. It shows how large the
   * others may be, which are left to the caller.
   */
  #askFirstPart({ group, span: { from, to } }: LogQuestion, size: number, options: RangeOptions): Promise<Part<T>> {
    const end = Math.min(to, from + Math.min(size, this.#size.blocks) - 1)
    if (end < to) this.#splits++
    return this.#askRange({ group, span: { from, to: end } }, options)
  }

  /** Both halves of a range, or the first blocks if the first half was refused. */
  async #askHalves({ group, span }: LogQuestion, items: readonly T[], options: RangeOptions): Promise<Part<T>> {
    this.#splits++
    const { from, to } = span
    const middle = this.#middleOf(span, items)
    const halves = [
      { from, to: middle },
      { from: middle + 1, to },
    ]
    const [first, second] = (await Promise.all(halves.map((half) => this.#askRange({ group, span: half }, options)))) as [Part<T>, Part<T>]
    return first.to < middle ? first : { to: second.to, replies: [...first.replies, ...second.replies] }
  }

  /**
   * The last block of the first half. If the first half of these logs is a round number of them, it
   * is the next block with logs: else the halves would have to be requested again in parts, too.
   */
  #middleOf({ from, to }: LogSpan, items: readonly T[]): number {
    const middle = Math.floor((from + to) / 2)
    const numberOf = (item: T) => Number(this.#reader.logOf(item).blockNumber)
    const later = items.findIndex((item) => numberOf(item) > middle)
    if (!isRound(later)) return middle
    const next = numberOf(items[later] as T)
    return next < to ? next : middle
  }

  /** The logs of a block that do not fit into one reply. */
  async #askBlock(question: LogQuestion, { signal }: RangeOptions, refusal: unknown, given: number): Promise<Part<T>> {
    const number = question.span.from
    try {
      const items = await this.#fetchBlock(number, signal, refusal !== undefined)
      const chosen = items.filter((item) => this.#filter.matches(this.#reader.logOf(item)))
      return { to: number, replies: [replyWith(question, chosen, 0)] }
    } catch (error) {
      if (!(error instanceof HexlineError)) throw error
      if (!(refusal instanceof HexlineError)) {
        const message = `block ${number}: the node gave ${given} logs, which may be all that fit into a reply, and its receipts cannot be used: ${error.message}`
        throw Object.assign(error, { message })
      }
      const message = `block ${number} has more logs than the node sends in one reply, and its receipts cannot be used (${error.message}): ${refusal.message}`
      throw Object.assign(refusal, { message })
    }
  }
}

/**
 * How many blocks should be requested at a time after this part: as many as have a good number of
 * logs where they are as dense as here. What is learnt elsewhere meanwhile says nothing about them.
 */
function goodSize(from: number, { to, replies }: Part<unknown>): number {
  const blocks = to - from + 1
  return Math.floor(goodRange(sumOf(replies, 'count') / blocks, sumOf(replies, 'received') / blocks))
}

function sumOf<K extends string>(all: readonly { readonly [Name in K]: number }[], name: K): number {
  let sum = 0
  for (const each of all) sum += each[name]
  return sum
}
