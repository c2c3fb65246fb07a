import { HexlineError } from '../../errors.ts'
import { isBloom, isEmptyBloom } from '../../eth/bloom.ts'
import type { Block, Log } from '../../eth/objects.ts'
import { rangeStream } from '../blocks/range-stream.ts'
import { chainIdOf } from '../chain.ts'
import { boundsWithin } from '../ordered/read-ahead.ts'
import { type AuditEstimate, estimateAudit, sampleHeaders } from './audit-estimate.ts'
import { type AuditedBlock, BlockAuditor, type BlockAuditorOptions } from './block-auditor.ts'
import { headerReader, type ReceiptsReader } from './block-logs.ts'
import { HeaderHashes } from './header-hashes.ts'
import { receiptLogsFault } from './log-fault.ts'
import type { ReadLogs } from './log-fetch.ts'
import { blocksIn, type LogSpan } from './log-span.ts'
import { groupByBlock, mergeBlocks } from './logs-by-block.ts'
import { isSameLog } from './same-log.ts'
import { Tasks } from './tasks.ts'
import { Verdicts } from './verdicts.ts'

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
export interface AuditorOptions<T> extends BlockAuditorOptions<T> {
  readonly level: AuditLevel
  readonly span: LogSpan
  readonly readReceipts: ReceiptsReader<T>
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
  readonly #blockAuditor: BlockAuditor<T>
  #hashes: HeaderHashes | undefined
  #estimate: AuditEstimate = { headers: 0, receipts: 0, isAskedTwice: false }
  /** The blocks of the range, in order. */
  #stream: AsyncGenerator<AuditedBlock<T>, void, undefined> | undefined

  constructor(options: AuditorOptions<T>) {
    this.#options = options
    this.#verdicts = new Verdicts(options)
    this.#blockAuditor = new BlockAuditor(options, this.#verdicts)
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
    this.#verdicts.setChain(chainId)
    if (level !== 'peer') this.#hashes = await HeaderHashes.load(chainId)
    const sample = level === 'peer' ? [] : await sampleHeaders(asked, span)
    for (const header of sample) if (header !== null) this.#hashes?.see(header)
    this.#estimate = estimateAudit(level, span, sample, filter)
    if (level === 'bloom' && !this.#verdicts.areBloomsUnusable) await this.#tryEmptyBloom(sample)
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
      if (items.length > 0 && receiptLogsFault(header, items.map(logOf)) === undefined) this.#verdicts.distrustBlooms('the chain leaves blooms empty')
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
      const result = this.#blockAuditor.prove(number, given.get(number) ?? [], block)
      if (result.type === 'proven') found.set(number, result.items)
      else if (result.type === 'fetch')
        await fetches.add(async () => {
          found.set(number, await result.fetch())
        })
    }
    await fetches.end()
    return found.size === 0 ? page.items : mergeBlocks(page, given, found)
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
        found.set(number, await this.#blockAuditor.fromReceipts(number, one.get(number) ?? []))
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
