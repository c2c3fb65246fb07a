import type { Client } from '../client/client.ts'
import { connectionsOf } from '../client/internals.ts'
import { HexlineError, IntegrityError } from '../errors.ts'
import { isBloom, isEmptyBloom } from '../eth/bloom.ts'
import type { Block, Log } from '../eth/objects.ts'
import { unusableBlooms } from '../eth/unusable-blooms.ts'
import { ReceiptsRoot } from '../verify/receipts-root.ts'
import {
  type BlockLogs,
  type BlockLogsFetcher,
  BloomChecker,
  checkSameBlock,
  type Header,
  headerReader,
  lacksLogs,
  logsFault,
  type ReadReceipts,
} from './block-logs.ts'
import type { LinkedRootedReceipt } from './link.ts'
import type { ReadLogs } from './log-fetch.ts'
import type { CheckedFilter } from './log-filter.ts'
import type { LogSpan } from './log-reply.ts'
import { chainIdOf } from './range.ts'
import { rangeStream } from './range-stream.ts'
import { isSameLog } from './same-log.ts'
import { Tasks } from './tasks.ts'

/** How the completeness of logs is checked. */
export type AuditLevel = 'none' | 'bloom' | 'receipts' | 'peer'

/** What an audit has proven so far. */
export interface AuditReport {
  readonly level: AuditLevel
  /** Blocks audited. */
  readonly blocks: number
  /** Blocks whose logs might be missing: a bloom that may match without a log, or a difference. */
  readonly suspects: number
  /** Blocks whose receipts were fetched. */
  readonly fetched: number
  /** Logs that the node had left out or changed, taken from receipts. */
  readonly recovered: number
  /** Blocks whose logs could not be proven complete. */
  readonly unproven: number
  /** Why, with the number of blocks of each reason. */
  readonly reasons: Readonly<Record<string, number>>
  /** What the audit costs, estimated from a sample of headers before it starts. */
  readonly estimate: AuditEstimate
}

/** What an audit will fetch, estimated from a sample of headers. */
export interface AuditEstimate {
  /** Headers to fetch, one for each block. */
  readonly headers: number
  /** Blocks whose receipts may be fetched, estimated: those with a bloom that may match. */
  readonly receipts: number
  /** `eth_getLogs` calls that are made again, at another endpoint. */
  readonly isAskedTwice: boolean
}

/** Counts of a report, while it grows. */
class Counts {
  blocks = 0
  suspects = 0
  fetched = 0
  recovered = 0
  unproven = 0
  readonly reasons: Record<string, number> = {}

  leave(reason: string, blocks = 1): void {
    this.unproven += blocks
    this.reasons[reason] = (this.reasons[reason] ?? 0) + blocks
  }
}

export interface AuditorOptions<T> {
  readonly client: Client
  readonly level: AuditLevel
  readonly span: LogSpan
  readonly filter: CheckedFilter
  readonly logOf: (item: T) => Log
  readonly readReceipts: ReadReceipts<T>
  readonly blocks: BlockLogsFetcher<T>
  /** The only block of the span, if it was asked for by its hash. */
  readonly blockHash: string | undefined
  readonly stop: AbortSignal
  /** The same logs from another endpoint, as far as one has them. */
  readonly again: (fetched: ReadLogs<T>, signal: AbortSignal) => Promise<ReadLogs<T> | undefined>
}

/** Number of headers in the sample of the estimate. */
export const ESTIMATE_HEADERS = 16
/** Headers to request ahead of the logs. */
const HEADERS_AHEAD = { maxBytes: 8 * 1024 * 1024, maxItems: 1000, assumedBytes: 8 * 1024, maxWaitMs: 15_000 }
/**
 * Blocks whose receipts are requested at the same time, because of their blooms or of a difference.
 */
const SUSPECTS_AHEAD = 128
const RECEIPTS_AHEAD = { maxBytes: 16 * 1024 * 1024, maxItems: 1000, assumedBytes: 512 * 1024, maxWaitMs: 15_000 }

/** Proves that logs are complete, page by page, and adds those that are missing. */
export class Auditor<T> {
  readonly #options: AuditorOptions<T>
  readonly #counts = new Counts()
  readonly #blooms = new BloomChecker()
  readonly #roots = new ReceiptsRoot()
  #chainId: number | undefined
  #estimate: AuditEstimate = { headers: 0, receipts: 0, isAskedTwice: false }
  /** The blocks of the range, in order. */
  #stream: AsyncGenerator<Proof<T>, void, undefined> | undefined
  /** Why the chain's blooms prove nothing. */
  #unusable: ((number: number) => string | undefined) | undefined

  constructor(options: AuditorOptions<T>) {
    this.#options = options
  }

  get report(): AuditReport {
    const { reasons, ...counts } = this.#counts
    return { level: this.#options.level, ...counts, reasons: { ...reasons }, estimate: this.#estimate }
  }

  /** Estimates the cost, and learns what is known of the chain's blooms. */
  async start(): Promise<void> {
    const { client, level, span, filter, stop } = this.#options
    if (level === 'none') return
    const asked = client.with({ signal: stop })
    const blocks = span.to - span.from + 1
    this.isOn(await chainIdOf(asked))
    if (level === 'peer') {
      this.#estimate = { headers: 0, receipts: 0, isAskedTwice: true }
      return
    }
    if (level === 'receipts') {
      this.#estimate = { headers: blocks, receipts: blocks, isAskedTwice: false }
      return
    }
    const size = Math.min(ESTIMATE_HEADERS, blocks)
    const numbers = Array.from({ length: size }, (_, i) => span.from + Math.floor((i * blocks) / size))
    const headers = await Promise.all(numbers.map((number) => asked.call('eth_getBlockByNumber', number, false)))
    const suspect = headers.filter((header) => header !== null && isBloom(header.logsBloom) && filter.bloom.mayMatch(header.logsBloom)).length
    this.#estimate = { headers: blocks, receipts: Math.round((suspect / size) * blocks), isAskedTwice: false }
    if (this.#unusable === undefined) await this.#tryEmptyBloom(headers)
  }

  /** Tells it the chain, in place of `start`, for `checkBlock` alone. */
  isOn(chainId: number | undefined): void {
    this.#chainId = chainId
    this.#unusable = chainId === undefined ? undefined : unusableBlooms(chainId)
  }

  /** Learns whether a bloom of the sample is empty, though its block has logs: then all may be. */
  async #tryEmptyBloom(headers: readonly (Block | null)[]): Promise<void> {
    const { blocks, logOf, stop } = this.#options
    const empty = headers.filter((header) => header !== null).filter(({ logsBloom }) => isBloom(logsBloom) && isEmptyBloom(logsBloom))
    const [fullest] = empty.sort((a, b) => b.transactions.length - a.transactions.length)
    if (fullest === undefined || fullest.transactions.length === 0) return
    try {
      const { items, header } = await blocks.fetch(Number(fullest.number), stop)
      if (items.length > 0 && logsFault(header, items.map(logOf)) === undefined) this.#unusable = () => 'the chain leaves blooms empty'
    } catch (error) {
      // The audit itself meets what is wrong.
      if (!(error instanceof HexlineError)) throw error
    }
  }

  /** The page, with the logs that were missing. */
  async check(page: ReadLogs<T>): Promise<T[]> {
    const { level } = this.#options
    if (level === 'none') return page.items
    const items = level === 'peer' ? await this.#compare(page) : await this.#prove(page)
    this.#counts.blocks += page.to - page.from + 1
    return items
  }

  /** The logs of a block whose header is at hand, with those that were missing by its bloom. */
  async checkBlock(header: Header, given: T[]): Promise<T[]> {
    const number = Number(header.number)
    this.#counts.blocks++
    if (this.#doubt(number, header, given) === 'none') return given
    this.#counts.suspects++
    return this.#fromReceipts(number, given, header)
  }

  async end(): Promise<void> {
    await this.#stream?.return()
  }

  /** By the headers of the page's blocks, or by their receipts. */
  async #prove(page: ReadLogs<T>): Promise<T[]> {
    this.#stream ??= this.#blocks()
    const byBlock = this.#grouped(page.items)
    const found = new Map<number, T[]>()
    const fetches = new Tasks(SUSPECTS_AHEAD)
    for (let number = page.from; number <= page.to; number++) {
      const { value } = (await this.#stream.next()) as IteratorYieldResult<Proof<T>>
      const given = byBlock.get(number) ?? []
      if (this.#options.blockHash !== undefined && value.header.hash !== this.#options.blockHash) {
        this.#counts.leave('the block is no longer part of the chain')
        continue
      }
      for (const item of given) checkSameBlock(this.#options.logOf(item), value.header)
      if (value.receipts !== undefined) {
        this.#counts.fetched++
        const { header, receipts } = value
        const fitsRoot = this.#fitsRoot(header, receipts.linked)
        if (fitsRoot !== false) found.set(number, this.#resolve(number, given, { header, items: receipts.items, fitsRoot }))
        else
          await fetches.add(async () => {
            const all = { header, items: receipts.items, receipts: receipts.linked, endpoint: undefined }
            found.set(number, this.#resolve(number, given, await this.#rightReceipts(number, all)))
          })
        continue
      }
      const doubt = this.#doubt(number, value.header, given)
      if (doubt === 'none') continue
      this.#counts.suspects++
      await fetches.add(async () => {
        found.set(number, await this.#fromReceipts(number, given, value.header))
      })
    }
    await fetches.end()
    return found.size === 0 ? page.items : this.#merged(page, byBlock, found)
  }

  /** Whether a log of this block may be missing, by its header and by those that were given. */
  #doubt(number: number, { logsBloom, transactions }: Header, given: readonly T[]): 'none' | 'suspect' {
    const { filter, logOf } = this.#options
    if (lacksLogs(filter, given, logOf)) return 'suspect'
    const why = this.#unusable?.(number)
    if (why !== undefined || !isBloom(logsBloom)) {
      if (given.length === 0 && transactions.length > 0) this.#counts.leave(why ?? 'the header has no logs bloom')
      return 'none'
    }
    const mayMatch = filter.bloom.mayMatch(logsBloom)
    if (given.length === 0) return mayMatch ? 'suspect' : 'none'
    if (!mayMatch) this.#counts.leave("the header's bloom does not have the logs that the node gave")
    return 'none'
  }

  async #fromReceipts(number: number, given: T[], header: Header): Promise<T[]> {
    try {
      const fetched = await this.#options.blocks.fetch(number, this.#options.stop)
      this.#counts.fetched++
      const again = fetched.header
      if (again.hash !== header.hash)
        throw new IntegrityError(`block ${number} came as ${header.hash}, and then as ${again.hash}: the chain was reorganised in between, or nodes disagree`)
      return this.#resolve(number, given, await this.#rightReceipts(number, { ...fetched, header }))
    } catch (error) {
      if (!(error instanceof HexlineError) || !UNAVAILABLE.includes(error.kind)) throw error
      this.#counts.leave('its receipts are not available')
      return given
    }
  }

  /** See `ReceiptsRoot`. Where each log stands is in no root, but follows from its receipt. */
  #fitsRoot(header: Header, receipts: readonly LinkedRootedReceipt[]): boolean | undefined {
    const fits = this.#roots.fits(header, receipts, this.#chainId)
    return fits && receipts.every(areOwnLogs)
  }

  /** The receipts, or those of another endpoint if these do not have the header's root. */
  async #rightReceipts(number: number, fetched: BlockLogs<T>): Promise<Proven<T>> {
    const { client, blocks, stop } = this.#options
    const { header, endpoint } = fetched
    const fitsRoot = this.#fitsRoot(header, fetched.receipts)
    const endpoints = connectionsOf(client)?.length ?? 1
    if (fitsRoot !== false || endpoints === 1) return { header, items: fetched.items, fitsRoot }
    const avoid = endpoint === undefined ? [] : [endpoint]
    try {
      for (let attempt = 1; attempt <= endpoints; attempt++) {
        const other = await blocks.fetch(number, stop, avoid)
        if (other.header.hash === header.hash && this.#fitsRoot(header, other.receipts)) return { header, items: other.items, fitsRoot: true }
        if (other.endpoint === undefined || avoid.includes(other.endpoint)) break
        avoid.push(other.endpoint)
      }
    } catch (error) {
      // The first receipts stay unproven.
      if (!(error instanceof HexlineError) || error.kind === 'closed' || stop.aborted) throw error
    }
    return { header, items: fetched.items, fitsRoot }
  }

  /** What the receipts of a block say about the logs that were given for it. */
  #resolve(number: number, given: readonly T[], { header, items: all, fitsRoot }: Proven<T>): T[] {
    const { filter, logOf } = this.#options
    const logs = all.map(logOf)
    const fault = logsFault(header, logs)
    if (fault !== undefined) {
      this.#counts.leave('the logs of its receipts contradict each other')
      return [...given]
    }
    const items = all.filter((item) => filter.matches(logOf(item)))
    const right = new Map(items.map((item) => [logOf(item).logIndex, logOf(item)]))
    const others = given.filter((item) => !right.has(logOf(item).logIndex))
    const why = this.#whyUnproven(number, header, logs, fitsRoot) ?? (fitsRoot ? undefined : this.#whyDifferent(given, right))
    if (why !== undefined) this.#counts.leave(why)
    else if (others.length > 0)
      throw new IntegrityError(`block ${number}: log ${logOf(others[0] as T).logIndex} was given, but is not in the receipts of the block`)
    this.#counts.recovered += items.length + others.length - given.length
    if (why === undefined) this.#counts.recovered += this.#different(given, right)
    if (others.length === 0) return items
    return [...items, ...others].sort((a, b) => (logOf(a).logIndex as number) - (logOf(b).logIndex as number))
  }

  /** A bloom does not say which of two logs is the right one. */
  #whyDifferent(given: readonly T[], right: ReadonlyMap<number | null, Log>): string | undefined {
    return this.#different(given, right) > 0 ? 'the logs that the node gave differ from those of its receipts' : undefined
  }

  /** Number of logs that differ from those with the same index. */
  #different(given: readonly T[], right: ReadonlyMap<number | null, Log>): number {
    const differs = (log: Log, other: Log | undefined) => other !== undefined && !isSameLog(log, other)
    return given.filter((item) => differs(this.#options.logOf(item), right.get(this.#options.logOf(item).logIndex))).length
  }

  /** Why these receipts prove nothing, though they are of the block's transactions. */
  #whyUnproven(number: number, header: Header, logs: readonly Log[], fitsRoot: boolean | undefined): string | undefined {
    // Where the root says nothing about a block without transactions, there is nothing to prove.
    if (header.transactions.length === 0 && fitsRoot !== false) return undefined
    if (!fitsRoot) {
      const why = this.#unusable?.(number)
      if (why !== undefined) return why
      if (fitsRoot === false) return "the receipts do not have the header's receipts root"
      const fitsBloom = this.#blooms.fits(header, logs)
      if (fitsBloom === undefined) return isBloom(header.logsBloom) ? 'the bloom of the header is empty' : 'the header has no logs bloom'
      if (!fitsBloom) return "the receipts do not have the header's bloom"
    }
    return logs.some((log, i) => log.logIndex !== i) ? 'the logs of its receipts are not numbered from 0 on without a gap' : undefined
  }

  /** By the reply of another endpoint. */
  async #compare(page: ReadLogs<T>): Promise<T[]> {
    const { again, stop, logOf } = this.#options
    const other = await again(page, stop)
    const left = page.to - page.from - (other === undefined ? -1 : other.to - other.from)
    if (left > 0) this.#counts.leave('no second endpoint answered', left)
    if (other === undefined) return page.items
    const [one, two] = [this.#grouped(page.items), this.#grouped(other.items)]
    const isCompared = (number: number) => number >= other.from && number <= other.to
    const found = new Map<number, T[]>()
    const numbers = new Set([...one.keys(), ...two.keys()])
    const areSame = (a: readonly T[] = [], b: readonly T[] = []) => {
      const others = b.map(logOf)
      return a.length === b.length && a.map(logOf).every((log, i) => log.logIndex === others[i]?.logIndex && isSameLog(log, others[i] as Log))
    }
    const different = [...numbers].filter((number) => isCompared(number) && !areSame(one.get(number), two.get(number)))
    this.#counts.suspects += different.length
    const fetches = new Tasks(SUSPECTS_AHEAD)
    for (const number of different) {
      await fetches.add(async () => {
        const given = one.get(number) ?? []
        try {
          const fetched = await this.#options.blocks.fetch(number, stop)
          const { header } = fetched
          this.#counts.fetched++
          if (this.#options.blockHash !== undefined && header.hash !== this.#options.blockHash) {
            this.#counts.leave('the block is no longer part of the chain')
            return
          }
          const ofBlock = given.filter((item) => logOf(item).blockHash === header.hash)
          found.set(number, this.#resolve(number, ofBlock, await this.#rightReceipts(number, fetched)))
        } catch (error) {
          if (!(error instanceof HexlineError) || !UNAVAILABLE.includes(error.kind)) throw error
          this.#counts.leave('its receipts are not available')
        }
      })
    }
    await fetches.end()
    return found.size === 0 ? page.items : this.#merged(page, one, found)
  }

  #grouped(items: readonly T[]): Map<number, T[]> {
    const groups = new Map<number, T[]>()
    for (const item of items) {
      const number = Number(this.#options.logOf(item).blockNumber)
      const group = groups.get(number)
      if (group === undefined) groups.set(number, [item])
      else group.push(item)
    }
    return groups
  }

  #merged({ from, to }: LogSpan, given: ReadonlyMap<number, T[]>, found: ReadonlyMap<number, T[]>): T[] {
    const lists: (readonly T[])[] = []
    for (let number = from; number <= to; number++) lists.push(found.get(number) ?? given.get(number) ?? [])
    return lists.flat()
  }

  /** The headers of the range, linked to each other, with the logs of their receipts. */
  #blocks(): AsyncGenerator<Proof<T>, void, undefined> {
    const { client, level, span, stop, readReceipts } = this.#options
    const readHeader = headerReader()
    const withReceipts = level === 'receipts'
    return rangeStream(
      client,
      {
        range: { from: BigInt(span.from), to: BigInt(span.to), isKnown: true },
        full: false,
        receipts: withReceipts,
        signal: stop,
        onProgress: undefined,
        bounds: withReceipts ? RECEIPTS_AHEAD : HEADERS_AHEAD,
      },
      {
        block: (bytes) => ({ linked: readHeader(bytes) }),
        receipts: readReceipts,
        item: ({ linked: header }, receipts): Proof<T> => ({ header, receipts }),
      },
    )
  }
}

/** A header, with the logs of its receipts if they were fetched. */
interface Proof<T> {
  readonly header: Header
  readonly receipts: ReturnType<ReadReceipts<T>> | undefined
}

/** The logs of a block's receipts, and whether these have the header's root. */
interface Proven<T> {
  readonly header: Header
  readonly items: readonly T[]
  /** See `ReceiptsRoot`. */
  readonly fitsRoot: boolean | undefined
}

/** Whether the logs of a receipt name its transaction. */
function areOwnLogs({ transactionHash, logs }: LinkedRootedReceipt, i: number): boolean {
  return (logs ?? []).every((log) => log.transactionHash === transactionHash && log.transactionIndex === i)
}

/** Why receipts cannot be had. */
const UNAVAILABLE = ['unsupported', 'pruned', 'not-found', 'lagging', 'response-too-large']
