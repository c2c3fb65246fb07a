import * as check from '../check.ts'
import { CodecError, OptionError } from '../errors.ts'
import { byteDecoder, decodeResult, encodeArguments, isSafe } from '../eth/methods.ts'
import { withTransaction } from '../eth/send-raw-transaction.ts'
import { type PooledCall, type Reply, type Send, takeDecoded } from '../rpc/call.ts'
import { areCallsReported, reportAnswered, reportCall, reportFailed } from '../rpc/call-events.ts'
import { cloneJson } from '../rpc/clone-json.ts'
import type { CurrentLimits } from '../rpc/limits/endpoint-limits.ts'
import { Pin } from '../rpc/pin.ts'
import { notJson } from '../rpc/queue/entry.ts'
import { Tally } from '../rpc/tally.ts'
import { excerpt, show } from '../text.ts'
import type { Clock } from '../wait/clock.ts'
import type { LinkedSignals } from '../wait/linked-signals.ts'
import type { TurnClock } from '../wait/turn-clock.ts'
import type { Client, Request } from './client.ts'
import type { Connection } from './endpoint.ts'
import {
  ALONE,
  AT_ONCE,
  AVOID,
  DECODE,
  HAS_SUBSTITUTE,
  type NapUntil,
  ONLY,
  type PaceBy,
  type RequestMarks,
  TALLY,
  UNREAD,
  withInternals,
} from './internals.ts'
import { type CallSettings, checkCallSettings, givenSettings, type Settings } from './options.ts'
import { scrubError } from './scrub-error.ts'
import { type Listen, noWebSocket, type Subscription, subscription } from './subscribe.ts'
import type { AskOne, Supported } from './supports.ts'

/** What the clients of one `createClient` share. */
export interface Shared {
  readonly pipeline: Send
  /** A function of the user's may have made a reply, and keep what is in it. */
  readonly mayKeepResults: boolean
  readonly defaults: Settings
  readonly endpoints: readonly string[]
  readonly close: () => Promise<void>
  readonly connections: readonly Connection[]
  readonly limits: () => readonly CurrentLimits[]
  readonly clock: Clock
  /** The time of ends. */
  readonly turn: TurnClock
  readonly links: LinkedSignals
  /** Undefined where no endpoint is a WebSocket. */
  readonly listen: Listen | undefined
  readonly nap: NapUntil
  readonly paceBy: PaceBy
  readonly supported: Supported
}

/** A request that no one else has. */
type OwnRequest = Request & Omit<RequestMarks, typeof TALLY> & { [TALLY]?: Tally }

/**
 * The methods of a client over its pipeline, with these settings for its calls. Each of `signals`
 * ends them.
 */
export function clientOf(parts: Shared, own: Omit<CallSettings, 'signal'> = {}, signals: readonly AbortSignal[] = [], pin?: Pin): Client {
  const { pipeline, defaults, endpoints, close, clock, turn, links, supported } = parts

  /** Sends a call. Its end is told by `call` and by `sendAndReport`, which give it a tally. */
  function send(request: Request & RequestMarks): Promise<Reply> {
    const given = settingsOf(request)
    const { method, params = [], as = 'value', required = false } = request
    if (as !== 'value' && as !== 'bytes') throw new OptionError('as', "'value' or 'bytes'", show(as))
    const priority = given.priority ?? own.priority ?? 'interactive'
    const tally = request[TALLY]
    const now = clock.now()
    const all = withSignal(signals, given.signal)
    const linked = all.length > 1 ? links.link(all) : undefined
    const bodies = request[UNREAD]
    const call: PooledCall = {
      method,
      // Params by name are an object. Only a user's layer would inspect them.
      params: params as readonly unknown[],
      signal: linked?.signal ?? all[0],
      deadline: now + (given.deadlineMs ?? own.deadlineMs ?? defaults.deadlineMs),
      attempts: given.attempts ?? own.attempts ?? (priority === 'bulk' ? Number.POSITIVE_INFINITY : defaults.attempts),
      timeoutMs: shorter(given.timeoutMs ?? own.timeoutMs, defaults.timeoutMs),
      whilePaused: given.whilePaused ?? own.whilePaused,
      priority,
      as,
      isUnread: bodies !== undefined,
      bodies,
      decode: request[DECODE],
      atOnce: request[AT_ONCE],
      hasSubstitute: request[HAS_SUBSTITUTE],
      alone: request[ALONE],
      required,
      safe: isSafe(method),
      tried: request[AVOID] ?? NOT_TRIED,
      heldBy: request[ONLY],
      // A question to one endpoint neither follows the pin nor moves it.
      pin: request[ONLY] === undefined ? pin : undefined,
      tally,
    }
    if (tally !== undefined) reportCall(call, tally, now)
    const reply = pipeline(call)
    return linked === undefined ? reply : reply.finally(linked.release)
  }

  /** A failure may tell that an endpoint lacks a method. */
  const learnt = (reason: unknown): never => {
    supported.note(reason)
    throw reason
  }

  /** Sends a call and tells its end. `request` is the callee's: it gets a tally if it has none. */
  function sendAndReport(request: OwnRequest): Promise<Reply>
  function sendAndReport<T>(request: OwnRequest, resultOf: (reply: Reply) => T): Promise<T>
  function sendAndReport(request: OwnRequest, resultOf?: (reply: Reply) => unknown): Promise<unknown> {
    if (!areCallsReported()) return resultOf === undefined ? send(request) : send(request).then(resultOf, learnt)
    request[TALLY] ??= new Tally()
    const tally = request[TALLY]
    return send(request).then(
      (reply) => {
        reportAnswered(tally, reply, turn)
        return resultOf === undefined ? reply : resultOf(reply)
      },
      (reason) => {
        reportFailed(tally, reason, turn)
        return resultOf === undefined ? Promise.reject(reason) : learnt(reason)
      },
    )
  }

  const client: Client = {
    async call(method: string, ...args: unknown[]) {
      const params = encodeArguments(method, args)
      const tally = new Tally()
      let reply: Reply
      try {
        reply = await send({ method, params, [TALLY]: tally, [DECODE]: byteDecoder(method, params) })
      } catch (reason) {
        supported.note(reason)
        reportFailed(tally, reason, turn)
        throw reason
      }
      reportAnswered(tally, reply, turn)
      const decoded = takeDecoded(reply)
      if (decoded !== undefined) return decoded as never
      const taken = reply.take()
      try {
        // It is decoded in place.
        const value = parts.mayKeepResults ? ownResult(taken, method) : taken
        return decodeResult(method, value, params) as never
      } catch (error) {
        throw await withTransaction(scrubError(error, parts.connections, tally), method, params)
      }
    },

    request(request, options) {
      try {
        const { method, params } = request ?? {}
        const signal = options?.signal
        if (signal != null) check.signal(signal)
        const own = ownParams(method, params)
        return sendAndReport(signal == null ? { method, params: own } : { method, params: own, signal }, resultOf)
      } catch (error) {
        return Promise.reject(error)
      }
    },

    send(request) {
      try {
        return sendAndReport({ ...request, params: ownParams(request?.method, request?.params) })
      } catch (error) {
        return Promise.reject(error)
      }
    },

    with(settings) {
      const { signal, ...others } = givenSettings(checkCallSettings(settings))
      return clientOf({ ...parts, close: async () => {} }, { ...own, ...others }, withSignal(signals, signal), pin)
    },

    subscribe(event: string, options: object = {}): Subscription<never> {
      const { listen } = parts
      if (listen === undefined) throw noWebSocket()
      const ownListen: Listen = (params, subscriber, signal) => listen(params, subscriber, anyOf(withSignal(signals, signal)))
      return subscription(event, options as Record<string, unknown>, ownListen, (error) => scrubError(error, parts.connections)) as Subscription<never>
    },

    async supports(method) {
      if (typeof method !== 'string' || method === '') throw new OptionError('method', 'the name of a method', show(method))
      const ask: AskOne = (endpoint, asked, params, signal) =>
        send({ method: asked, params, signal, attempts: ATTEMPTS_TO_ASK, [ONLY]: endpoint } as Request & RequestMarks).then(resultOf)
      return supported.supports(method, ask)
    },

    pinned: () => clientOf({ ...parts, close: async () => {} }, own, signals, new Pin()),

    endpoints,
    close,
    [Symbol.asyncDispose]: close,
  }
  const timeoutMs = Math.min(own.timeoutMs ?? defaults.timeoutMs, defaults.timeoutMs)
  return withInternals(client, {
    connections: parts.connections,
    clock,
    limits: parts.limits,
    timeoutMs,
    deadlineMs: own.deadlineMs ?? defaults.deadlineMs,
    listen: parts.listen,
    nap: parts.nap,
    paceBy: parts.paceBy,
  })
}

function withSignal(signals: readonly AbortSignal[], signal: AbortSignal | undefined): readonly AbortSignal[] {
  return signal === undefined || signals.includes(signal) ? signals : [...signals, signal]
}

/** Lives as long as its signals: one for each subscription, not for each call. */
function anyOf(signals: readonly AbortSignal[]): AbortSignal | undefined {
  return signals.length > 1 ? AbortSignal.any([...signals]) : signals[0]
}

function resultOf(reply: Reply): unknown {
  return reply.take()
}

/** A copy of a result. Throws `CodecError` for one that no JSON is. */
function ownResult(value: unknown, method: string): unknown {
  try {
    return cloneJson(value)
  } catch (cause) {
    throw new CodecError('result', 'a value that JSON can hold', `something else (${excerpt((cause as Error).message)})`, { method, kind: 'malformed' })
  }
}

/** A question may be lost once. */
const ATTEMPTS_TO_ASK = 2
const NONE: CallSettings = {}
/** No endpoint has failed a new call. */
const NOT_TRIED: readonly string[] = Object.freeze([])

/**
 * The settings among the fields of a request, checked. Most requests have none, and skip the work.
 */
function settingsOf(request: Request): CallSettings {
  for (const key in request) {
    if (key === 'method' || key === 'params' || key === 'as' || key === 'required' || key === 'signal') continue
    const { method, params, as, required, ...settings } = request
    return checkCallSettings(settings)
  }
  if (request.signal === undefined) return NONE
  check.signal(request.signal)
  return request
}

/** The endpoint enforces its own timeout, since it knows how far the POST has come. */
function shorter(timeoutMs: number | undefined, ofEndpoint: number): number | undefined {
  return timeoutMs !== undefined && timeoutMs < ofEndpoint ? timeoutMs : undefined
}

/**
 * Copies the params as JSON, so that a retry does not see the caller's later changes. Throws
 * `CodecError` for an invalid method or invalid params.
 */
function ownParams(method: unknown, params: unknown = []): readonly unknown[] {
  if (typeof method !== 'string' || method === '') throw new CodecError('method', 'the name of a method', show(method))
  if (typeof params !== 'object' || params === null) throw new CodecError('params', 'an array or an object', show(params), { method })
  if (Array.isArray(params) && params.every((param) => typeof param === 'string' || typeof param === 'boolean')) return [...params]
  try {
    return JSON.parse(JSON.stringify(params))
  } catch (error) {
    throw notJson(error, method)
  }
}
