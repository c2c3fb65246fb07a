import { IntegrityError } from '../../errors.ts'
import { isBloom } from '../../eth/bloom.ts'
import type { Log } from '../../eth/objects.ts'
import { unusableBlooms } from '../../eth/unusable-blooms.ts'
import { ReceiptsRoot } from '../../verify/receipts-root.ts'
import type { LinkedRootedReceipt } from '../link.ts'
import { BloomChecker, checkSameBlock, type Header, lacksLogs } from './block-logs.ts'
import { receiptLogsFault } from './log-fault.ts'
import type { CheckedFilter } from './log-filter.ts'
import { isSameLog } from './same-log.ts'

/** The logs of a block's receipts, and whether these have the header's root. */
export interface Proven<T> {
  readonly header: Header
  readonly items: readonly T[]
  /** See `ReceiptsRoot`. */
  readonly fitsRoot: boolean | undefined
}

/** Which logs are wanted, and what is read from each of them. */
export interface VerdictOptions<T> {
  readonly filter: CheckedFilter
  readonly logOf: (item: T) => Log
}

/** Counts of a report, while it grows. */
class Counts {
  blocks = 0
  suspects = 0
  fetched = 0
  recovered = 0
  discarded = 0
  unproven = 0
  readonly reasons: Record<string, number> = {}
}

/**
 * What the header and the receipts of a block say about the logs that were given for it, and the
 * counts of that. It fetches nothing.
 */
export class Verdicts<T> {
  readonly counts = new Counts()
  readonly #options: VerdictOptions<T>
  readonly #blooms = new BloomChecker()
  readonly #roots = new ReceiptsRoot()
  #chainId: number | undefined
  /** Why the chain's blooms prove nothing. */
  #unusable: ((number: number) => string | undefined) | undefined

  constructor(options: VerdictOptions<T>) {
    this.#options = options
  }

  /** Sets the chain of the blocks: the blooms and roots of some chains are no proof. */
  setChain(chainId: number | undefined): void {
    this.#chainId = chainId
    this.#unusable = chainId === undefined ? undefined : unusableBlooms(chainId)
  }

  /** Whether the blooms of the chain, or some of them, are known to prove nothing. */
  get areBloomsUnusable(): boolean {
    return this.#unusable !== undefined
  }

  /** From now on, no bloom of the chain proves anything. */
  distrustBlooms(why: string): void {
    this.#unusable = () => why
  }

  /** Counts blocks that remain unproven, and why. */
  countUnproven(reason: string, blocks = 1): void {
    this.counts.unproven += blocks
    this.counts.reasons[reason] = (this.counts.reasons[reason] ?? 0) + blocks
  }

  /**
   * Whether a log of this block may be missing, by the bloom of its header. Counts the block as
   * unproven if the bloom cannot tell.
   */
  mayLack(number: number, { logsBloom, transactions }: Header, given: readonly T[]): boolean {
    const { filter, logOf } = this.#options
    if (lacksLogs(filter, given, logOf)) return true
    const why = this.#unusable?.(number)
    if (why !== undefined || !isBloom(logsBloom)) {
      if (given.length === 0 && transactions.length > 0) this.countUnproven(why ?? 'the header has no logs bloom')
      return false
    }
    const mayMatch = filter.bloom.mayMatch(logsBloom)
    if (given.length === 0) return mayMatch
    if (!mayMatch) this.countUnproven("the header's bloom does not have the logs that the node gave")
    return false
  }

  /** See `ReceiptsRoot`. Where each log stands is in no root, but follows from its receipt. */
  fitsRoot(header: Header, receipts: readonly LinkedRootedReceipt[]): boolean | undefined {
    const fits = this.#roots.fits(header, receipts, this.#chainId)
    return fits && receipts.every(areOwnLogs)
  }

  /**
   * The logs of a block, by its receipts and by those that were given for it. Throws
   * `IntegrityError` for a log that was given and that is not in receipts which only the bloom
   * proves, and for one of another block where the receipts prove nothing. These only add logs.
   */
  resolve(number: number, given: readonly T[], { header, items: all, fitsRoot }: Proven<T>): T[] {
    const { filter, logOf } = this.#options
    const logs = all.map(logOf)
    if (receiptLogsFault(header, logs) !== undefined) return this.keep(header, given, 'the logs of its receipts contradict each other')
    const items = all.filter((item) => filter.matches(logOf(item)))
    const right = new Map(items.map((item) => [logOf(item).logIndex, logOf(item)]))
    const own = given.filter((item) => logOf(item).blockHash === header.hash)
    const others = own.filter((item) => !right.has(logOf(item).logIndex))
    const different = this.#different(own, right)
    const why = this.#whyUnproven(number, header, logs, fitsRoot) ?? (fitsRoot || different === 0 ? undefined : DIFFERENT)
    this.counts.recovered += items.length - (own.length - others.length)
    if (why !== undefined) {
      // Receipts that prove nothing replace no log.
      const kept = this.keep(header, given, why)
      const places = new Set(kept.map((item) => logOf(item).logIndex))
      const added = items.filter((item) => !places.has(logOf(item).logIndex))
      return [...kept, ...added].sort((a, b) => (logOf(a).logIndex as number) - (logOf(b).logIndex as number))
    }
    if (others.length > 0 && !fitsRoot)
      throw new IntegrityError(`block ${number}: log ${logOf(others[0] as T).logIndex} was given, but is not in the receipts of the block`)
    this.counts.recovered += different
    this.counts.discarded += given.length - own.length + others.length
    return items
  }

  /**
   * The logs that were given for a block, which remains unproven for this reason. Throws
   * `IntegrityError` for a log of another block.
   */
  keep(header: Header, given: readonly T[], reason: string): T[] {
    for (const item of given) checkSameBlock(this.#options.logOf(item), header)
    this.countUnproven(reason)
    return [...given]
  }

  /** Number of logs that differ from those with the same index. */
  #different(given: readonly T[], right: ReadonlyMap<number | null, Log>): number {
    const differs = (log: Log, other: Log | undefined) => other !== undefined && !isSameLog(log, other)
    return given.filter((item) => differs(this.#options.logOf(item), right.get(this.#options.logOf(item).logIndex))).length
  }

  /** Why these receipts prove nothing, though they are of the block's transactions. */
  #whyUnproven(number: number, header: Header, logs: readonly Log[], fitsRoot: boolean | undefined): string | undefined {
    if (header.hasWrongHash) return 'the header does not have the hash of its fields'
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
}

/** Whether the logs of a receipt name its transaction. */
function areOwnLogs({ transactionHash, logs }: LinkedRootedReceipt, i: number): boolean {
  return (logs ?? []).every((log) => log.transactionHash === transactionHash && log.transactionIndex === i)
}

/** A bloom does not say which of two logs is the right one. */
const DIFFERENT = 'the logs that the node gave differ from those of its receipts'
