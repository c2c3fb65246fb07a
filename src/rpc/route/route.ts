import { HexlineError, RpcError } from '../../errors.ts'
import type { Waiting } from '../../wait/waiting.ts'
import { type Call, hasSubstitute, onlyHere, type PooledCall, type Reply, type Send, stayingPut, waitsForSlow } from '../call.ts'
import { CallFailure } from '../call-failure.ts'
import { copyError } from '../copy-error.ts'
import { routeEvents } from '../events.ts'
import { isGuessed, isThrottled, mayBeHeld, mayHaveRun, mayRepeat } from '../failure-kinds.ts'
import { GIVEN_UP, MOVED } from '../queue/queue.ts'
import { Choice } from './choice.ts'
import { Endpoint, EndpointGroup, type EndpointOptions } from './endpoint.ts'
import { FilterCalls } from './filter-calls.ts'
import { Hedge, type HedgeOptions } from './hedge.ts'
import { movePin } from './move-pin.ts'
import { Pass } from './pass.ts'
import type { Protocol, Trait } from './protocol.ts'
import { Watch } from './watch.ts'

/** The endpoints of a client, and how a call is sent to one of them. */
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

/** Longest wait for a second opinion on an interactive call whose error is a guess, in ms. */
const SECOND_OPINION_MS = 10_000

class Router {
  readonly #protocol: Protocol
  readonly #endpoints: readonly Endpoint[]
  readonly #choice: Choice
  readonly #filterCalls: FilterCalls
  readonly #hedge: Hedge | undefined
  readonly #waiting: Waiting
  readonly #watch: Watch
  /** Calls that have not ended. */
  #calls = 0

  constructor({ endpoints, protocol, hedge, waiting }: RouteOptions) {
    const group = new EndpointGroup(protocol, endpoints.find(({ chainId }) => chainId !== undefined)?.chainId)
    this.#protocol = protocol
    this.#endpoints = endpoints.map((each) => new Endpoint(each, group, endpoints.length === 1, waiting.clock))
    this.#choice = new Choice(group, this.#endpoints)
    this.#hedge = hedge && new Hedge(hedge, waiting)
    this.#waiting = waiting
    this.#watch = new Watch(this.#endpoints, this.#choice, protocol, waiting)
    group.onLacking = (endpoint) => this.#watch.lacksMore(endpoint)
    this.#filterCalls = new FilterCalls(this.#endpoints, waiting.clock, (call, trait, onAnswer) => this.#send(call, trait, onAnswer))
  }

  async send(call: Call): Promise<Reply> {
    const trait = this.#protocol.traitOf(call.method)
    if (this.#calls++ === 0) this.#watch.start()
    try {
      return await (trait?.filter !== undefined ? this.#filterCalls.send(call, trait) : this.#send(call, trait))
    } finally {
      if (--this.#calls === 0) this.#watch.stop()
    }
  }

  /**
   * Sends a call to one endpoint after another, until one answers, a failure is one for the retry
   * layer or for the caller, or no endpoint is left that is worth asking now.
   */
  async #send(call: Call, trait: Trait | undefined, onAnswer?: (endpoint: Endpoint) => void): Promise<Reply> {
    const pass = new Pass(call, trait, this.#holderOf(call, trait))
    /** The name of the endpoint that had the call before, for the event. */
    let from = call.pin?.endpoint ?? (call.tried === (call as PooledCall).avoid ? undefined : call.tried.at(-1))
    for (;;) {
      const now = this.#now()
      this.#watch.askHeads(now)
      const endpoint = this.#next(pass, now)
      try {
        if (call.pin !== undefined) await movePin(call.pin, endpoint, call)
        if (from !== undefined && from !== endpoint.name && routeEvents.hasSubscribers) {
          routeEvents.publish({ change: 'moved', method: call.method, endpoint: from, to: endpoint.name, kind: pass.failures.at(-1)?.error.kind })
        }
        const reply = await this.#ask(endpoint, this.#attempt(pass, endpoint, now), trait)
        onAnswer?.(endpoint)
        return reply
      } catch (failure) {
        this.#throwUnlessOthersMayAnswer(failure, endpoint, pass)
        from = endpoint.name
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

  /** The endpoint that gets the call now. Throws if none is left that is worth asking. */
  #next(pass: Pass, now: number): Endpoint {
    const { call, trait, guessed } = pass
    const endpoint = pass.holder ?? this.#choice.best(call, trait, pass.endpoints, now)
    if (guessed !== undefined && !endpoint?.isFree(now)) throw this.#failureOf(guessed, pass)
    const isHopeless = (pass.isWorthWaiting && !endpoint?.canAnswer(call, trait, now)) || (pass.isBackSoon && endpoint?.health.isOut)
    // An endpoint that was given up may only be slow. Only the last attempt waits for it, if
    // others may do better before.
    const isForLater = endpoint?.isGivenUp === true && pass.hasPassingFailure && !waitsForSlow(call)
    if (endpoint === undefined || isHopeless || isForLater) throw this.#failureOf(pass.soonestToPass() ?? this.#allWrong(call), pass)
    return endpoint
  }

  /** The call, as this endpoint gets it. */
  #attempt(pass: Pass, endpoint: Endpoint, now: number): Call {
    let attempt = pass.holder === undefined ? this.#withoutWait(pass, endpoint, now) : onlyHere(pass.call)
    if (pass.givenUp >= this.#endpoints.length) attempt = stayingPut(attempt)
    return pass.guessed === undefined ? attempt : asSecondOpinion(attempt, pass.guessedAt, now)
  }

  /**
   * Set not to wait in line for an endpoint that is paused or out, as long as another one can take
   * the call.
   */
  #withoutWait({ call, trait, endpoints: passed }: Pass, endpoint: Endpoint, now: number): Call {
    const whilePaused = this.#choice.hasFree(call, trait, passed, endpoint, now) ? 'fail' : call.whilePaused
    if (whilePaused === call.whilePaused && passed.length === 0) return call
    return { ...call, whilePaused, tried: passed.length === 0 ? call.tried : [...call.tried, ...passed.map(({ name }) => name)] }
  }

  /** Returns if the call may go to another endpoint in this pass. Throws its failure otherwise. */
  #throwUnlessOthersMayAnswer(failure: unknown, endpoint: Endpoint, pass: Pass): void {
    if (failure === MOVED || failure === GIVEN_UP) {
      if (pass.guessed !== undefined) throw this.#failureOf(pass.guessed, pass)
      pass.startOver(failure === GIVEN_UP)
      return
    }
    if (!(failure instanceof CallFailure)) throw failure
    pass.add(failure, endpoint, this.#now())
    if (pass.holder !== undefined) throw this.#failureOf(failure, pass)
    if (pass.isGuessing(failure) && isNoVerdictOnCall(failure)) return
    if (!this.#mayGoOn(failure, endpoint, pass)) throw this.#failureOf(failure, pass)
    if (failure.error.kind === 'unsupported' && !pass.isWorthWaiting && this.#allLack(pass, this.#now())) throw this.#failureOf(pass.lacking, pass)
  }

  /**
   * After a failure that the retry layer would repeat, only a read may go on, and only if there is
   * reason not to wait for that.
   */
  #mayGoOn(failure: CallFailure, endpoint: Endpoint, { call, trait, endpoints: passed }: Pass): boolean {
    if (mayGoElsewhere(failure, call, endpoint, trait)) return true
    if (!call.safe || mayRepeat(failure.error) !== true) return false
    // This endpoint may stay out for long. All others are asked, so that the caller learns soon
    // whether it needs the substitute.
    return (hasSubstitute(call) && endpoint.health.isOut) || this.#hasSlow(passed)
  }

  /** Every endpoint has failed the call, or is known to lack its method. */
  #allLack({ call, endpoints: passed }: Pass, now: number): boolean {
    return this.#endpoints.every((each) => passed.includes(each) || each.wrong !== undefined || each.lacks(call.method, now))
  }

  /** An endpoint that this pass has not asked was given up, and may only be slow. */
  #hasSlow(passed: readonly Endpoint[]): boolean {
    return this.#endpoints.some((each) => each.health.mayBeSlow && each.wrong === undefined && !passed.includes(each))
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
  #failureOf(last: CallFailure, { call, endpoints: passed, posts, failures }: Pass): CallFailure {
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

  #now(): number {
    return this.#waiting.clock.now()
  }
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
