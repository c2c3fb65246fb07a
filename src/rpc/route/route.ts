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
 * and has the method (endpoint.ts).
 *
 * A call that an endpoint did not start goes to the next one at once, and so does a read that waits
 * for an endpoint which has never answered. Every other failure goes back to the retry layer, which
 * lists in `tried` the endpoints that have failed the call. With one endpoint there is nothing to
 * pick, and calls go straight to its queue; what it lacks is learnt all the same, so that a call
 * for a block that it has dropped ends at once.
 */
export function route(options: RouteOptions): Send {
  const { endpoints, protocol, waiting, hedge } = options
  const [first, ...others] = endpoints
  if (others.length > 0 || hedge !== undefined) {
    const router = new Router(options)
    return (call) => router.send(call)
  }
  const only = new Endpoint(first, new EndpointGroup(protocol, first.chainId), true, waiting.clock)
  // An interactive call that is answered pays nothing for what is learnt from failures.
  return (call) =>
    call.required || call.priority === 'bulk' || call.tried.length > 0 ? only.askAlone(call, protocol.traitOf(call.method)) : first.queue.send(call)
}

/** Rebalancing interval, in ms, while calls are waiting. */
const REBALANCE_MS = 250
/** A filter is gone when its endpoint has been out of use for this long, in ms. */
const FILTER_LOST_MS = 30_000
/** Longest wait for what other endpoints say of an interactive call, in ms. */
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
      if (--this.#calls === 0) this.#rest()
    }
  }

  /** Sends a call to one endpoint after another, until one answers or a failure is final. */
  async #send(call: Call, trait: Trait | undefined, onAnswer?: (endpoint: Endpoint) => void): Promise<Reply> {
    const pass = new Pass(call)
    const holder = this.#holderOf(call, trait)
    /** The endpoint that had the call before. */
    let from = call.pin?.endpoint ?? call.tried.at(-1)
    for (;;) {
      const now = this.#now()
      this.#askHeads(now)
      const endpoint = holder ?? this.#choice.best(call, trait, pass.endpoints, now)
      if (pass.guessed !== undefined && (endpoint === undefined || !isFree(endpoint, now))) throw this.#failureOf(pass.guessed, call, pass)
      const isHopeless = (pass.isWorthWaiting && !endpoint?.canAnswer(call, trait, now)) || (pass.isBackSoon && endpoint?.health.isOut)
      // One that says nothing may only be slow, which the last attempt finds out.
      const isForLater = endpoint?.isGivenUp === true && pass.hasIllOnes && !waitsForSlow(call)
      if (endpoint === undefined || isHopeless || isForLater) throw this.#failureOf(pass.mostHopeful() ?? this.#allWrong(call), call, pass)
      try {
        if (call.pin !== undefined) await move(call.pin, endpoint, call)
        if (from !== undefined && from !== endpoint.name && routeEvents.hasSubscribers) {
          routeEvents.publish({ change: 'moved', method: call.method, endpoint: from, to: endpoint.name, kind: pass.failures.at(-1)?.error.kind })
        }
        let attempt = holder === undefined ? this.#withoutWait(call, trait, endpoint, pass.endpoints, now) : onlyHere(call)
        if (pass.givenUp >= this.#endpoints.length) attempt = stayingPut(attempt)
        if (pass.guessed !== undefined) attempt = atOnce(attempt, pass.guessedAt, now)
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
        if (holder === undefined && pass.isGuessing(failure) && saysNothingOf(failure)) continue
        if (holder !== undefined || !this.#mayGoOn(failure, call, endpoint, trait, pass)) throw this.#failureOf(failure, call, pass)
        if (failure.error.kind === 'unsupported' && !pass.isWorthWaiting && this.#allLack(call.method, pass, this.#now()))
          throw this.#failureOf(pass.lacking, call, pass)
      }
    }
  }

  /**
   * The only endpoint that the call goes to: one that may still hold it, where it must not run
   * twice, or the one that its request names (`ONLY` in client/internals.ts).
   */
  #holderOf({ heldBy }: Call, trait: Trait | undefined): Endpoint | undefined {
    return heldBy === undefined || trait?.mayRunTwice ? undefined : this.#endpoints.find(({ name }) => name === heldBy)
  }

  /**
   * May the call go to another endpoint in this pass? After a failure for which it would otherwise
   * wait and come back, a read does so where that endpoint is hardly worth the wait.
   */
  #mayGoOn(failure: CallFailure, call: Call, endpoint: Endpoint, trait: Trait | undefined, pass: Pass): boolean {
    if (mayGoElsewhere(failure, call, endpoint, trait)) return true
    if (!call.safe || mayRepeat(failure.error) !== true) return false
    // What is out may stay so: where there is another way, the others are asked.
    return (hasSubstitute(call) && endpoint.health.isOut) || this.#hasSlow(pass.endpoints)
  }

  /** Every endpoint has failed the call, or is known to lack its method. */
  #allLack(method: string, { endpoints }: Pass, now: number): boolean {
    return this.#endpoints.every((each) => endpoints.includes(each) || each.wrong !== undefined || each.lacks(method, now))
  }

  /**
   * Some endpoint may have been given up too soon: where those that answer fail, its answer is
   * worth waiting for.
   */
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

  /** The failure of the call. Its cause says what the other endpoints did with the same call. */
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
   * A filter is known to the endpoint that made it, and to no other. Where that stays out of use,
   * the filter is gone, as if the node had dropped it: callers make another one then.
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
    // It may have been back for long: without calls, nobody asks.
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

  /** How long filters of this endpoint are waited for: as long as it may be back, or is alone. */
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

  /** No call waits: there is nothing to find out for one. */
  #rest(): void {
    this.#waiting.alarms.unset(this.#rebalancing)
    for (const each of this.#endpoints) each.endChallenge()
  }

  #rebalanceSoon(): void {
    if (this.#endpoints.length === 1) return
    this.#rebalancing.at = this.#now() + REBALANCE_MS
    this.#waiting.alarms.set(this.#rebalancing)
  }

  /**
   * Calls that came while no endpoint was free wait in the lines where they came. When an endpoint
   * is free again, calls too far back in other lines move to it.
   */
  #rebalance(): void {
    this.#rebalanceSoon()
    const now = this.#now()
    this.#askHeads(now)
    const canTake = (each: Endpoint) => isFree(each, now)
    // Others answer: what waits for an endpoint that says nothing need not wait for its timeout.
    const answers = (each: Endpoint) => canTake(each) && each.health.hasAnswered && !each.health.isSilent(now)
    for (const each of this.#endpoints) {
      const { health, isGivenUp } = each
      if (!health.isSilent(now) || !this.#endpoints.some(answers)) continue
      const goesElsewhere = (call: Call) => this.#goesElsewhere(call, each, isGivenUp)
      if (isGivenUp) each.giveUpLeft(goesElsewhere)
      else if (health.hasAnswered) void each.challenge(goesElsewhere)
      else each.giveUp(now, 'no reply to its first calls', goesElsewhere)
    }
    if (!this.#endpoints.some((each) => canTake(each) && each.queue.size === 0)) return
    for (const { queue } of this.#endpoints) {
      const late = queue.late(LATE_MS)
      if (late > 0) queue.handOver(late)
    }
  }

  /**
   * Another endpoint than this one would get the call, and could answer it. Where this one `isOut`
   * already, the call may have come back from one that failed it: that one is no better.
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

/** The call, whose error elsewhere stands unless this endpoint answers soon. */
function atOnce(call: Call, guessedAt: number, now: number): Call {
  if (call.priority === 'bulk') return { ...call, whilePaused: 'fail' }
  const until = guessedAt + SECOND_OPINION_MS
  const timeoutMs = Math.max(1, Math.min(call.timeoutMs ?? Number.POSITIVE_INFINITY, until - now))
  return { ...call, whilePaused: 'fail', timeoutMs, deadline: Math.min(call.deadline, until) }
}

/** The failure is one of the endpoint, or of nothing that is known: not the result of the call. */
function saysNothingOf({ error }: CallFailure): boolean {
  return isGuessed(error) || mayRepeat(error) !== false || error.kind === 'unsupported'
}

/** The call, for one endpoint and no other: it waits for that one even where it is given up. */
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
 * May the call go to another endpoint at once, whatever is known of that one? Only when it has not
 * run here, or is answered differently there.
 */
function mayGoElsewhere({ error, wasSent }: CallFailure, call: Call, endpoint: Endpoint, trait: Trait | undefined): boolean {
  if (endpoint.wrong !== undefined) return true
  if (!call.safe && !trait?.mayRunTwice && mayBeHeld(error, wasSent)) return false
  if (mayRepeat(error) === 'elsewhere' || isThrottled(error)) return call.safe || !mayHaveRun(error)
  if (error.kind === 'network') return !mayHaveRun(error)
  if (error.kind === 'unsupported') return call.safe || (error instanceof RpcError && error.code === -32601 && (error.status ?? 200) < 500)
  return error.kind === 'lagging' && !wasSent
}
