import type { Client } from '../../client/client.ts'
import { connectionsOf } from '../../client/internals.ts'
import { HexlineError, IntegrityError } from '../../errors.ts'
import { isBloom, isEmptyBloom } from '../../eth/bloom.ts'
import type { Block, Log } from '../../eth/objects.ts'
import { rangeStream } from '../blocks/range-stream.ts'
import { chainIdOf } from '../chain.ts'
import { boundsWithin } from '../ordered/read-ahead.ts'
import { type AuditEstimate, estimateAudit, sampleHeaders } from './audit-estimate.ts'
import { type BlockLogs, type BlockLogsFetcher, type Header, headerReader, logsFault, type ReceiptsReader } from './block-logs.ts'
import { blocksIn, type LogSpan } from './check-logs.ts'
import { HeaderHashes } from './header-hashes.ts'
import type { ReadLogs } from './log-fetch.ts'
import { groupByBlock, mergeBlocks } from './logs-by-block.ts'
import { isSameLog } from './same-log.ts'
import { Tasks } from './tasks.ts'
import { type Proven, type VerdictOptions, Verdicts } from './verdicts.ts'

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
  /** Logs that the node gave, and that the block does not have by its receipts: left out. */
  readonly discarded: number
  /**
   * Blocks of which the audit could not say what its level says. That is, with `receipts`, that no
   * log is missing; with `bloom`, only that not all logs of a block are.
   */
  readonly unproven: number
  /** Why, with the number of blocks of each reason. */
  readonly reasons: Readonly<Record<string, number>>
  /** What the audit costs, estimated from a sample of headers before it starts. */
  readonly estimate: AuditEstimate
}

/** Which logs to audit, and where to fetch what proves them. */
export interface AuditorOptions<T> extends VerdictOptions<T> {
  readonly client: Client
  readonly level: AuditLevel
  readonly span: LogSpan
  readonly readReceipts: ReceiptsReader<T>
  readonly blocks: BlockLogsFetcher<T>
  /** The only block of the span, if it was asked for by its hash. */
  readonly blockHash: string | undefined
  readonly stop: AbortSignal
  /** The same logs from another endpoint, as far as one has them. */
  readonly again: (fetched: ReadLogs<T>, signal: AbortSignal) => Promise<ReadLogs<T> | undefined>
}

/** Headers to request ahead of the logs. */
const HEADERS_AHEAD = boundsWithin(8 * 1024 * 1024, 8 * 1024)
/**
 * Blocks whose receipts are requested at the same time, because of their blooms or of a difference.
 */
const SUSPECTS_AHEAD = 128
const RECEIPTS_AHEAD = boundsWithin(16 * 1024 * 1024, 512 * 1024)

/** Proves that logs are complete, page by page, and adds those that are missing. */
export class Auditor<T> {
  readonly #options: AuditorOptions<T>
  readonly #verdicts: Verdicts<T>
  #hashes: HeaderHashes | undefined
  #estimate: AuditEstimate = { headers: 0, receipts: 0, isAskedTwice: false }
  /** The blocks of the range, in order. */
  #stream: AsyncGenerator<AuditedBlock<T>, void, undefined> | undefined

  constructor(options: AuditorOptions<T>) {
    this.#options = options
    this.#verdicts = new Verdicts(options)
  }

  get report(): AuditReport {
    const { reasons, ...counts } = this.#verdicts.counts
    return { level: this.#options.level, ...counts, reasons: { ...reasons }, estimate: this.#estimate }
  }

  /** Asks for the chain, estimates the cost, and looks whether the chain leaves blooms empty. */
  async start(): Promise<void> {
    const { client, level, span, filter, stop } = this.#options
    if (level === 'none') return
    const asked = client.with({ signal: stop })
    const chainId = await chainIdOf(asked)
    this.setChain(chainId)
    if (level !== 'peer') this.#hashes = await HeaderHashes.load(chainId)
    const sample = level === 'peer' ? [] : await sampleHeaders(asked, span)
    for (const header of sample) if (header !== null) this.#hashes?.see(header)
    this.#estimate = estimateAudit(level, span, sample, filter)
    if (level === 'bloom' && !this.#verdicts.areBloomsUnusable) await this.#tryEmptyBloom(sample)
  }

  /** Sets the chain, in place of `start`, if only `checkBlock` is called. */
  setChain(chainId: number | undefined): void {
    this.#verdicts.setChain(chainId)
  }

  /**
   * Distrusts all blooms of the chain if one of the sample is empty although its block has logs. Of
   * the empty ones, it looks at the block with the most transactions.
   */
  async #tryEmptyBloom(headers: readonly (Block | null)[]): Promise<void> {
    const { blocks, logOf, stop } = this.#options
    const empty = headers.filter((header) => header !== null).filter(({ logsBloom }) => isBloom(logsBloom) && isEmptyBloom(logsBloom))
    const [fullest] = empty.sort((a, b) => b.transactions.length - a.transactions.length)
    if (fullest === undefined || fullest.transactions.length === 0) return
    try {
      const { items, header } = await blocks.fetch(Number(fullest.number), stop)
      if (items.length > 0 && logsFault(header, items.map(logOf)) === undefined) this.#verdicts.distrustBlooms('the chain leaves blooms empty')
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
    this.#verdicts.counts.blocks += page.to - page.from + 1
    return items
  }

  /** The logs of a block whose header is at hand, with those that were missing by its bloom. */
  async checkBlock(header: Header, given: T[]): Promise<T[]> {
    const number = Number(header.number)
    this.#verdicts.counts.blocks++
    if (!this.#verdicts.mayLack(number, header, given)) return given
    this.#verdicts.counts.suspects++
    return this.#fromReceipts(number, given, header)
  }

  async end(): Promise<void> {
    await this.#stream?.return()
  }

  /** Checks a page by the headers of its blocks, or by their receipts. */
  async #prove(page: ReadLogs<T>): Promise<T[]> {
    this.#stream ??= this.#blocks()
    const given = groupByBlock(page.items, this.#options.logOf)
    const found = new Map<number, T[]>()
    const fetches = new Tasks(SUSPECTS_AHEAD)
    for (let number = page.from; number <= page.to; number++) {
      const { value: block } = (await this.#stream.next()) as IteratorYieldResult<AuditedBlock<T>>
      const result = this.#proveBlock(number, given.get(number) ?? [], block)
      if (result.type === 'proven') found.set(number, result.items)
      else if (result.type === 'fetch')
        await fetches.add(async () => {
          found.set(number, await result.fetch())
        })
    }
    await fetches.end()
    return found.size === 0 ? page.items : mergeBlocks(page, given, found)
  }

  /** Proves the logs of a block by its header or its receipts, whichever was read. */
  #proveBlock(number: number, given: T[], { header, receipts }: AuditedBlock<T>): BlockVerdict<T> {
    const { blockHash } = this.#options
    if (blockHash !== undefined && header.hash !== blockHash) {
      this.#verdicts.countUnproven(REPLACED)
      return AS_GIVEN
    }
    return receipts === undefined ? this.#byHeader(number, given, header) : this.#byReceipts(number, given, header, receipts)
  }

  #byHeader(number: number, given: T[], header: Header): BlockVerdict<T> {
    const { logOf } = this.#options
    const areOwn = given.every((item) => logOf(item).blockHash === header.hash)
    if (areOwn && !header.hasWrongHash && !this.#verdicts.mayLack(number, header, given)) return AS_GIVEN
    this.#verdicts.counts.suspects++
    return { type: 'fetch', fetch: () => this.#fromReceipts(number, given, header) }
  }

  #byReceipts(number: number, given: T[], header: Header, { linked, items }: ReturnType<ReceiptsReader<T>>): BlockVerdict<T> {
    this.#verdicts.counts.fetched++
    const fitsRoot = this.#verdicts.fitsRoot(header, linked)
    if (fitsRoot !== false) return { type: 'proven', items: this.#verdicts.resolve(number, given, { header, items, fitsRoot }) }
    const fetched = { header, items, receipts: linked, endpoint: undefined }
    return { type: 'fetch', fetch: async () => this.#verdicts.resolve(number, given, await this.#rightReceipts(number, fetched)) }
  }

  /**
   * The logs of a block by its receipts, which are fetched. The block has to be the one with this
   * header, if there is one. If the receipts are not available, the logs stay as they were given,
   * and the block counts as unproven.
   */
  async #fromReceipts(number: number, given: T[], header?: Header): Promise<T[]> {
    const { blocks, blockHash, stop, logOf } = this.#options
    try {
      const fetched = await blocks.fetch(number, stop)
      this.#verdicts.counts.fetched++
      const { hash } = fetched.header
      if (header !== undefined && hash !== header.hash)
        throw new IntegrityError(`block ${number} came as ${header.hash}, and then as ${hash}: the chain was reorganised in between, or nodes disagree`)
      if (blockHash !== undefined && hash !== blockHash) {
        this.#verdicts.countUnproven(REPLACED)
        return given
      }
      const ofBlock = header === undefined ? given.filter((item) => logOf(item).blockHash === hash) : given
      return this.#verdicts.resolve(number, ofBlock, await this.#rightReceipts(number, header === undefined ? fetched : { ...fetched, header }))
    } catch (error) {
      if (!(error instanceof HexlineError) || !NOT_AVAILABLE.includes(error.kind)) throw error
      if (header !== undefined) return this.#verdicts.keep(header, given, UNAVAILABLE)
      this.#verdicts.countUnproven(UNAVAILABLE)
      return given
    }
  }

  /**
   * The receipts of a block. If they do not have the root in its header, the other endpoints are
   * asked, each once, until one gives receipts that do.
   */
  async #rightReceipts(number: number, fetched: BlockLogs<T>): Promise<Proven<T>> {
    const { client, blocks, stop } = this.#options
    const { header, endpoint } = fetched
    const fitsRoot = this.#verdicts.fitsRoot(header, fetched.receipts)
    const endpoints = connectionsOf(client)?.length ?? 1
    if (fitsRoot !== false || endpoints === 1) return { header, items: fetched.items, fitsRoot }
    const avoid = endpoint === undefined ? [] : [endpoint]
    try {
      for (let attempt = 1; attempt <= endpoints; attempt++) {
        const other = await blocks.fetch(number, stop, avoid)
        if (other.header.hash === header.hash && this.#verdicts.fitsRoot(header, other.receipts)) return { header, items: other.items, fitsRoot: true }
        if (other.endpoint === undefined || avoid.includes(other.endpoint)) break
        avoid.push(other.endpoint)
      }
    } catch (error) {
      // The first receipts stay unproven.
      if (!(error instanceof HexlineError) || error.kind === 'closed' || stop.aborted) throw error
    }
    return { header, items: fetched.items, fitsRoot }
  }

  /** Checks a page by the reply of another endpoint. Where they differ, the receipts decide. */
  async #compare(page: ReadLogs<T>): Promise<T[]> {
    const { again, stop, logOf } = this.#options
    const other = await again(page, stop)
    const left = blocksIn(page) - (other === undefined ? 0 : blocksIn(other))
    if (left > 0) this.#verdicts.countUnproven('no second endpoint answered', left)
    if (other === undefined) return page.items
    const [one, two] = [groupByBlock(page.items, logOf), groupByBlock(other.items, logOf)]
    const isCompared = (number: number) => number >= other.from && number <= other.to
    const found = new Map<number, T[]>()
    const numbers = new Set([...one.keys(), ...two.keys()])
    const areSame = (a: readonly T[] = [], b: readonly T[] = []) => {
      const others = b.map(logOf)
      return a.length === b.length && a.map(logOf).every((log, i) => log.logIndex === others[i]?.logIndex && isSameLog(log, others[i] as Log))
    }
    const different = [...numbers].filter((number) => isCompared(number) && !areSame(one.get(number), two.get(number)))
    this.#verdicts.counts.suspects += different.length
    const fetches = new Tasks(SUSPECTS_AHEAD)
    for (const number of different) {
      await fetches.add(async () => {
        found.set(number, await this.#fromReceipts(number, one.get(number) ?? []))
      })
    }
    await fetches.end()
    return found.size === 0 ? page.items : mergeBlocks(page, one, found)
  }

  /** The headers of the range, linked to each other, with the logs of their receipts. */
  #blocks(): AsyncGenerator<AuditedBlock<T>, void, undefined> {
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
        block: (bytes) => {
          const linked = readHeader(bytes)
          if (this.#hashes?.isWrong(bytes)) linked.hasWrongHash = true
          return { linked }
        },
        receipts: readReceipts,
        item: ({ linked: header }, receipts): AuditedBlock<T> => ({ header, receipts }),
      },
    )
  }
}

/** A header, with the receipts if they were fetched. */
interface AuditedBlock<T> {
  readonly header: Header
  readonly receipts: ReturnType<ReceiptsReader<T>> | undefined
}

/** What a look at a block says about the logs that were given for it. */
type BlockVerdict<T> =
  /** They stay as they are: nothing is missing, or nothing can be proven. */
  | typeof AS_GIVEN
  /** These are the logs of the block. */
  | { readonly type: 'proven'; readonly items: T[] }
  /** Its receipts decide. `fetch` gives the logs; it is called once there is room for a request. */
  | { readonly type: 'fetch'; readonly fetch: () => Promise<T[]> }

const AS_GIVEN = { type: 'as-given' } as const

/** Why a block that was asked for by its hash is unproven. */
const REPLACED = 'the block is no longer part of the chain'

const UNAVAILABLE = 'its receipts are not available'

/** Kinds of failures that mean this. */
const NOT_AVAILABLE = ['unsupported', 'pruned', 'not-found', 'lagging', 'response-too-large']
