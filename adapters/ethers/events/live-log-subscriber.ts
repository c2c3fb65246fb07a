import { type JsonRpcProvider, type LogParams, makeError } from 'ethers'
import { type BlockHeader, readHeader } from '../../block-header.ts'
import { RecentBlocks } from '../../recent-blocks.ts'
import { type Events, lastBlockOf, logsOf, WINDOW } from './log-subscriber.ts'
import { OnBlockSubscriber } from './on-block-subscriber.ts'

/** A log may be requested again this many blocks after it was emitted, and is known by then. */
const KEPT_BLOCKS = 256

/**
 * A new block may be this many blocks above the newest known one: those between are requested, to
 * see that each follows another. Further up, as after an outage, only the known ones are compared.
 */
const NEAR = 8

/**
 * If the head at the start comes later than this, in ms, blocks that were announced meanwhile may
 * be new ones.
 */
const LATE_MS = 500

/** A subscription begins with the hashes of this many blocks below the first one. */
const PARENTS = 7

/** A block whose parent is known. */
type Header = BlockHeader & { readonly parentHash: string }

/**
 * Requests the logs of new blocks with `eth_getLogs`, each once, and those of blocks that replace
 * others: the hashes of recent blocks show where the chain has changed. After a failure, the next
 * block tries again.
 */
export class LiveLogSubscriber extends OnBlockSubscriber {
  readonly #events: Events
  #blocks = new RecentBlocks()
  /** The first block whose logs may not all have been emitted; undefined before the first. */
  #from: number | undefined
  /** Settles when the first block is known, or its request has failed. */
  #begun: Promise<void> | undefined
  /** The first block that was announced in this round. */
  #announced: number | undefined
  /** The first block of the subscription, or the lowest that was replaced since. */
  #first = 0
  /**
   * The hashes of blocks from before the subscription. Where they are replaced, a backend that has
   * not done so yet still gives their logs.
   */
  readonly #before = new Set<string>()
  /** Blocks were replaced, and those that are known now may be old, too. */
  #mustFollow = false
  /** The logs that were emitted, by block hash. */
  #emitted = new Map<string, { readonly number: number; readonly indices: Set<unknown> }>()

  constructor(provider: JsonRpcProvider, events: Events) {
    super(provider)
    this.#events = events
  }

  protected override begin(): void {
    // The block subscriber makes a request, too, and reports the failure.
    this.#begun = this.#start(this.round).catch(() => {})
  }

  async #start(round: number): Promise<void> {
    const began = performance.now()
    const head = await this.#headerOf('latest')
    if (round !== this.round || head === undefined) return
    // A reply that came during the pause was dropped, and no further event announces its blocks.
    if (this.#from !== undefined) return this.pollAt(head.number)
    const isLate = performance.now() - began >= LATE_MS
    this.#first = isLate ? Math.min(head.number + 1, this.#announced ?? head.number + 1) : head.number + 1
    this.#from = this.#first
    this.#addStart(head)
    await this.#addParents()
  }

  protected override drop(): void {
    this.#from = undefined
    this.#announced = undefined
    this.#blocks = new RecentBlocks()
    this.#emitted = new Map()
    this.#before.clear()
    this.#mustFollow = false
  }

  protected override async poll(block: number): Promise<void> {
    const { round } = this
    const hasEnded = () => !this.isRunning || round !== this.round
    this.#announced ??= block
    await this.#begun
    if (hasEnded()) return
    // Before the logs: a block that is replaced from here on is noticed at the next one.
    const header = await this.#headerOf(block)
    if (hasEnded()) return
    // Announced by one endpoint, and not there yet at another.
    if (header === undefined) return this.repeatLater(block)
    if (this.#from === undefined) {
      this.#first = block
      this.#from = block
      this.#addStart(header)
    }
    if (block < this.#first + PARENTS) await this.#addParents()
    if (hasEnded()) return
    const { last } = this.#blocks
    if (last !== undefined && !(await this.#follows(header, NEAR))) {
      const kept = await this.#dropReplaced(last.number, block)
      // Blocks from before the subscription may be announced late.
      if (hasEnded() || kept > block) return
      if (this.#mustFollow && block - kept <= WINDOW && !(await this.#follows(header, WINDOW))) return this.repeatLater(block)
      this.#mustFollow = false
    }
    if (hasEnded()) return
    const logs = await logsOf(this.provider, this.#events.filter, this.#from, block)
    if (hasEnded()) return
    this.#blocks.add(block - 1, header.parentHash)
    this.#blocks.add(block, header.hash)
    // Logs of unknown blocks may be those of a backend that has not replaced them yet.
    const known = logs.filter(({ blockNumber, blockHash }) => this.#blocks.has(Number(blockNumber), blockHash))
    const done = logs.some((log) => this.#isOfOther(log)) ? this.#from : lastBlockOf(known) + 1
    this.#from = Math.max(this.#from, block - WINDOW + 1, done)
    for (const log of logs) if (!this.#before.has(log.blockHash) && !this.#isOfOther(log) && this.#isNew(log)) this.#events.emit(log)
    for (const [hash, { number }] of this.#emitted) if (number < block - KEPT_BLOCKS) this.#emitted.delete(hash)
  }

  /** Adds the newest block at the start, and its parent, which the first block of a chain lacks. */
  #addStart({ number, hash, parentHash }: Header): void {
    if (number > 0) this.#blocks.add(number - 1, parentHash)
    this.#blocks.add(number, hash)
    this.#noteBefore(number - 1, parentHash)
    this.#noteBefore(number, hash)
  }

  /**
   * Adds the blocks below the first one: a reorganisation may replace them, too. Those that could
   * not be requested, or belong to another chain, are left out, and requested again at one of the
   * next blocks.
   */
  async #addParents(): Promise<void> {
    const blocks = this.#blocks
    const { lowest } = blocks
    if (lowest === undefined) return
    const end = Math.max(0, this.#first - 1 - PARENTS)
    const numbers = Array.from({ length: Math.max(0, lowest.number - end) }, (_, i) => lowest.number - i)
    const headers = await Promise.all(numbers.map((each) => this.#headerOf(each))).catch(() => [])
    for (const header of headers) {
      if (header === undefined || header.hash !== blocks.lowest?.hash) return
      blocks.addBelow(header.number - 1, header.parentHash)
      this.#noteBefore(header.number - 1, header.parentHash)
    }
  }

  #noteBefore(number: number, hash: string): void {
    if (number < this.#first) this.#before.add(hash)
  }

  /**
   * Forgets the blocks that were replaced, down from the newest known one, so that the logs of
   * those in their place are requested. Gives the newest block that is left, or the one below all
   * known blocks. A pause does not end this: afterwards it is not known which were replaced.
   */
  async #dropReplaced(last: number, block: number): Promise<number> {
    const { round } = this
    const kept = await this.#blocks.dropReplaced(async (number) => (await this.#headerOf(number))?.hash)
    if (round !== this.round) return kept
    this.#from = Math.min(this.#from ?? kept + 1, kept + 1)
    // The chain may have changed further down than the known blocks reach.
    if (this.#blocks.last === undefined) this.#from = Math.min(this.#from, Math.max(this.#first, block - WINDOW + 1))
    this.#first = Math.min(this.#first, this.#from)
    // A backend that has not replaced its blocks yet may have said that none is.
    this.#mustFollow ||= kept < last || block - last <= NEAR
    return kept
  }

  /**
   * Whether this block follows the newest known one, which is at most `most` blocks below it. Adds
   * the blocks between.
   */
  async #follows({ number, hash, parentHash }: Header, most: number): Promise<boolean> {
    const blocks = this.#blocks
    const { last } = blocks
    if (last === undefined) return true
    if (last.number >= number) return last.number === number && last.hash === hash
    if (number - last.number > most) return false
    const numbers = Array.from({ length: number - last.number - 1 }, (_, i) => last.number + 1 + i)
    const between = await Promise.all(numbers.map((each) => this.#headerOf(each)))
    const parents = [...between.map((each) => each?.parentHash), parentHash]
    const hashes = [last.hash, ...between.map((each) => each?.hash)]
    if (!parents.every((parent, i) => parent === hashes[i])) return false
    for (const each of between) if (each !== undefined) blocks.add(each.number, each.hash)
    return true
  }

  /**
   * Whether the log is from a block that was replaced. Then all came from an endpoint that has not
   * replaced it yet: they are requested again, and this one is left out.
   */
  #isOfOther({ blockNumber, blockHash }: LogParams): boolean {
    return this.#blocks.hasOther(Number(blockNumber), blockHash)
  }

  #isNew(log: LogParams): boolean {
    const { blockHash, blockNumber } = log
    const { logIndex } = log as { logIndex?: unknown }
    const { indices } = this.#emitted.get(blockHash) ?? { indices: new Set() }
    if (indices.has(logIndex)) return false
    this.#emitted.set(blockHash, { number: Number(blockNumber), indices: indices.add(logIndex) })
    return true
  }

  async #headerOf(block: number | 'latest'): Promise<Header | undefined> {
    const tag = block === 'latest' ? block : `0x${block.toString(16)}`
    const raw: unknown = await this.provider.send('eth_getBlockByNumber', [tag, false])
    if (raw === null) return undefined
    const { number, hash, parentHash } = readHeader(raw) ?? {}
    if (number === undefined || hash === undefined || parentHash === undefined)
      throw makeError('a block must have a number, a hash and the hash of its parent', 'BAD_DATA', { value: tag })
    return { number, hash, parentHash }
  }
}
