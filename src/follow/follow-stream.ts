import { hasLostNode } from '../bulk/patient-calls.ts'
import type { Client } from '../client/client.ts'
import { clockOf, connectionsOf, timeoutOf } from '../client/internals.ts'
import { scrubError } from '../client/scrub-error.ts'
import { CodecError, IntegrityError } from '../errors.ts'
import { isFailure, isGuessed, mayRepeat } from '../rpc/failure-kinds.ts'
import { stopWith } from '../wait/stop-with.ts'
import { type Bell, startBell, type ToldHead } from './bell.ts'
import type { FollowReader, SourceBlock } from './block-source.ts'
import { findFate } from './common-ancestor.ts'
import { Contradictions } from './contradictions.ts'
import { type ChainIdentity, cursorAt, type FollowCursor } from './cursor.ts'
import { deepBlocks } from './deep-blocks.ts'
import { FarBelow } from './far-below.ts'
import { FollowReport } from './follow-report.ts'
import { type BlockRef, HeldChain } from './held-chain.ts'
import type { FollowJob } from './job.ts'
import { look, targetFrom } from './look.ts'
import { ATTEMPTS_NEAR_HEAD, NearBlocks } from './near-blocks.ts'
import { NearTimeout } from './near-timeout.ts'
import { nextStep, type Step, type Target } from './next-step.ts'
import { Pace } from './pace.ts'
import { identityOf, startOf } from './start.ts'
import { HEAD_WAS_FALSE, watchHead } from './watch-head.ts'

/** What a stream brings. */
export type StreamItem<I, L> =
  | { readonly type: 'block'; readonly block: I; readonly logs: L[] | undefined; readonly cursor: FollowCursor }
  | { readonly type: 'rollback'; readonly to: number; readonly blocks: readonly BlockRef[]; readonly cursor: FollowCursor }

/** How a round ends: with more to do at once, or with a wait for the bell. */
type RoundEnd = 'more' | 'wait'

/** How a delivery ends. `forked`: before a block that is not a child of the last one delivered. */
type DeliveryEnd = 'done' | 'forked'

/**
 * Times in a row that a node does not know the replaced blocks, until the stream ends: it may be
 * behind. They take two seconds.
 */
const MOST_LOST = 4

/**
 * Streams blocks from history through the head, and rollbacks of blocks that were replaced.
 * `itemOf` makes what is yielded: a generator around this one could do that too, but would delay
 * each block.
 */
export function followStream<I, L, T>(
  client: Client,
  job: FollowJob,
  reader: FollowReader<never, never, I, L>,
  itemOf: (item: StreamItem<I, L>) => T,
): AsyncGenerator<T, void, undefined> {
  const items = Follower.items(client, job, reader, itemOf)
  // What a consumer throws in ends the stream: it is no failure of a round.
  items.throw = async (error) => {
    await items.return()
    throw error
  }
  return items
}

/**
 * Works in rounds: looks at the head, decides what to do next (`nextStep`), does it, and waits for
 * the bell, which rings for a new head. If the bell announces exactly the block that comes next,
 * the block is requested at once, and the next round only delivers it. A failure ends a round, but
 * ends the stream only if waiting cannot cure it.
 */
class Follower<I, L, T> {
  readonly #client: Client
  readonly #nearBlocks: NearBlocks<I, L>
  readonly #job: FollowJob
  readonly #reader: FollowReader<never, never, I, L>
  readonly #itemOf: (item: StreamItem<I, L>) => T
  readonly #identity: ChainIdentity
  readonly #chain: HeldChain
  readonly #bell: Bell
  readonly #pace: Pace
  readonly #timeout: NearTimeout
  readonly #report: FollowReport
  readonly #farBelow: FarBelow
  /** Failures that contradict what is known, or say what nobody knows. */
  readonly #contradictions = new Contradictions()
  /** Times in a row that the node did not know the replaced blocks. */
  #lost = 0

  /**
   * The rounds, one after the other. Static, since a follower can only be made once the first calls
   * are answered, and another generator for that would delay each block.
   */
  static async *items<I, L, T>(
    client: Client,
    job: FollowJob,
    reader: FollowReader<never, never, I, L>,
    itemOf: (item: StreamItem<I, L>) => T,
  ): AsyncGenerator<T, void, undefined> {
    const { signal } = job
    signal?.throwIfAborted()
    const asked = client.with(signal ? { signal } : {})
    const identity = await identityOf(asked)
    const bell = startBell(client, signal)
    try {
      const chain = new HeldChain(await startOf(asked, job, identity, bell))
      const follower = new Follower(asked, job, reader, itemOf, { identity, chain, bell })
      let announced: Announced<I, L> | undefined
      // The calls of a round belong together: they go to one endpoint, as long as that answers.
      let pinned = follower.#pinned()
      for (;;) {
        let end: RoundEnd = 'wait'
        try {
          const block = announced && (await announced.block)
          if (announced !== undefined) follower.#timeout.took(follower.#now() - announced.askedAt)
          if (block === undefined) end = yield* follower.#round(pinned)
          else if (!chain.fits(block.parentHash)) end = yield* follower.#rollBack(pinned, 'fetch')
          else {
            follower.#pace.found(1, follower.#now())
            yield follower.#delivered(block)
            follower.#report.tell()
          }
        } catch (error) {
          follower.#failed(error)
        }
        // For the next round, before the bell rings: no block waits for it.
        pinned = follower.#pinned()
        announced = end === 'more' ? undefined : await bell.wait(follower.#waitMs(), (told) => follower.#requestAnnounced(pinned, told))
      }
    } catch (error) {
      throw error instanceof IntegrityError ? scrubError(error, connectionsOf(client)) : error
    } finally {
      bell.stop()
    }
  }

  private constructor(
    client: Client,
    job: FollowJob,
    reader: FollowReader<never, never, I, L>,
    itemOf: (item: StreamItem<I, L>) => T,
    { identity, chain, bell }: Started,
  ) {
    this.#client = client
    this.#nearBlocks = new NearBlocks(client, job, reader, identity.chainId ?? undefined)
    this.#timeout = new NearTimeout(timeoutOf(client))
    this.#job = job
    this.#reader = reader
    this.#itemOf = itemOf
    this.#identity = identity
    this.#chain = chain
    this.#report = new FollowReport(job.onProgress, chain)
    this.#farBelow = new FarBelow(chain)
    this.#bell = bell
    this.#pace = new Pace(this.#now())
  }

  /** The client for what is small, near the head, and belongs together. */
  #pinned(): Client {
    return this.#client.with({ attempts: ATTEMPTS_NEAR_HEAD, timeoutMs: this.#timeout.ms }).pinned()
  }

  /** How long to wait for the bell, in ms. */
  #waitMs(): number {
    return this.#pace.waitMs(this.#now(), this.#bell.isLive, Math.random())
  }

  /**
   * Requests the block that a bell announces, if it is the one that comes next: no block waits for
   * a whole round.
   */
  #requestAnnounced(pinned: Client, told: ToldHead): Announced<I, L> | undefined {
    const step = nextStep(this.#chain, targetFrom(told, this.#chain, this.#job.confirmations))
    if (step.type !== 'fetch' || step.from !== step.to) return undefined
    this.#report.head = step.to
    const askedAt = this.#now()
    const block = this.#nearBlocks.single(pinned, step.to)
    // It is awaited as soon as the wait for the bell has ended.
    block.catch(() => {})
    return { block, askedAt }
  }

  /** Does what is next. */
  async *#round(pinned: Client): AsyncGenerator<T, RoundEnd, undefined> {
    const target = await this.#target(pinned)
    if (target !== undefined) {
      this.#report.head = target.number
      this.#checkStart(target.number)
    }
    const step = nextStep(this.#chain, target)
    if (step.type === 'wait') {
      this.#pace.missed()
      this.#contradictions.clear()
      this.#report.tellOfWaiting()
      const lag = this.#farBelow.lookedInVain(target)
      // The stream waits until the node has what was delivered, which may be for ever.
      if (lag !== undefined) this.#report.tell(lag)
      return 'wait'
    }
    if (step.type === 'compare') return yield* this.#rollBack(pinned, step.type)
    const before = this.#report.blocks
    const delivery = step.type === 'catch-up' ? yield* this.#catchUp(step) : yield* this.#deliver(this.#nearBlocks.fetch(pinned, step), step)
    if (delivery === 'forked') return yield* this.#rollBack(pinned, step.type)
    const found = this.#report.blocks - before
    if (step.type === 'fetch' && found < CAUGHT_UP) this.#pace.found(found, this.#now())
    else this.#pace.caughtUp(this.#now())
    return step.type === 'catch-up' ? 'more' : 'wait'
  }

  /**
   * Takes the start again where `latest` gave a false one, far too high: the stream would wait for
   * it practically for ever. The start that a user has given is never replaced.
   */
  #checkStart(head: number): void {
    const mayBeFalse = this.#job.from === 'latest' && this.#report.blocks === 0
    if (mayBeFalse && this.#farBelow.lookedBeforeStart(head)) this.#chain.beginAt(head)
  }

  async #target(client: Client): Promise<Target | undefined> {
    const { confirmations } = this.#job
    return targetFrom(this.#bell.take(), this.#chain, confirmations) ?? (await look(client, confirmations))
  }

  /** Delivers blocks at bulk speed, as long as the head is not far below the last of them. */
  async *#catchUp(step: Extract<Step, { readonly type: 'catch-up' }>): AsyncGenerator<T, DeliveryEnd, undefined> {
    const { stop, end } = stopWith(this.#job.signal)
    const unwatch = watchHead(this.#client, this.#job.confirmations, step.to, stop)
    try {
      return yield* this.#deliver(
        deepBlocks(this.#client, step, { ...this.#job, signal: stop.signal }, this.#reader, this.#identity.chainId ?? undefined),
        step,
      )
    } catch (error) {
      if (error === HEAD_WAS_FALSE) return 'done'
      throw error
    } finally {
      unwatch()
      end()
    }
  }

  async *#deliver(blocks: AsyncIterable<SourceBlock<I, L>>, step: { readonly from: number; readonly to: number }): AsyncGenerator<T, DeliveryEnd, undefined> {
    const askedAt = this.#now()
    for await (const block of blocks) {
      if (step.from === step.to) this.#timeout.took(this.#now() - askedAt)
      if (!this.#chain.fits(block.parentHash)) return 'forked'
      yield this.#delivered(block)
      this.#report.tell()
    }
    return 'done'
  }

  #delivered({ hash, item, logs }: SourceBlock<I, L>): T {
    this.#chain.add(hash)
    this.#report.blocks++
    this.#contradictions.clear()
    this.#pace.came()
    return this.#made({ type: 'block', block: item, logs, cursor: cursorAt(this.#identity, this.#chain.position) })
  }

  /** Delivers a rollback of the blocks that were replaced, if there were any. */
  async *#rollBack(pinned: Client, step: Step['type']): AsyncGenerator<T, RoundEnd, undefined> {
    const fate = await findFate(pinned, this.#chain)
    this.#lost = fate.type === 'lost' ? this.#lost + 1 : 0
    if (fate.type === 'same') {
      this.#pace.missed()
      // A block whose parent is another one than the node itself has in its place.
      if (step !== 'compare') throw new IntegrityError(`block ${this.#chain.next} is not a child of block ${this.#chain.next - 1} as the node has it`)
      return 'wait'
    }
    if (fate.type === 'lost') throw this.#lost < MOST_LOST ? fate.error : new Fatal(fate.error)
    const blocks = [...this.#chain.rollBackTo(fate.ancestor, fate.hash), ...fate.older]
    this.#report.rollbacks++
    yield this.#made({ type: 'rollback', to: fate.ancestor, blocks, cursor: cursorAt(this.#identity, this.#chain.position) })
    this.#report.tell()
    return 'more'
  }

  #made(item: StreamItem<I, L>): T {
    try {
      return this.#itemOf(item)
    } catch (error) {
      throw new Fatal(error)
    }
  }

  /** Throws what ends the stream. */
  #failed(error: unknown): void {
    this.#job.signal?.throwIfAborted()
    if (error instanceof Fatal) throw error.error
    if (!isFailure(error)) throw error
    const isContradiction = error instanceof IntegrityError ? error.kind === 'integrity' : error instanceof CodecError && error.kind === 'malformed'
    // What a node says in unknown words may pass, too, and a gateway may have a node again.
    const isDoubtful = isContradiction || isGuessed(error) || hasLostNode(error)
    if (isDoubtful ? this.#contradictions.add(this.#now()) : mayRepeat(error) !== true) throw error
    if (error.kind === 'timeout') this.#timeout.ranOut()
    this.#pace.failed()
    this.#report.tell(error)
  }

  #now(): number {
    return clockOf(this.#client).now()
  }
}

/** An error that ends the stream, whatever its kind. */
class Fatal {
  readonly error: unknown

  constructor(error: unknown) {
    this.error = error
  }
}

/** What the first calls of a stream have shown, and the bell that rings since then. */
interface Started {
  readonly identity: ChainIdentity
  readonly chain: HeldChain
  readonly bell: Bell
}

/**
 * A block that was announced, and is on its way: not the bare promise, which the wait for the bell
 * would wait for, too.
 */
interface Announced<I, L> {
  readonly block: Promise<SourceBlock<I, L>>
  readonly askedAt: number
}

/** Several new blocks at once are not a measure of the time between blocks. */
const CAUGHT_UP = 64
