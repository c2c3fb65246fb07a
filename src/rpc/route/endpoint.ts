import { type HexlineError, IntegrityError, NetworkError } from '../../errors.ts'
import { excerpt } from '../../text.ts'
import type { Clock } from '../../wait/clock.ts'
import type { Call, Reply } from '../call.ts'
import { CallFailure } from '../call-failure.ts'
import { isStall } from '../failure-kinds.ts'
import type { Queue } from '../queue/queue.ts'
import { serverMessage } from '../server-message.ts'
import { setBounded } from '../set-bounded.ts'
import { Chain, notSent, TELLS_NOTHING } from './chain.ts'
import { Challenge } from './challenge.ts'
import { Heads } from './head.ts'
import { type Health, Usual } from './health.ts'
import { KnownBlocks } from './known-blocks.ts'
import { OwnChain } from './own-chain.ts'
import { ownQuestion, questionFor } from './own-question.ts'
import type { Protocol, Trait } from './protocol.ts'

/** An endpoint as the client made it. */
export interface EndpointOptions {
  readonly queue: Queue
  /** Progress of its replies, where that is known. */
  readonly progress?: { readonly resumedAt: number } | undefined
  readonly health: Health
  /** Id of the chain that it was declared to be on. */
  readonly chainId?: number | undefined
  /** The oldest block that it has, as the user says. */
  readonly since?: number | undefined
}

/** What the endpoints of a client have in common. */
export class EndpointGroup {
  readonly protocol: Protocol
  readonly chain: Chain
  readonly heads = new Heads()
  readonly usual = new Usual()
  /** Called when an endpoint lacks a method or blocks that it was not known to lack. */
  onLacking: (endpoint: Endpoint) => void = () => {}

  constructor(protocol: Protocol, declaredChain: number | undefined) {
    this.protocol = protocol
    this.chain = new Chain(declaredChain)
  }
}

/** How long it is remembered that an endpoint does not have a method, in ms. */
const REMEMBERED_MS = 600_000

/**
 * An endpoint as routing sees it. It sends calls to its queue (`ask`, or `askAlone` for a client's
 * only endpoint) and learns from what becomes of them: how well it works (`health`), which blocks
 * it has (`blocks`), and which methods it lacks.
 *
 * What calls do not show, the node is asked for:
 *
 * - its newest block, after ten seconds without calls (`askHead`), and before a range that it may
 *   not have to its end (`#requireBlock`);
 * - its chain, together with the first calls to one of several (own-chain.ts);
 * - how far back its data reach, and whether a head that is doubted is true (known-blocks.ts);
 * - whether it still answers (challenge.ts).
 */
export class Endpoint {
  readonly name: string
  readonly queue: Queue
  readonly health: Health
  readonly blocks: KnownBlocks
  readonly ownChain: OwnChain
  /** A question for its head is on the way. */
  isAskedForHead = false
  /** Its last failure, in one line. */
  said: string | undefined
  readonly #challenge: Challenge
  readonly #group: EndpointGroup
  readonly #clock: Clock
  /** End of the last outage for which the calls in its line were turned away. */
  #turnedAwayUntil = 0
  /** Methods that it does not have for this key, and when it said so. */
  readonly #missing = new Map<string, number>()
  #givenUpAt = Number.NEGATIVE_INFINITY

  constructor({ queue, progress, health, since }: EndpointOptions, group: EndpointGroup, isOnly: boolean, clock: Clock) {
    this.name = queue.name
    this.queue = queue
    this.health = health
    this.#challenge = new Challenge({ queue, health, progress }, group.protocol.askHead, clock)
    const { heads, protocol } = group
    this.blocks = new KnownBlocks({ queue, heads, protocol, since, isOnly, onLacking: () => group.onLacking(this) }, clock)
    this.#group = group
    this.#clock = clock
    this.ownChain = new OwnChain(queue, group.protocol, group.chain, isOnly)
  }

  /**
   * Its answer. The first calls ask for its chain too, in the same POST: no caller gets an answer
   * from another chain.
   */
  async ask(call: Call, trait: Trait | undefined): Promise<Reply> {
    const last = trait?.endsAtHead?.(call.params)
    if (last !== undefined && this.#group.heads.mayLack(this.blocks.head, last)) await this.#requireBlock(last, call)
    const started = this.#clock.now()
    this.health.calls++
    this.blocks.askIfOld(call, trait, started)
    try {
      const reply = this.ownChain.isRight ? await this.queue.send(call) : await this.ownChain.send(call)
      this.#measure(call, started)
      return trait?.tells === undefined && !call.required ? reply : this.blocks.answered(reply, call, trait, started)
    } catch (failure) {
      if (failure instanceof CallFailure) this.#learnFromFailure(failure, call, trait, started)
      throw failure
    } finally {
      this.health.calls--
    }
  }

  /**
   * Its answer, where it is the client's only endpoint: there is no other to go to, so its health
   * says nothing, and neither does its chain. What the first answer to an interactive call shows
   * matters to failures alone: the caller does not wait until it is learnt.
   */
  askAlone(call: Call, trait: Trait | undefined): Promise<Reply> {
    const started = this.#clock.now()
    const isAwaited = call.priority === 'interactive' && call.tried.length === 0
    const learn = (failure: unknown): never => {
      this.blocks.learnDeferred()
      if (failure instanceof CallFailure && isMissing(failure)) this.blocks.missed(failure.error, call, trait, started)
      throw failure
    }
    return this.queue.send(call).then((reply) => {
      try {
        return isAwaited ? this.blocks.answeredAtOnce(reply, call, trait, started) : this.blocks.answered(reply, call, trait, started)
      } catch (failure) {
        return learn(failure)
      }
    }, learn)
  }

  /** Why it is never used again. */
  get wrong(): HexlineError | undefined {
    return this.ownChain.wrong
  }

  /** It can be sent a call now. */
  isFree(now: number): boolean {
    return this.wrong === undefined && !this.health.isOut && this.queue.pausedUntil <= now
  }

  /** It has said that it does not have the method. */
  lacks(method: string, now: number): boolean {
    const at = this.#missing.get(method)
    return at !== undefined && now - at < REMEMBERED_MS
  }

  /** As far as is known, it has the method, and the oldest block that the call needs. */
  canAnswer({ method, params }: Call, trait: Trait | undefined, now: number): boolean {
    return !this.lacks(method, now) && !(trait !== undefined && this.blocks.lack(trait, params, now))
  }

  /**
   * Asks for its newest block, and in the same POST for its chain where that is not known yet.
   * Learns from the answer, and from silence. Never rejects.
   */
  async askHead(signal?: AbortSignal | undefined, deadline = Number.POSITIVE_INFINITY): Promise<void> {
    const { protocol, heads } = this.#group
    const now = this.#clock.now()
    heads.asked(this.blocks.head, now)
    this.isAskedForHead = true
    const call = ownQuestion(protocol.askHead, now, { signal, deadline })
    try {
      const trait = protocol.traitOf(call.method)
      await (this.ownChain.isRight ? this.ask(call, trait) : this.#askFirst(call, trait))
    } catch {
      // A question that was cut short for the caller's sake says nothing.
      if (!signal?.aborted && this.#clock.now() < deadline) this.health.missed(this.#clock.now())
    } finally {
      this.isAskedForHead = false
    }
  }

  /**
   * Throws unless the endpoint has this block, which another one has: asks for its newest one. A
   * node that lags would leave out, without a word, what is in the blocks that it does not have.
   * One that does not tell its newest block is not known to lag.
   */
  async #requireBlock(number: number, call: Call): Promise<void> {
    const { protocol, heads } = this.#group
    const { method } = call
    const question = questionFor(call, protocol.askHead)
    if (this.lacks(question.method, this.#clock.now())) return
    const trait = protocol.traitOf(question.method)
    try {
      await (this.ownChain.isRight ? this.ask(question, trait) : this.#askFirst(question, trait))
    } catch (failure) {
      if (failure instanceof CallFailure && TELLS_NOTHING.includes(failure.error.kind)) return
      throw notSent(failure, call, this.name)
    }
    if (!heads.mayLack(this.blocks.head, number)) return
    const message = `${this.name} is at block ${this.blocks.head.number}, and would leave out what is in block ${number}, which another endpoint has`
    this.said = message
    throw new CallFailure(new IntegrityError(message, { kind: 'lagging', method, endpoint: this.name }), 0, this.name)
  }

  /** It has been silent for a while: gives it up unless it still answers. Never rejects. */
  async challenge(goesElsewhere: (call: Call) => boolean): Promise<void> {
    if ((await this.#challenge.isLost()) && !this.isGivenUp) this.giveUp(this.#clock.now(), 'no reply', goesElsewhere)
  }

  /** No call waits any more. */
  endChallenge(): void {
    this.#challenge.end()
  }

  /**
   * It has been silent for too long: it is left out, and reads that wait for it go elsewhere, where
   * another endpoint can answer them.
   */
  giveUp(now: number, why: string, goesElsewhere: (call: Call) => boolean): void {
    this.said = `${this.name}: ${why}`
    this.#givenUpAt = now
    this.health.giveUp(now)
    this.queue.giveUp(goesElsewhere)
  }

  /** It has been given up, and has not answered since. */
  get isGivenUp(): boolean {
    return this.health.isOut && this.#givenUpAt > this.health.answeredAt
  }

  /**
   * Reads stayed when it was given up, because no other endpoint could answer them: they go where
   * one can by now. For those that stay, the others are asked for their heads.
   */
  giveUpLeft(goesElsewhere: (call: Call) => boolean): void {
    let someStay = false
    this.queue.giveUpSent((call) => {
      const goes = goesElsewhere(call)
      someStay ||= !goes
      return goes
    })
    if (someStay) this.#group.heads.awaited()
  }

  #measure({ method }: Call, started: number): void {
    const now = this.#clock.now()
    if (!this.health.hasMeasured(now)) this.health.took(this.#group.usual.times(method, now - started), now)
  }

  #learnFromFailure(failure: CallFailure, call: Call, trait: Trait | undefined, started: number): void {
    const { error, wasSent } = failure
    const now = this.#clock.now()
    const { kind } = error
    const words = serverMessage(error)
    if (wasSent) this.said = excerpt(words.startsWith(this.name) ? words : `${this.name}: ${words}`)
    // When every call of a POST times out by itself, the POST is cut, and does not count as a
    // failed one.
    if (kind === 'timeout' && wasSent && !isStall(error)) this.health.failed(now, started)
    if (this.health.isOut && this.health.dueAt !== this.#turnedAwayUntil) {
      this.#turnedAwayUntil = this.health.dueAt
      this.queue.turnAway(new NetworkError(`${this.name}: not sent, since it is left out: ${this.said}`, { endpoint: this.name, unsent: true }))
    }
    if (kind === 'unsupported' || kind === 'auth') {
      const wasKnown = this.lacks(call.method, now)
      setBounded(this.#missing, call.method, now)
      if (!wasKnown) this.#group.onLacking(this)
    }
    if (kind === 'network') this.#group.heads.unreached(this.blocks.head)
    if (isMissing(failure)) this.blocks.missed(error, call, trait, started)
  }

  /** A question of hexline's own to an endpoint whose chain is not known yet. */
  async #askFirst(call: Call, trait: Trait | undefined): Promise<void> {
    const started = this.#clock.now()
    try {
      this.blocks.answered(await this.ownChain.sendQuestion(call), call, trait, started)
    } catch (failure) {
      if (failure instanceof CallFailure) this.#learnFromFailure(failure, call, trait, started)
      throw failure
    }
  }
}

/** The call failed as if what it asks for did not exist. */
function isMissing({ error }: CallFailure): boolean {
  return error.kind === 'lagging' || error.kind === 'pruned'
}
