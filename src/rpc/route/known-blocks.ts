import type { HexlineError } from '../../errors.ts'
import type { Clock } from '../../wait/clock.ts'
import type { Call, Reply } from '../call.ts'
import { decodedOf } from '../decoded-reply.ts'
import type { Queue } from '../queue/queue.ts'
import { movedReply } from '../reply.ts'
import type { Head, Heads } from './head.ts'
import { History } from './history.ts'
import { ownQuestion } from './own-question.ts'
import { HEAD, type Protocol, type Trait } from './protocol.ts'
import { isNull, takeResult } from './require-result.ts'

/**
 * A block that is missing at this depth below the newest one was dropped, rather than not there
 * yet: full nodes keep the state of 128 blocks.
 */
const OLD = 128
/**
 * No node is this many blocks behind the others at the same URL. They take hours on Ethereum, and
 * minutes on the fastest chains, as long as a call waits.
 */
const DEEP = 1024
/** How often an endpoint is asked for a block near a head that is doubted, at most, in ms. */
const DOUBTED_EVERY_MS = 2_000
/** Answers from which nothing has been learnt yet, at most. */
const MOST_DEFERRED = 64

/** An endpoint, as far as its blocks concern it. */
export interface KnownBlocksOptions {
  readonly queue: Queue
  /** The newest blocks of all endpoints. */
  readonly heads: Heads
  readonly protocol: Protocol
  /** The oldest block that it has, as the user says. */
  readonly since: number | undefined
  /** The client has no other endpoint. */
  readonly isOnly: boolean
  /** Called when it lacks blocks that it was not known to lack. */
  readonly onLacking: () => void
}

/**
 * Which blocks an endpoint has, as its answers and failures show: its newest one (head.ts), and how
 * far back its data reach (history.ts). What they leave open, the node is asked for:
 *
 * - the oldest block that it has, when a call needs an old one (`#askHistory`);
 * - its newest block, to find out whether a missing block is old (`#askNewest`);
 * - a block near the head that it tells, if that head is doubted (`#askForProof`).
 */
export class KnownBlocks {
  readonly head: Head
  readonly history: History
  readonly #queue: Queue
  readonly #heads: Heads
  readonly #protocol: Protocol
  readonly #isOnly: boolean
  readonly #clock: Clock
  /** The params of calls that were answered with an object, from which nothing is learnt yet. */
  readonly #deferred: { readonly params: readonly unknown[]; readonly trait: Trait | undefined; readonly at: number }[] = []
  /** When to ask it again for a block near the head that it tells, if that is doubted. */
  #askForProofAt = Number.NEGATIVE_INFINITY
  /** It has been asked how far back its data reach. */
  #hasBeenAskedHistory = false

  constructor({ queue, heads, protocol, since, isOnly, onLacking }: KnownBlocksOptions, clock: Clock) {
    this.head = heads.add(clock.now())
    this.#queue = queue
    this.#heads = heads
    this.#protocol = protocol
    this.#isOnly = isOnly
    this.#clock = clock
    this.history = new History(since, onLacking)
  }

  /** As far as is known, it does not have the oldest block that the call needs. */
  lack(trait: Trait, params: readonly unknown[], now: number): boolean {
    if (trait.reads === undefined) return false
    const block = oldestOf(trait, params)
    return block !== undefined && this.history.lacks(trait.reads, block, now, this.#protocol.partOf[trait.reads])
  }

  /** Asks one of several endpoints how far back its data reach, if the call needs an old block. */
  askIfOld(call: Call, trait: Trait | undefined, now: number): void {
    if (!this.#hasBeenAskedHistory && !this.#isOnly && this.#isOld(call, trait)) void this.#askHistory(now)
  }

  /** The reply, from which is learnt what it shows. Throws where null is `lagging`. */
  answered(reply: Reply, call: Call, trait: Trait | undefined, started: number): Reply {
    // In the order in which they came.
    this.learnDeferred()
    const decoded = decodedOf(reply)
    const value = decoded ?? takeResult(reply, call, this.#queue.name)
    if (isNull(value)) {
      if (trait?.mayBeNew === true) this.#heads.missedNew()
    } else {
      const needed = trait?.needs?.(call.params)
      const told = value instanceof Uint8Array ? ofBytes(value, trait, needed) : trait?.tells?.(value, call.params)
      if (told !== undefined) {
        if (needed === HEAD) {
          const now = this.#clock.now()
          this.#heads.told(this.head, told, now, started)
          if (this.#heads.isDoubted(this.head)) this.#askForProof(told, now)
        } else this.#heads.answeredFor(this.head, told)
        call.pin?.sees(told)
      }
      const oldest = trait?.reads === undefined ? undefined : oldestOf(trait, call.params)
      // No logs at all is also what some nodes answer for blocks that they have dropped.
      if (oldest !== undefined && !isEmpty(value)) this.history.answered(trait?.reads as string, oldest, this.#clock.now())
    }
    return decoded === undefined ? movedReply(reply, value) : reply
  }

  /**
   * The same, but a caller whose result is an object does not wait until it is learnt from: it
   * shows only that its block is there, which is noted with the next reply or failure.
   */
  answeredAtOnce(reply: Reply, call: Call, trait: Trait | undefined, started: number): Reply {
    if (decodedOf(reply) !== undefined) return this.answered(reply, call, trait, started)
    const value = takeResult(reply, call, this.#queue.name)
    const taken = movedReply(reply, value)
    if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Uint8Array) return this.answered(taken, call, trait, started)
    if (this.#deferred.push({ params: call.params, trait, at: started }) >= MOST_DEFERRED) this.learnDeferred()
    return taken
  }

  /** Learns from the answers that were left for later. */
  learnDeferred(): void {
    if (this.#deferred.length === 0) return
    for (const { params, trait, at } of this.#deferred) {
      const needed = trait?.needs?.(params)
      if (needed !== undefined && needed !== HEAD) this.#heads.answeredFor(this.head, needed)
      const oldest = trait?.reads === undefined ? undefined : oldestOf(trait, params)
      if (oldest !== undefined) this.history.answered(trait?.reads as string, oldest, at)
    }
    this.#deferred.length = 0
  }

  /**
   * Learns which blocks it does not have. A failure as of a block that does not exist yet becomes
   * `pruned` once the block is known to be gone: then asking again cannot help.
   */
  missed(error: HexlineError, { params, tried }: Call, trait: Trait | undefined, started: number): void {
    const { head } = this
    const now = this.#clock.now()
    const oldest = trait && oldestOf(trait, params)
    const needed = trait?.needs?.(params)
    // What may not exist has not been dropped.
    if (error.kind === 'lagging' && needed !== undefined && this.#heads.claimsAlone(head, needed)) {
      this.#askForProof(head.number, now)
      this.#heads.missedClaimed(head, needed, started, now)
      return
    }
    if (trait?.reads !== undefined && oldest !== undefined) {
      const isGone = error.kind === 'lagging' && this.history.missed(trait.reads, oldest, this.#heads.isOld(head, oldest, DEEP), started, now)
      if (isGone) {
        Object.assign(error, { kind: 'pruned', message: `${error.message}; block ${oldest} is old, so the node seems to have dropped it` })
      }
      if (error.kind === 'pruned' || this.#heads.isOld(head, oldest, OLD)) {
        this.history.failed(trait.reads, oldest, this.#heads.newest, this.#protocol.oldestIn(error), now)
        void this.#askHistory(now)
        return
      }
      // Whether a block is old shows only beside a newer one. Several endpoints are asked for
      // theirs in any case.
      if (this.#isOnly && tried.length > 0 && now >= head.askAt) void this.#askNewest(now)
    }
    if (error.kind === 'lagging' && needed !== undefined && needed !== HEAD) this.#heads.missed(head, needed, now)
  }

  /** Asks for its newest block; nothing else is learnt from the answer. Never rejects. */
  #askNewest(now: number): Promise<void> {
    this.#heads.asked(this.head, now)
    return this.#learnFromAnswer(this.#protocol.askHead, now)
  }

  /**
   * The head that it tells is doubted: asks for a block that it has if that head is true. Without
   * an answer, the next failure asks again, or the next time that it tells its head.
   */
  #askForProof(told: number, now: number): void {
    if (now < this.#askForProofAt) return
    this.#askForProofAt = now + DOUBTED_EVERY_MS
    void this.#learnFromAnswer(this.#protocol.askBlock(this.#heads.proofOf(told)), now)
  }

  /** Learns from the answer to a question of hexline's own, if one comes. Never rejects. */
  async #learnFromAnswer(question: Pick<Call, 'method' | 'params'>, now: number): Promise<void> {
    const call = ownQuestion(question, now)
    try {
      this.answered(await this.#queue.send(call), call, this.#protocol.traitOf(call.method), now)
    } catch {
      // The next failure asks again.
    }
  }

  /** The call is for a block from which on a node may have dropped something. */
  #isOld({ params }: Call, trait: Trait | undefined): boolean {
    const oldest = trait?.reads === undefined ? undefined : oldestOf(trait, params)
    return oldest !== undefined && this.#heads.isOld(this.head, oldest, OLD)
  }

  /** Asks once how far back its data reach; most nodes do not have the method. Never rejects. */
  async #askHistory(now: number): Promise<void> {
    if (this.#hasBeenAskedHistory) return
    this.#hasBeenAskedHistory = true
    const { askHistory, historyOf } = this.#protocol
    try {
      const reply = await this.#queue.send(ownQuestion(askHistory, now))
      for (const [resource, oldest] of historyOf(reply.take())) this.history.toldOldest(resource, oldest, this.#clock.now())
    } catch {
      // Its failures show it.
    }
  }
}

/** The number of the oldest block that a call needs; undefined for the newest one, or none. */
function oldestOf(trait: Trait, params: readonly unknown[]): number | undefined {
  const block = trait.oldest === undefined ? trait.needs?.(params) : trait.oldest(params)
  return block === HEAD ? undefined : block
}

/** An array without items, parsed or as bytes. */
function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : value instanceof Uint8Array && value.length === 2
}

/**
 * Bytes are not parsed: a result shows that the block with the number that was asked for is there.
 * That of a range shows nothing, since nodes end it at their heads.
 */
function ofBytes(value: Uint8Array, trait: Trait | undefined, needed: number | undefined): number | undefined {
  return trait?.oldest !== undefined || needed === undefined || needed === HEAD || value.length < 4 ? undefined : needed
}
