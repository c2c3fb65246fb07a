import * as check from '../check.ts'
import { CodecError, OptionError } from '../errors.ts'
import type { Hash } from '../eth/codec/hex.ts'
import { throttledAt } from '../eth/costs.ts'
import { byteDecoder, decodeResult, encodeArguments, isHeavy, isSafe, type MethodName, type MethodParams, type MethodResult } from '../eth/methods.ts'
import type { SyncNotice } from '../eth/node-objects.ts'
import type { CallTraceOptions, TraceOptions } from '../eth/node-params.ts'
import type { Block, Header, Log, Receipt, Transaction } from '../eth/objects.ts'
import type { BlockId, BlockNumber, CallObject, Json } from '../eth/params.ts'
import { ethereum } from '../eth/protocol.ts'
import { sendRecovery } from '../eth/send-raw-transaction.ts'
import type { BlockTrace, TraceOf } from '../eth/trace-objects.ts'
import { type Layer, type PooledCall, type Reply, type Send, takeDecoded } from '../rpc/call.ts'
import { areCallsTold, sendTold, tellAnswered, tellFailed } from '../rpc/call-events.ts'
import { atTheEdge } from '../rpc/call-failure.ts'
import type { CurrentLimits } from '../rpc/limits/endpoint-limits.ts'
import type { Budget } from '../rpc/limits/pacer.ts'
import { Pin } from '../rpc/pin.ts'
import { createQueue } from '../rpc/queue/queue.ts'
import { retry } from '../rpc/retry.ts'
import type { EndpointOptions } from '../rpc/route/endpoint.ts'
import { Health } from '../rpc/route/health.ts'
import { route } from '../rpc/route/route.ts'
import { Tally } from '../rpc/tally.ts'
import { excerpt, show } from '../text.ts'
import { type Clock, systemClock } from '../wait/clock.ts'
import { LinkedSignals } from '../wait/linked-signals.ts'
import type { TurnClock } from '../wait/turn-clock.ts'
import { Waiting } from '../wait/waiting.ts'
import { chainCheck } from './check-chain.ts'
import { type Connection, connect, type Endpoint } from './endpoint.ts'
import { AVOID, DECODE, type NapUntil, ONLY, type PaceBy, type RequestMarks, TALLY, UNREAD, withInternals } from './internals.ts'
import { keepSubscribed, type SubscriptionSource } from './keep-subscribed.ts'
import { type CallSettings, type ClientOptions, checkCallSettings, type Settings, settingsFrom } from './options.ts'
import { scrubError } from './scrub-error.ts'
import {
  type Listen,
  type LogSubscription,
  noWebSocket,
  type PendingSubscription,
  type ReceiptSubscription,
  type SubscribeOptions,
  type Subscription,
  subscription,
} from './subscribe.ts'
import { type AskOne, Supported } from './supports.ts'

/** A call for `client.send`, with its own settings. */
export interface Request extends CallSettings {
  readonly method: string
  readonly params?: readonly unknown[] | Readonly<Record<string, unknown>>
  /**
   * The format of the result: `value` parses it (default), `bytes` is the JSON that the node sent.
   */
  readonly as?: 'value' | 'bytes'
  /**
   * Treats a null result as a sign that the node lags: a failure, so that the call is sent again,
   * to another endpoint if possible.
   */
  readonly required?: boolean
}

/** A client for one or several Ethereum nodes. Also an EIP-1193 provider. */
export interface Client {
  /**
   * Calls a method with typed arguments and decodes its result:
   * `client.call('eth_getBlockByNumber', 21_000_000n, true)`. docs/methods.md lists the methods.
   * Rejects with `CodecError` before anything is sent if an argument is invalid, with `RpcError` if
   * the node answers with an error, and with other subclasses of `HexlineError` if there is no
   * usable reply.
   */
  call<Full extends boolean>(method: 'eth_getBlockByNumber', block: BlockNumber, full: Full): Promise<Block<Full> | null>
  call<Full extends boolean>(method: 'eth_getBlockByHash', blockHash: Hash, full: Full): Promise<Block<Full> | null>
  call<const O extends TraceOptions | null | undefined = undefined>(method: 'debug_traceTransaction', transactionHash: Hash, options?: O): Promise<TraceOf<O>>
  call<const O extends TraceOptions | null | undefined = undefined>(
    method: 'debug_traceBlockByNumber',
    block: BlockNumber,
    options?: O,
  ): Promise<BlockTrace<TraceOf<O>>[]>
  call<const O extends TraceOptions | null | undefined = undefined>(
    method: 'debug_traceBlockByHash',
    blockHash: Hash,
    options?: O,
  ): Promise<BlockTrace<TraceOf<O>>[]>
  call<const O extends CallTraceOptions | null | undefined = undefined>(
    method: 'debug_traceCall',
    call: CallObject,
    block?: BlockId | null,
    options?: O,
  ): Promise<TraceOf<O>>
  call<const O extends CallTraceOptions | null | undefined = undefined>(
    method: 'debug_traceCallMany',
    bundles: readonly Json[],
    context: Json,
    options?: O,
  ): Promise<TraceOf<O>[][]>
  call<M extends MethodName>(method: M, ...params: MethodParams<M>): Promise<MethodResult<M>>
  /** Calls any method with raw JSON params and result (EIP-1193). */
  request(
    request: { readonly method: string; readonly params?: readonly unknown[] | object | undefined },
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<unknown>
  /**
   * The pipeline that `call` and `request` use: any method, resolving to a reply that has not been
   * parsed yet. For libraries that build on hexline.
   */
  send(request: Request): Promise<Reply>
  /**
   * A client with the same sockets, queue and limits, and other settings for its calls. Closing it
   * does nothing.
   */
  with(settings: CallSettings): Client
  /**
   * A client for one logical action, so that a read after a write, or after a block number, never
   * sees an older head. All its calls go to one endpoint, the best one at the time of the first
   * call. If that endpoint fails a call, they move to another, but only to one that has the newest
   * block that their replies have mentioned (block numbers, blocks, receipts, transactions, logs).
   * Until there is one, they fail as `lagging` and are retried like any other call. Otherwise the
   * same as `with({})`.
   */
  pinned(): Client
  /**
   * New blocks' headers, logs, pending transactions, receipts of new blocks, or the progress of a
   * node's sync, as the node sends them over a WebSocket. `for await` gets each as `{ type:
   * 'value', value }`, and `{ type: 'gap' }` wherever something may have been missed. What comes
   * twice is passed on twice, and logs of replaced blocks come with `removed: true`. Throws
   * `OptionError` where no endpoint is a WebSocket, and for invalid options. The iterator throws
   * the error of a node that refuses, and `CodecError` for a value that cannot be decoded.
   */
  subscribe(event: 'newHeads', options?: SubscribeOptions): Subscription<Header>
  subscribe(event: 'logs', options?: LogSubscription): Subscription<Log>
  subscribe<Full extends boolean = false>(
    event: 'newPendingTransactions',
    options?: PendingSubscription<Full>,
  ): Subscription<Full extends true ? Transaction : Hash>
  subscribe(event: 'syncing', options?: SubscribeOptions): Subscription<SyncNotice | boolean>
  subscribe(event: 'transactionReceipts', options?: ReceiptSubscription): Subscription<Receipt[]>
  /**
   * Whether a method can be called: true if an endpoint has it, since calls move to that one; false
   * if none has it; undefined where that could not be found. Endpoints that have not been asked get
   * a call of the method without arguments, which they refuse if they have it. Methods that change
   * something are not called: of these it is known only that they are missing, from `rpc_modules`
   * and from earlier calls. An endpoint whose `eth_capabilities` say that it has none of the data
   * does not have the method. Answers are believed for 10 minutes. Rejects with `OptionError` for
   * anything but a name, with `ClosedError`, and with the reason of the client's signal.
   */
  supports(method: string): Promise<boolean | undefined>
  /**
   * Scheme, host and port of each endpoint, in order, such as `https://rpc.example.com`; never the
   * path, which may hold the key.
   */
  readonly endpoints: readonly string[]
  /**
   * Ends every pending call with `ClosedError`, and closes the connections. Later calls reject with
   * `ClosedError`.
   */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Whether this is a client of `createClient`, or an object with the same methods. */
export function isClient(value: unknown): value is Client {
  return typeof (value as Client | undefined)?.send === 'function' && typeof (value as Client).with === 'function'
}

/** Checks that an argument is a client. Throws `OptionError`, which does not show a URL. */
export function checkClient(value: unknown, name = 'client'): void {
  if (isClient(value)) return
  throw new OptionError(name, 'a client, as createClient returns it', typeof value === 'string' ? 'a string' : show(value))
}

/**
 * A client for one node, or for several as alternatives to each other. It opens no connection
 * before the first call. It keeps the process alive only while a call is pending, or for at most 3
 * s longer while a health probe of one of several endpoints is pending and the client is not
 * closed. Throws `OptionError` for invalid options.
 */
export function createClient(endpoint: Endpoint | readonly Endpoint[], options: ClientOptions = {}): Client {
  return createClientOn(systemClock, endpoint, options)
}

/** `createClient` with another clock, for tests in virtual time. */
export function createClientOn(clock: Clock, endpoint: Endpoint | readonly Endpoint[], options: ClientOptions = {}): Client {
  const settings = settingsFrom(options)
  const ids = { next: 1 }
  const endpoints = Array.isArray(endpoint) ? (endpoint as readonly Endpoint[]) : [endpoint as Endpoint]
  if (endpoints.length === 0) throw new OptionError('endpoint', 'at least one', 'an empty array')
  const waiting = new Waiting(clock)
  const names = new Set<string>()
  const connections = endpoints.map((each) => connect(each, settings, ids, waiting.alarms, names))
  checkOneChain(connections)
  const sources: SubscriptionSource[] = []
  const paced: PaceBy[] = []
  const eachEndpoint = connections.map(({ post: unwatched, webSocket, ...connection }): EndpointOptions => {
    const { name } = connection
    const health = new Health(name)
    const post = connections.length > 1 ? health.watch(unwatched, clock) : unwatched
    if (webSocket !== undefined) {
      const isOneOfSeveral = connections.length > 1
      // Asked when there is a subscription: the pipeline is made below.
      const check = isOneOfSeveral ? chainCheck({ name, post, send: (call) => send(call), clock, deadlineMs: settings.deadlineMs }) : async () => {}
      sources.push({ name, post, webSocket, health, check })
    }
    // The health of a single endpoint affects nothing.
    const given = budgetFrom(settings, connection.origin)
    const queue = createQueue({
      ...settings,
      ...connection,
      rate: given,
      waiting,
      isHeavy,
      post,
    })
    const { fingerprint } = connection
    paced.push((make) => queue.paceBy((wake) => make({ fingerprint: fingerprint(), clock, given, wake })))
    return { queue, health, chainId: connection.chainId, since: connection.since }
  })
  const ownRetry = retry({ ...settings.backoff, waiting, recovery: sendRecovery })
  const layers: unknown = settings.layers([ownRetry])
  if (!Array.isArray(layers) || !layers.every((layer) => typeof layer === 'function'))
    throw new OptionError('layers', 'a function that returns an array of layers', `one that returns ${show(layers)}`)
  const routed = route({ endpoints: eachEndpoint as [EndpointOptions, ...EndpointOptions[]], protocol: ethereum, waiting, hedge: settings.hedge })
  const send = (layers as Layer[]).reduceRight<Send>(
    (next, layer) => {
      const wrapped: unknown = layer(next)
      if (typeof wrapped !== 'function') throw new OptionError('layers', 'layers that return a function', `one that returns ${show(wrapped)}`)
      return wrapped as Send
    },
    // The user's layers see errors as they are at the edge; the default retry layer also reads what
    // the pipeline attaches to them.
    layers.at(-1) === ownRetry ? routed : atTheEdge(routed),
  )

  let closed: Promise<void> | undefined
  const close = () => {
    waiting.close()
    closed ??= Promise.all(connections.map((connection) => connection.close())).then(() => {})
    return closed
  }
  const listen: Listen = (params, subscriber, signal) => {
    const { attempts, backoff } = settings
    return keepSubscribed({ sources, params, waiting, backoff, attempts, signal }, subscriber)
  }
  const origins = connections.map(({ origin }) => origin)
  const limits = () => eachEndpoint.map(({ queue }) => queue.limits)
  return clientOf({
    pipeline: send,
    defaults: settings,
    endpoints: origins,
    close,
    connections,
    limits,
    clock,
    turn: waiting.turn,
    links: new LinkedSignals(),
    listen: sources.length > 0 ? listen : undefined,
    supported: new Supported(
      connections.map(({ name }) => name),
      clock,
    ),
    nap: (method, until, signal) => waiting.nap({ method, signal, deadline: Number.POSITIVE_INFINITY }, until),
    paceBy: (make) => {
      for (const each of paced) each(make)
    },
  })
}

/** The rate budget, with the costs of the provider for methods whose cost the user omitted. */
function budgetFrom({ rate }: Settings, origin: string): Budget | undefined {
  if (rate === undefined) return undefined
  const { perSecond, units } = rate
  if (units === undefined) return { perSecond }
  const throttled = throttledAt(origin)
  return { perSecond, costOf: (method) => units.get(method) ?? throttled(method) }
}

/**
 * Checks that endpoints given by chain are all of the same chain, as alternatives to each other
 * must be.
 */
function checkOneChain(connections: readonly Connection[]): void {
  const declared = connections.filter(({ chainId }) => chainId !== undefined)
  const odd = declared.find(({ chainId }) => chainId !== declared[0]?.chainId)
  if (odd !== undefined) throw new OptionError('endpoint', `endpoints of one chain (${declared[0]?.chainId})`, `one of chain ${odd.chainId}`)
}

interface Parts {
  readonly pipeline: Send
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

function clientOf(parts: Parts, own: CallSettings = {}, pin?: Pin): Client {
  const { pipeline, defaults, endpoints, close, clock, turn, links, supported } = parts

  /** Sends a call. Its end is told by `call` and by `sendAndTell`, which give it a tally. */
  function send(request: Request & RequestMarks): Promise<Reply> {
    const given = settingsOf(request)
    const { method, params = [], as = 'value', required = false } = request
    if (as !== 'value' && as !== 'bytes') throw new OptionError('as', "'value' or 'bytes'", show(as))
    const priority = given.priority ?? own.priority ?? 'interactive'
    const tally = request[TALLY]
    const isTold = tally !== undefined && areCallsTold()
    if (tally !== undefined && !isTold) tally.told = undefined
    const now = clock.now()
    const both = own.signal && given.signal && own.signal !== given.signal ? links.link(own.signal, given.signal) : undefined
    const bodies = request[UNREAD]
    const call: PooledCall = {
      method,
      // Params by name are an object. Only a user's layer would inspect them.
      params: params as readonly unknown[],
      signal: both?.signal ?? given.signal ?? own.signal,
      deadline: now + (given.deadlineMs ?? own.deadlineMs ?? defaults.deadlineMs),
      attempts: given.attempts ?? own.attempts ?? (priority === 'bulk' ? Number.POSITIVE_INFINITY : defaults.attempts),
      timeoutMs: shorter(given.timeoutMs ?? own.timeoutMs, defaults.timeoutMs),
      whilePaused: given.whilePaused ?? own.whilePaused,
      priority,
      as,
      isUnread: bodies !== undefined,
      bodies,
      decode: request[DECODE],
      required,
      safe: isSafe(method),
      tried: request[AVOID] ?? NOT_TRIED,
      heldBy: request[ONLY],
      pin,
      tally,
    }
    const reply = isTold ? sendTold(pipeline, call, tally, now) : pipeline(call)
    return both === undefined ? reply : reply.finally(both.release)
  }

  /** A failure may tell that an endpoint lacks a method. */
  const learnt = (reason: unknown): never => {
    supported.note(reason)
    throw reason
  }

  /** Sends a call and tells its end. `request` is the callee's: it gets a tally if it has none. */
  function sendAndTell(request: OwnRequest): Promise<Reply>
  function sendAndTell<T>(request: OwnRequest, resultOf: (reply: Reply) => T): Promise<T>
  function sendAndTell(request: OwnRequest, resultOf?: (reply: Reply) => unknown): Promise<unknown> {
    if (!areCallsTold()) return resultOf === undefined ? send(request) : send(request).then(resultOf, learnt)
    request[TALLY] ??= new Tally()
    const tally = request[TALLY]
    return send(request).then(
      (reply) => {
        tellAnswered(tally, reply, turn)
        return resultOf === undefined ? reply : resultOf(reply)
      },
      (reason) => {
        tellFailed(tally, reason, turn)
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
        tellFailed(tally, reason, turn)
        throw reason
      }
      tellAnswered(tally, reply, turn)
      const decoded = takeDecoded(reply)
      if (decoded !== undefined) return decoded as never
      const value = reply.take()
      try {
        return decodeResult(method, value, params) as never
      } catch (error) {
        throw scrubError(error, parts.connections, tally)
      }
    },

    request(request, options) {
      try {
        const { method, params } = request ?? {}
        const signal = options?.signal
        if (signal != null) check.signal(signal)
        const own = ownParams(method, params)
        return sendAndTell(signal == null ? { method, params: own } : { method, params: own, signal }, resultOf)
      } catch (error) {
        return Promise.reject(error)
      }
    },

    send(request) {
      try {
        return sendAndTell({ ...request, params: ownParams(request?.method, request?.params) })
      } catch (error) {
        return Promise.reject(error)
      }
    },

    with(settings) {
      const merged = { ...own, ...checkCallSettings(settings) }
      const signal = bothOf(own.signal, settings.signal)
      return clientOf({ ...parts, close: async () => {} }, signal === undefined ? merged : { ...merged, signal }, pin)
    },

    subscribe(event: string, options: object = {}): Subscription<never> {
      const { listen } = parts
      if (listen === undefined) throw noWebSocket()
      const both: Listen = (params, subscriber, signal) => listen(params, subscriber, bothOf(own.signal, signal))
      return subscription(event, options as Record<string, unknown>, both, (error) => scrubError(error, parts.connections)) as Subscription<never>
    },

    async supports(method) {
      if (typeof method !== 'string' || method === '') throw new OptionError('method', 'the name of a method', show(method))
      const ask: AskOne = (endpoint, asked, params, signal) =>
        send({ method: asked, params, signal, attempts: ATTEMPTS_TO_ASK, [ONLY]: endpoint } as Request & RequestMarks).then(resultOf)
      return supported.supports(method, ask)
    },

    pinned: () => clientOf({ ...parts, close: async () => {} }, own, new Pin()),

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
    listen: parts.listen,
    nap: parts.nap,
    paceBy: parts.paceBy,
  })
}

/** Lives as long as both signals: one for each client or subscription, not for each call. */
function bothOf(a: AbortSignal | undefined, b: AbortSignal | undefined): AbortSignal | undefined {
  return a && b ? AbortSignal.any([a, b]) : (a ?? b)
}

function resultOf(reply: Reply): unknown {
  return reply.take()
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
    throw new CodecError('params', 'values that JSON can hold', `something else (${excerpt((error as Error).message)})`, { method })
  }
}
