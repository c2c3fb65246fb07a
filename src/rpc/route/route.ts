import { HexlineError, IntegrityError, RpcError } from '../../errors.ts'
import type { Alarm } from '../../wait/alarms.ts'
import type { Waiting } from '../../wait/waiting.ts'
import { type Call, hasSubstitute, type Reply, replyOf, type Send, stayingPut, waitsForSlow } from '../call.ts'
import { CallFailure } from '../call-failure.ts'
import { copyError } from '../copy-error.ts'
import { routeEvents } from '../events.ts'
import { isGuessed, isThrottled, mayBeHeld, mayHaveRun, mayRepeat } from '../failure-kinds.ts'
import type { Pin } from '../pin.ts'
import { GIVEN_UP, MOVED } from '../queue/queue.ts'
import { Choice } from './choice.ts'
import { Endpoint, EndpointGroup, type EndpointOptions } from './endpoint.ts'
import { Filters } from './filters.ts'
import { Hedge, type HedgeOptions } from './hedge.ts'
import { Pass } from './pass.ts'
import type { Protocol, Trait } from './protocol.ts'

export interface RouteOptions {
  readonly endpoints: readonly [EndpointOptions, ...EndpointOptions[]]
  readonly protocol: Protocol
  readonly waiting: Waiting
  readonly hedge?: HedgeOptions | undefined
}

/**
 * Picks an endpoint for each call (choice.ts) by what earlier calls have shown: how well it works
 * (health.ts), how far its head is behind (head.ts), whether it is on the right chain (chain.ts),
 * and whether it has the method (endpoint.ts).
 *
 * A call that an endpoint did not start goes to the next one at once, and so does a read that waits
 * for an endpoint which has never answered. Every other failure goes back to the retry layer, which
 * lists in `tried` the endpoints that have failed the call.
 *
 * With one endpoint there is nothing to pick, and calls go straight to its queue. It is still
 * learnt which blocks that endpoint lacks, so that a call for a block that it has dropped fails at
 * once.
 */
export function route(options: RouteOptions): Send {
  const { endpoints, protocol, waiting, hedge } = options
  const [first, ...others] = endpoints
  if (others.length > 0 || hedge !== undefined) {
    const router = new Router(options)
    return (call) => router.send(call)
  }
  const only = new Endpoint(first, new EndpointGroup(protocol, first.chainId), true, waiting.clock)
  // An interactive call that may be null and has not failed takes the shortest way: nothing is
  // learnt from its answer.
  return (call) =>
    call.required || call.priority === 'bulk' || call.tried.length > 0 ? only.askAlone(call, protocol.traitOf(call.method)) : first.queue.send(call)
}

/** Rebalancing interval, in ms, while calls are waiting. */
const REBALANCE_MS = 250
/** A filter is gone when its endpoint has been out of use for this long, in ms. */
const FILTER_LOST_MS = 30_000
/** Longest wait for a second opinion on an interactive call whose error is a guess, in ms. */
const SECOND_OPINION_MS = 10_000
/** A call that cannot start within this time, in ms, moves to an endpoint that has none waiting. */
const LATE_MS = 1_000

class Router {
  readonly #protocol: Protocol
  readonly #endpoints: readonly Endpoint[]
  readonly #choice: Choice
  readonly #filters = new Filters<Endpoint>()
  readonly #hedge: Hedge | undefined
  readonly #waiting: Waiting
  readonly #rebalancing: Alarm = { at: 0, place: -1, ring: () => this.#rebalance() }
  /** Calls that have not ended. */
  #calls = 0

  constructor({ endpoints, protocol, hedge, waiting }: RouteOptions) {
    const group = new EndpointGroup(protocol, endpoints.find(({ chainId }) => chainId !== undefined)?.chainId)
    this.#protocol = protocol
    this.#endpoints = endpoints.map((each) => new Endpoint(each, group, endpoints.length === 1, waiting.clock))
    this.#choice = new Choice(group, this.#endpoints)
    this.#hedge = hedge && new Hedge(hedge, waiting)
    this.#waiting = waiting
  }

  async send(call: Call): Promise<Reply> {
    const trait = this.#protocol.traitOf(call.method)
    if (this.#calls++ === 0) this.#rebalanceSoon()
    try {
      return await (trait?.filter !== undefined ? this.#sendToFilter(call, trait) : this.#send(call, trait))
    } finally {
      if (--this.#calls === 0) this.#stopWatching()
    }
  }

  /**
   * Sends a call to one endpoint after another, until one answers, a failure is one for the retry
   * layer or for the caller, or no endpoint is left that is worth asking now.
   */
  async #send(call: Call, trait: Trait | undefined, onAnswer?: (endpoint: Endpoint) => void): Promise<Reply> {
    const pass = new Pass(call)
    const holder = this.#holderOf(call, trait)
    /** The name of the endpoint that had the call before, for the event. */
    let from = call.pin?.endpoint ?? call.tried.at(-1)
    for (;;) {
      const now = this.#now()
      this.#askHeads(now)
      const endpoint = holder ?? this.#choice.best(call, trait, pass.endpoints, now)
      if (pass.guessed !== undefined && (endpoint === undefined || !isFree(endpoint, now))) throw this.#failureOf(pass.guessed, call, pass)
      const isHopeless = (pass.isWorthWaiting && !endpoint?.canAnswer(call, trait, now)) || (pass.isBackSoon && endpoint?.health.isOut)
      // An endpoint that was given up may only be slow. Only the last attempt waits for it, if
      // others may do better before.
      const isForLater = endpoint?.isGivenUp === true && pass.hasPassingFailure && !waitsForSlow(call)
      if (endpoint === undefined || isHopeless || isForLater) throw this.#failureOf(pass.soonestToPass() ?? this.#allWrong(call), call, pass)
      try {
        if (call.pin !== undefined) await move(call.pin, endpoint, call)
        if (from !== undefined && from !== endpoint.name && routeEvents.hasSubscribers) {
          routeEvents.publish({ change: 'moved', method: call.method, endpoint: from, to: endpoint.name, kind: pass.failures.at(-1)?.error.kind })
        }
        let attempt = holder === undefined ? this.#withoutWait(call, trait, endpoint, pass.endpoints, now) : onlyHere(call)
        if (pass.givenUp >= this.#endpoints.length) attempt = stayingPut(attempt)
        if (pass.guessed !== undefined) attempt = asSecondOpinion(attempt, pass.guessedAt, now)
        const reply = await this.#ask(endpoint, attempt, trait)
        onAnswer?.(endpoint)
        return reply
      } catch (failure) {
        from = endpoint.name
        if (failure === MOVED || failure === GIVEN_UP) {
          if (pass.guessed !== undefined) throw this.#failureOf(pass.guessed, call, pass)
          pass.startOver(failure === GIVEN_UP)
          continue
        }
        if (!(failure instanceof CallFailure)) throw failure
        pass.add(failure, endpoint, this.#now())
        if (holder === undefined && pass.isGuessing(failure) && isNoVerdictOnCall(failure)) continue
        if (holder !== undefined || !this.#mayGoOn(failure, call, endpoint, trait, pass)) throw this.#failureOf(failure, call, pass)
        if (failure.error.kind === 'unsupported' && !pass.isWorthWaiting && this.#allLack(call.method, pass, this.#now()))
          throw this.#failureOf(pass.lacking, call, pass)
      }
    }
  }

  /**
   * The only endpoint that may get the call: the one that may still hold it, if it must not run
   * twice, or the one that its request names (`ONLY` in client/internals.ts).
   */
  #holderOf({ heldBy }: Call, trait: Trait | undefined): Endpoint | undefined {
    return heldBy === undefined || trait?.mayRunTwice ? undefined : this.#endpoints.find(({ name }) => name === heldBy)
  }

  /**
   * May the call go to another endpoint in this pass? After a failure that the retry layer would
   * repeat, only a read may, and only if there is reason not to wait for that.
   */
  #mayGoOn(failure: CallFailure, call: Call, endpoint: Endpoint, trait: Trait | undefined, pass: Pass): boolean {
    if (mayGoElsewhere(failure, call, endpoint, trait)) return true
    if (!call.safe || mayRepeat(failure.error) !== true) return false
    // This endpoint may stay out for long. All others are asked, so that the caller learns soon
    // whether it needs the substitute.
    return (hasSubstitute(call) && endpoint.health.isOut) || this.#hasSlow(pass.endpoints)
  }

  /** Every endpoint has failed the call, or is known to lack its method. */
  #allLack(method: string, { endpoints }: Pass, now: number): boolean {
    return this.#endpoints.every((each) => endpoints.includes(each) || each.wrong !== undefined || each.lacks(method, now))
  }

  /** An endpoint that this pass has not asked was given up, and may only be slow. */
  #hasSlow(passed: readonly Endpoint[]): boolean {
    return this.#endpoints.some((each) => each.health.mayBeSlow && each.wrong === undefined && !passed.includes(each))
  }

  /**
   * The call, set not to wait in line for an endpoint that is paused or out, as long as another one
   * can take it.
   */
  #withoutWait(call: Call, trait: Trait | undefined, endpoint: Endpoint, passed: readonly Endpoint[], now: number): Call {
    const whilePaused = this.#choice.hasFree(call, trait, passed, endpoint, now) ? 'fail' : call.whilePaused
    if (whilePaused === call.whilePaused && passed.length === 0) return call
    return { ...call, whilePaused, tried: passed.length === 0 ? call.tried : [...call.tried, ...passed.map(({ name }) => name)] }
  }

  /**
   * Where a read takes long, a copy of it goes to another endpoint, or to the same one when no
   * other can take it.
   */
  #ask(endpoint: Endpoint, call: Call, trait: Trait | undefined): Promise<Reply> {
    if (this.#hedge === undefined) return endpoint.ask(call, trait)
    const again: Send = (copy) => {
      const now = this.#now()
      const isFree = copy.pin === undefined && this.#choice.hasFree(copy, trait, [], endpoint, now)
      return ((isFree ? this.#choice.best(copy, trait, [endpoint], now) : undefined) ?? endpoint).ask(copy, trait)
    }
    return this.#hedge.send(call, `${endpoint.name} ${call.method}`, (first) => endpoint.ask(first, trait), again)
  }

  /** The failure of the call. The cause of its error lists the failures of other endpoints. */
  #failureOf(last: CallFailure, call: Call, { endpoints: passed, posts, failures }: Pass): CallFailure {
    const { error, endpoint } = last
    const earlier = failures.filter((each) => each !== last)
    const failure = new CallFailure(error, posts, endpoint, earlier)
    const hasFailed = (each: Endpoint) => passed.includes(each) || call.tried.includes(each.name) || each.wrong !== undefined
    const others = this.#endpoints.filter((each) => each.name !== endpoint && hasFailed(each))
    const said = others.flatMap((each) => each.said ?? [])
    if (said.length === 0) return failure
    const cause = new HexlineError(`other endpoints failed, too: ${said.join('; ')}`, error.kind, { method: call.method, cause: error.cause })
    Object.defineProperty(error, 'cause', { value: cause, enumerable: false, writable: true, configurable: true })
    return failure
  }

  #allWrong(call: Call): CallFailure {
    const { wrong, name } = this.#endpoints[0] as Endpoint
    return new CallFailure(copyError(wrong as HexlineError, call.method), 0, name)
  }

  /**
   * Only the endpoint that made a filter knows it. If that endpoint stays out of use, the call
   * fails as if the node had dropped the filter, and callers make another one.
   */
  async #sendToFilter(call: Call, trait: Trait): Promise<Reply> {
    if (trait.filter === 'makes') {
      let maker = this.#endpoints[0] as Endpoint
      const reply = await this.#send(call, trait, (endpoint) => {
        maker = endpoint
      })
      const made = reply.take()
      if (!(made instanceof Uint8Array)) return replyOf(this.#filters.add(maker, made), reply.bytes)
      return replyOf(Buffer.from(JSON.stringify(this.#filters.add(maker, JSON.parse(Buffer.from(made).toString())))), reply.bytes)
    }
    const known = this.#filters.find(call.params[0])
    if (known === undefined) return this.#send(call, trait)
    const { endpoint, id } = known
    // The endpoint may be back: without calls, nobody has asked.
    if (this.#filterLeftMs(endpoint) <= 0 && endpoint.health.dueAt <= this.#now()) {
      await endpoint.askHead(call.signal, call.deadline)
      call.signal?.throwIfAborted()
    }
    const leftMs = this.#filterLeftMs(endpoint)
    if (leftMs <= 0) {
      // It stays known, so that its id is never that of another endpoint's filter.
      const message = 'filter not found: the endpoint that made it is out of use'
      throw new CallFailure(new RpcError({ code: -32000, message }, { method: call.method, endpoint: endpoint.name }), 0, endpoint.name)
    }
    const timeoutMs = leftMs < (call.timeoutMs ?? Number.POSITIVE_INFINITY) ? leftMs : call.timeoutMs
    const reply = await endpoint.ask({ ...onlyHere(call), timeoutMs, params: [id, ...call.params.slice(1)] }, trait)
    if (trait.filter === 'ends') this.#filters.drop(call.params[0])
    return reply
  }

  /**
   * For how long its filters still count as there, in ms; infinite while it is not out, or all are.
   */
  #filterLeftMs({ health }: Endpoint): number {
    if (!health.isOut || !this.#endpoints.some((each) => !each.health.isOut && !each.wrong)) return Number.POSITIVE_INFINITY
    return health.outSince + FILTER_LOST_MS - this.#now()
  }

  /**
   * Asks endpoints that have been idle for their heads, and those that are out whether they are
   * back. Only while there are calls.
   */
  #askHeads(now: number): void {
    if (this.#endpoints.length === 1) return
    for (const endpoint of this.#endpoints) {
      const { health, blocks, queue } = endpoint
      const dueAt = health.isOut ? health.dueAt : blocks.head.askAt
      if (now < dueAt || endpoint.isAskedForHead || endpoint.wrong !== undefined || queue.pausedUntil > now) continue
      void endpoint.askHead()
    }
  }

  /** The last call has ended: nothing is asked, and no timer runs, until the next one. */
  #stopWatching(): void {
    this.#waiting.alarms.unset(this.#rebalancing)
    for (const each of this.#endpoints) each.endChallenge()
  }

  #rebalanceSoon(): void {
    if (this.#endpoints.length === 1) return
    this.#rebalancing.at = this.#now() + REBALANCE_MS
    this.#waiting.alarms.set(this.#rebalancing)
  }

  /**
   * Runs from time to time while there are calls: asks for heads, gives up silent endpoints, and
   * moves calls that are too far back in one endpoint's line to an endpoint that is free again.
   */
  #rebalance(): void {
    this.#rebalanceSoon()
    const now = this.#now()
    this.#askHeads(now)
    this.#giveUpSilent(now)
    if (!this.#endpoints.some((each) => isFree(each, now) && each.queue.size === 0)) return
    for (const { queue } of this.#endpoints) {
      const late = queue.late(LATE_MS)
      if (late > 0) queue.handOver(late)
    }
  }

  /**
   * Gives up endpoints that owe replies and send none, while others answer: calls that wait for
   * them need not wait for the timeout.
   */
  #giveUpSilent(now: number): void {
    const answers = (each: Endpoint) => isFree(each, now) && each.health.hasAnswered && !each.health.isSilent(now)
    for (const each of this.#endpoints) {
      const { health, isGivenUp } = each
      if (!health.isSilent(now) || !this.#endpoints.some(answers)) continue
      const goesElsewhere = (call: Call) => this.#goesElsewhere(call, each, isGivenUp)
      if (isGivenUp) each.giveUpLeft(goesElsewhere)
      else if (health.hasAnswered) void each.challenge(goesElsewhere)
      else each.giveUp(now, 'no reply to its first calls', goesElsewhere)
    }
  }

  /**
   * True if the call would now go to another endpoint than this one. If this one `isOut` already,
   * the call may have come here because that other one had failed it, and then stays.
   */
  #goesElsewhere(call: Call, { name }: Endpoint, isOut: boolean): boolean {
    const best = this.#choice.best(call, this.#protocol.traitOf(call.method), [], this.#now())
    if (best === undefined || best.name === name) return best === undefined
    if (call.pin !== undefined && isBehindPin(call.pin, best)) return false
    return !isOut || !call.tried.includes(best.name)
  }

  #now(): number {
    return this.#waiting.clock.now()
  }
}

/** It can be sent a call now. */
function isFree({ wrong, health, queue }: Endpoint, now: number): boolean {
  return wrong === undefined && !health.isOut && queue.pausedUntil <= now
}

/** The call as it is sent for a second opinion on a guessed error: it does not wait for long. */
function asSecondOpinion(call: Call, guessedAt: number, now: number): Call {
  if (call.priority === 'bulk') return { ...call, whilePaused: 'fail' }
  const until = guessedAt + SECOND_OPINION_MS
  const timeoutMs = Math.max(1, Math.min(call.timeoutMs ?? Number.POSITIVE_INFINITY, until - now))
  return { ...call, whilePaused: 'fail', timeoutMs, deadline: Math.min(call.deadline, until) }
}

/** The failure is one of the endpoint, or its kind is a guess: it is no verdict on the call. */
function isNoVerdictOnCall({ error }: CallFailure): boolean {
  return isGuessed(error) || mayRepeat(error) !== false || error.kind === 'unsupported'
}

/** The call, bound to one endpoint: it waits for that one even if it is given up. */
function onlyHere(call: Call): Call {
  return stayingPut({ ...call, isBound: true })
}

/**
 * Pinned calls move to another endpoint only once that one has the newest block that they have
 * seen.
 */
async function move(pin: Pin, endpoint: Endpoint, call: Call): Promise<void> {
  const { name } = endpoint
  const { head } = endpoint.blocks
  if (isBehindPin(pin, endpoint)) {
    await endpoint.askHead(call.signal, call.deadline)
    call.signal?.throwIfAborted()
    if (isBehindPin(pin, endpoint)) {
      const has = head.number < 0 ? 'has not told its newest block' : `is at block ${head.number}`
      const message = `${name}: ${has}, and calls pinned to ${pin.endpoint} have seen block ${pin.newest}: they cannot continue here yet`
      endpoint.said = message
      throw new CallFailure(new IntegrityError(message, { kind: 'lagging', method: call.method, endpoint: name }), 0, name)
    }
  }
  pin.endpoint = name
}

/** The calls are pinned to another endpoint, and this one is not known to have what they saw. */
function isBehindPin(pin: Pin, { name, blocks }: Endpoint): boolean {
  return pin.endpoint !== undefined && pin.endpoint !== name && blocks.head.number < pin.newest
}

/**
 * May the call go to another endpoint at once? Only if it has not run here, and if another endpoint
 * may answer it differently.
 */
function mayGoElsewhere({ error, wasSent }: CallFailure, call: Call, endpoint: Endpoint, trait: Trait | undefined): boolean {
  if (endpoint.wrong !== undefined) return true
  if (!call.safe && !trait?.mayRunTwice && mayBeHeld(error, wasSent)) return false
  if (mayRepeat(error) === 'elsewhere' || isThrottled(error)) return call.safe || !mayHaveRun(error)
  if (error.kind === 'network') return !mayHaveRun(error)
  if (error.kind === 'unsupported') return call.safe || (error instanceof RpcError && error.code === -32601 && (error.status ?? 200) < 500)
  return error.kind === 'lagging' && !wasSent
}
