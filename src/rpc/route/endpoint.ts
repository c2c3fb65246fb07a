import { type HexlineError, IntegrityError, NetworkError } from '../../errors.ts'
import { excerpt } from '../../text.ts'
import type { Clock } from '../../wait/clock.ts'
import { type Call, decodedOf, movedReply, ownRead, type Reply } from '../call.ts'
import { CallFailure } from '../call-failure.ts'
import { isStall } from '../failure-kinds.ts'
import type { Queue } from '../queue/queue.ts'
import { serverMessage } from '../server-message.ts'
import { setBounded } from '../set-bounded.ts'
import { Chain, notSent, TELLS_NOTHING } from './chain.ts'
import { Challenge } from './challenge.ts'
import { type Head, Heads } from './head.ts'
import { type Health, Usual } from './health.ts'
import { History } from './history.ts'
import { OwnChain } from './own-chain.ts'
import { HEAD, type Protocol, type Trait } from './protocol.ts'
import { isNull, takeResult } from './require-result.ts'

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

  constructor(protocol: Protocol, declaredChain: number | undefined) {
    this.protocol = protocol
    this.chain = new Chain(declaredChain)
  }
}

/** Longest wait for the answer to a question of hexline's own, in ms. */
const ASK_MS = 3_000
/**
 * Depth below the newest block from which a block is missing since it was dropped, not since it has
 * not come yet: full nodes keep the state of 128 blocks.
 */
const OLD = 128
/**
 * Depth from which a node cannot be so far behind the others behind the same URL: hours on
 * Ethereum, and minutes on the fastest chains, as long as a call waits.
 */
const DEEP = 1024
/** How often an endpoint is asked for a block near a head that is doubted, at most, in ms. */
const DOUBTED_EVERY_MS = 2_000
/** Answers from which nothing has been learnt yet, at most. */
const MOST_DEFERRED = 64
/** How long it is remembered that an endpoint does not have a method, in ms. */
const REMEMBERED_MS = 600_000

/**
 * An endpoint as routing sees it. It sends calls to its queue (`ask`, or `askAlone` for a client's
 * only endpoint) and learns from what becomes of them: how well it works (`health`), its newest
 * block (`head`), how far back its data reach (`history`), and which methods it lacks.
 *
 * What calls do not show, it asks the node for: its newest block, after ten seconds without calls
 * (`askHead`), and before a range that it may not have to its end (`#requireBlock`); its chain,
 * together with the first calls to one of several (own-chain.ts); the oldest block that it has,
 * when a call needs an old one (`#askHistory`); a block near the head that it tells, where that is
 * doubted (`#askForProof`); and whether it still answers (challenge.ts).
 */
export class Endpoint {
  readonly name: string
  readonly queue: Queue
  readonly health: Health
  readonly head: Head
  readonly history: History
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
  /** The client has no other endpoint. */
  readonly #isOnly: boolean
  /** Methods that it does not have for this key, and when it said so. */
  readonly #missing = new Map<string, number>()
  /** The params of calls that were answered with an object, from which nothing is learnt yet. */
  readonly #deferred: { readonly params: readonly unknown[]; readonly trait: Trait | undefined; readonly at: number }[] = []
  /** When to ask it again for a block near the head that it tells, if that is doubted. */
  #askForProofAt = Number.NEGATIVE_INFINITY
  /** It has been asked how far back its data reach. */
  #hasBeenAskedHistory = false

  constructor({ queue, progress, health, since }: EndpointOptions, group: EndpointGroup, isOnly: boolean, clock: Clock) {
    this.name = queue.name
    this.queue = queue
    this.health = health
    this.#challenge = new Challenge({ queue, health, progress }, group.protocol.askHead, clock)
    this.head = group.heads.add(clock.now())
    this.history = new History(since)
    this.#group = group
    this.#clock = clock
    this.#isOnly = isOnly
    this.ownChain = new OwnChain(queue, group.protocol, group.chain, isOnly)
  }

  /**
   * Its answer. The first calls ask for its chain too, in the same POST: no caller gets an answer
   * from another chain.
   */
  async ask(call: Call, trait: Trait | undefined): Promise<Reply> {
    const last = trait?.endsAtHead?.(call.params)
    if (last !== undefined && this.#group.heads.mayLack(this.head, last)) await this.#requireBlock(last, call)
    const started = this.#clock.now()
    this.health.calls++
    if (!this.#hasBeenAskedHistory && !this.#isOnly && this.#isOld(call, trait)) void this.#askHistory(started)
    try {
      const reply = this.ownChain.isRight ? await this.queue.send(call) : await this.ownChain.send(call)
      this.#measure(call, started)
      return trait?.tells === undefined && !call.required ? reply : this.#learnFromReply(reply, call, trait, started)
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
      this.#learnDeferred()
      if (failure instanceof CallFailure && isMissing(failure)) this.#lacksBlock(failure.error, call, trait, started)
      throw failure
    }
    return this.queue.send(call).then((reply) => {
      try {
        return isAwaited ? this.#learnFromReplyLater(reply, call, trait, started) : this.#learnFromReply(reply, call, trait, started)
      } catch (failure) {
        return learn(failure)
      }
    }, learn)
  }

  /** Why it is never used again. */
  get wrong(): HexlineError | undefined {
    return this.ownChain.wrong
  }

  /** As far as is known, it does not have the oldest block that the call needs. */
  lacksHistory(trait: Trait, params: readonly unknown[], now: number): boolean {
    if (trait.reads === undefined) return false
    const block = oldestOf(trait, params)
    return block !== undefined && this.history.lacks(trait.reads, block, now, this.#group.protocol.partOf[trait.reads])
  }

  /** It has said that it does not have the method. */
  lacks(method: string, now: number): boolean {
    const at = this.#missing.get(method)
    return at !== undefined && now - at < REMEMBERED_MS
  }

  /** As far as is known, it has the method, and the oldest block that the call needs. */
  canAnswer({ method, params }: Call, trait: Trait | undefined, now: number): boolean {
    return !this.lacks(method, now) && !(trait !== undefined && this.lacksHistory(trait, params, now))
  }

  /**
   * Asks for its newest block, and in the same POST for its chain where that is not known yet.
   * Learns from the answer, and from silence. Never rejects.
   */
  async askHead(signal?: AbortSignal | undefined, deadline = Number.POSITIVE_INFINITY): Promise<void> {
    const { protocol, heads } = this.#group
    const now = this.#clock.now()
    heads.asked(this.head, now)
    this.isAskedForHead = true
    const call = ownRead({ ...protocol.askHead, whilePaused: 'fail', isBound: true, signal, deadline: Math.min(deadline, now + ASK_MS) })
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
    const { whilePaused, isBound, signal, deadline, timeoutMs, method } = call
    const question = ownRead({ ...protocol.askHead, whilePaused, isBound, signal, deadline, timeoutMs })
    if (this.lacks(question.method, this.#clock.now())) return
    const trait = protocol.traitOf(question.method)
    try {
      await (this.ownChain.isRight ? this.ask(question, trait) : this.#askFirst(question, trait))
    } catch (failure) {
      if (failure instanceof CallFailure && TELLS_NOTHING.includes(failure.error.kind)) return
      throw notSent(failure, call, this.name)
    }
    if (!heads.mayLack(this.head, number)) return
    const message = `${this.name} is at block ${this.head.number}, and would leave out what is in block ${number}, which another endpoint has`
    this.said = message
    throw new CallFailure(new IntegrityError(message, { kind: 'lagging', method, endpoint: this.name }), 0, this.name)
  }

  /** It has been silent for a while: gives it up unless it still answers. Never rejects. */
  async challenge(goesElsewhere: (call: Call) => boolean): Promise<void> {
    if ((await this.#challenge.isLost()) && !this.health.isOut) this.giveUp(this.#clock.now(), 'no reply', goesElsewhere)
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
    this.health.giveUp(now)
    this.queue.giveUp(goesElsewhere)
  }

  #measure({ method }: Call, started: number): void {
    const now = this.#clock.now()
    if (!this.health.hasMeasured(now)) this.health.took(this.#group.usual.times(method, now - started), now)
  }

  /** The reply, from which its head and its history are learnt. Throws where null is `lagging`. */
  #learnFromReply(reply: Reply, call: Call, trait: Trait | undefined, started: number): Reply {
    // In the order in which they came.
    this.#learnDeferred()
    const decoded = decodedOf(reply)
    const value = decoded ?? takeResult(reply, call, this.name)
    if (!isNull(value)) {
      const needed = trait?.needs?.(call.params)
      const { heads } = this.#group
      const told = value instanceof Uint8Array ? ofBytes(value, trait, needed) : trait?.tells?.(value, call.params)
      if (told !== undefined) {
        if (needed === HEAD) {
          const now = this.#clock.now()
          heads.told(this.head, told, now, started)
          if (heads.isDoubted(this.head)) this.#askForProof(told, now)
        } else heads.answeredFor(this.head, told)
        call.pin?.sees(told)
      }
      const oldest = trait?.reads === undefined ? undefined : oldestOf(trait, call.params)
      // No logs at all is also what some nodes answer for blocks that they have dropped.
      if (oldest !== undefined && !isEmpty(value)) this.history.answered(trait?.reads as string, oldest, this.#clock.now())
    }
    return decoded === undefined ? movedReply(reply, value) : reply
  }

  /**
   * The same for a caller who does not wait for it: an object shows only that its block is there,
   * and that is learnt with the next reply or failure.
   */
  #learnFromReplyLater(reply: Reply, call: Call, trait: Trait | undefined, started: number): Reply {
    if (decodedOf(reply) !== undefined) return this.#learnFromReply(reply, call, trait, started)
    const value = takeResult(reply, call, this.name)
    const taken = movedReply(reply, value)
    if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Uint8Array)
      return this.#learnFromReply(taken, call, trait, started)
    if (this.#deferred.push({ params: call.params, trait, at: started }) >= MOST_DEFERRED) this.#learnDeferred()
    return taken
  }

  /** Learns from the answers that were left for later. */
  #learnDeferred(): void {
    if (this.#deferred.length === 0) return
    for (const { params, trait, at } of this.#deferred) {
      const needed = trait?.needs?.(params)
      if (needed !== undefined && needed !== HEAD) this.#group.heads.answeredFor(this.head, needed)
      const oldest = trait?.reads === undefined ? undefined : oldestOf(trait, params)
      if (oldest !== undefined) this.history.answered(trait?.reads as string, oldest, at)
    }
    this.#deferred.length = 0
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
      setBounded(this.#missing, call.method, now)
    }
    if (kind === 'network') this.#group.heads.unreached(this.head)
    if (isMissing(failure)) this.#lacksBlock(error, call, trait, started)
  }

  /**
   * Learns which blocks it does not have. A failure as of a block that does not exist yet becomes
   * `pruned` once the block is known to be gone: then asking again cannot help.
   */
  #lacksBlock(error: HexlineError, { params, tried }: Call, trait: Trait | undefined, started: number): void {
    const { heads, protocol } = this.#group
    const { head, history } = this
    const now = this.#clock.now()
    const oldest = trait && oldestOf(trait, params)
    const needed = trait?.needs?.(params)
    // What may not exist has not been dropped.
    if (error.kind === 'lagging' && needed !== undefined && heads.claimsAlone(head, needed)) {
      this.#askForProof(head.number, now)
      heads.missedClaimed(head, needed, started, now)
      return
    }
    if (trait?.reads !== undefined && oldest !== undefined) {
      const isGone = error.kind === 'lagging' && history.missed(trait.reads, oldest, heads.isOld(head, oldest, DEEP), started, now)
      if (isGone) {
        Object.assign(error, { kind: 'pruned', message: `${error.message}; block ${oldest} is old, so the node has dropped it` })
      }
      if (error.kind === 'pruned' || heads.isOld(head, oldest, OLD)) {
        history.failed(trait.reads, oldest, heads.newest, protocol.oldestIn(error), now)
        void this.#askHistory(now)
        return
      }
      // Whether a block is old shows only beside a newer one. Several endpoints are asked for
      // theirs in any case.
      if (this.#isOnly && tried.length > 0 && now >= head.askAt) void this.#askNewest(now)
    }
    if (error.kind === 'lagging' && needed !== undefined && needed !== HEAD) heads.missed(head, needed, now)
  }

  /** Asks for its newest block; nothing else is learnt from the answer. Never rejects. */
  #askNewest(now: number): Promise<void> {
    const { protocol, heads } = this.#group
    heads.asked(this.head, now)
    return this.#learnFromAnswer(protocol.askHead, now)
  }

  /**
   * The head that it tells is doubted: asks for a block that it has if that head is true. Without
   * an answer, the next failure asks again, or the next time that it tells its head.
   */
  #askForProof(told: number, now: number): void {
    if (now < this.#askForProofAt) return
    this.#askForProofAt = now + DOUBTED_EVERY_MS
    const { protocol, heads } = this.#group
    void this.#learnFromAnswer(protocol.askBlock(heads.proofOf(told)), now)
  }

  /** Learns from the answer to a question of hexline's own, if one comes. Never rejects. */
  async #learnFromAnswer(question: Pick<Call, 'method' | 'params'>, now: number): Promise<void> {
    const call = ownRead({ ...question, whilePaused: 'fail', isBound: true, deadline: now + ASK_MS })
    try {
      this.#learnFromReply(await this.queue.send(call), call, this.#group.protocol.traitOf(call.method), now)
    } catch {
      // The next failure asks again.
    }
  }

  /** The call is for a block from which on a node may have dropped something. */
  #isOld({ params }: Call, trait: Trait | undefined): boolean {
    const oldest = trait?.reads === undefined ? undefined : oldestOf(trait, params)
    return oldest !== undefined && this.#group.heads.isOld(this.head, oldest, OLD)
  }

  /** Asks once how far back its data reach; most nodes do not have the method. Never rejects. */
  async #askHistory(now: number): Promise<void> {
    if (this.#hasBeenAskedHistory) return
    this.#hasBeenAskedHistory = true
    const { askHistory, historyOf } = this.#group.protocol
    try {
      const reply = await this.queue.send(ownRead({ ...askHistory, whilePaused: 'fail', isBound: true, deadline: now + ASK_MS }))
      for (const [resource, oldest] of historyOf(reply.take())) this.history.toldOldest(resource, oldest, this.#clock.now())
    } catch {
      // Its failures show it.
    }
  }

  /** A question of hexline's own to an endpoint whose chain is not known yet. */
  async #askFirst(call: Call, trait: Trait | undefined): Promise<void> {
    const started = this.#clock.now()
    try {
      this.#learnFromReply(await this.ownChain.sendQuestion(call), call, trait, started)
    } catch (failure) {
      if (failure instanceof CallFailure) this.#learnFromFailure(failure, call, trait, started)
      throw failure
    }
  }
}

/** The number of the oldest block that a call needs; undefined for the newest one, or none. */
function oldestOf(trait: Trait, params: readonly unknown[]): number | undefined {
  const block = trait.oldest === undefined ? trait.needs?.(params) : trait.oldest(params)
  return block === HEAD ? undefined : block
}

/** The call failed as if what it asks for did not exist. */
function isMissing({ error }: CallFailure): boolean {
  return error.kind === 'lagging' || error.kind === 'pruned'
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
