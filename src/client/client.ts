import * as check from '../check.ts'
import { CodecError, OptionError } from '../errors.ts'
import type { Hash } from '../eth/codec/hex.ts'
import { costOf, decodeResult, encodeArguments, isHeavy, isSafe, type MethodName, type MethodParams, type MethodResult } from '../eth/methods.ts'
import type { Block } from '../eth/objects.ts'
import type { BlockNumber } from '../eth/params.ts'
import { ethereum } from '../eth/protocol.ts'
import { sendRecovery } from '../eth/send-raw-transaction.ts'
import type { Layer, PooledCall, Reply, Send } from '../rpc/call.ts'
import { tallied } from '../rpc/call-events.ts'
import { atTheEdge } from '../rpc/call-failure.ts'
import { callEvents } from '../rpc/events.ts'
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
import { Waiting } from '../wait/waiting.ts'
import { type Connection, connect, type Endpoint } from './endpoint.ts'
import { type RequestMarks, TALLY, UNREAD, withInternals } from './internals.ts'
import { type CallSettings, type ClientOptions, checkCallSettings, type Settings, settingsFrom } from './options.ts'
import { scrubError } from './scrub-error.ts'

/** A call for `client.send`, with the settings that are about it alone. */
export interface Request extends CallSettings {
  readonly method: string
  readonly params?: readonly unknown[] | Readonly<Record<string, unknown>>
  /** The result parsed (default), or the node's own bytes of it, which are exactly one JSON value. */
  readonly as?: 'value' | 'bytes'
  /** A null result means that the node lags: a failure, so that it is asked again, or another one. */
  readonly required?: boolean
}

/** Talks to one or several Ethereum nodes. An EIP-1193 provider, too. */
export interface Client {
  /**
   * One of the 28 methods of the service, typed and decoded: `client.call('eth_getBlockByNumber', 21_000_000n, true)`.
   * Rejects with `CodecError` before a byte is sent when an argument cannot be meant, with `RpcError` when the node answers
   * an error, and with the other subclasses of `HexlineError` when there is no good answer.
   */
  call<Full extends boolean>(method: 'eth_getBlockByNumber', block: BlockNumber, full: Full): Promise<Block<Full> | null>
  call<Full extends boolean>(method: 'eth_getBlockByHash', blockHash: Hash, full: Full): Promise<Block<Full> | null>
  call<M extends MethodName>(method: M, ...params: MethodParams<M>): Promise<MethodResult<M>>
  /** Any method, raw JSON in and out (EIP-1193). */
  request(
    request: { readonly method: string; readonly params?: readonly unknown[] | object | undefined },
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<unknown>
  /** The pipeline under both: any method, the reply still to be taken. For code that builds on hexline. */
  send(request: Request): Promise<Reply>
  /** A client on the same sockets, queue and limits, with other settings for its calls. Closing it does nothing. */
  with(settings: CallSettings): Client
  /**
   * A client for one logical action: its calls all go to one endpoint, the best one at the first of them, so that a read after a write, or after a block number, sees
   * no older head. When that endpoint fails a call, they go on at another, though only at one that has the newest block which their replies have told of (block
   * numbers, blocks, receipts, transactions, logs); until there is one they fail as `lagging`, and are repeated like any other. Otherwise as `with({})`.
   */
  pinned(): Client
  /** What it talks to, in order: scheme, host and port of each, such as `https://rpc.example.com`. Never a path, where the key is. */
  readonly endpoints: readonly string[]
  /** Ends all that waits with `ClosedError`, and every connection. Later calls reject with `ClosedError`. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** True for what `createClient` makes, and for what is made like it. */
export function isClient(value: unknown): value is Client {
  return typeof (value as Client | undefined)?.send === 'function' && typeof (value as Client).with === 'function'
}

/**
 * A client for a node, or for several that stand in for each other. Opens no connection until the first call, and holds
 * the process up only while a call waits, or, until it is closed, for at most 3 s longer where one of several endpoints has
 * not yet answered a question of hexline's own. Throws `OptionError` for invalid options.
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
  const rate = budgetFrom(settings)
  const eachEndpoint = connections.map(({ post, ...connection }): EndpointOptions => {
    const health = new Health(connection.name)
    // Where there is only one endpoint, nothing follows from how it does.
    const queue = createQueue({ ...settings, ...connection, rate, waiting, isHeavy, post: connections.length > 1 ? health.watch(post, clock) : post })
    return { queue, health, chainId: connection.chainId }
  })
  const ownRetry = retry({ ...settings.backoff, waiting, recovery: sendRecovery })
  const layers: unknown = settings.layers([ownRetry])
  if (!Array.isArray(layers) || !layers.every((layer) => typeof layer === 'function'))
    throw new OptionError('layers', 'a function that gives an array of layers', `one that gives ${show(layers)}`)
  const routed = route({ endpoints: eachEndpoint as [EndpointOptions, ...EndpointOptions[]], protocol: ethereum, waiting, hedge: settings.hedge })
  const send = (layers as Layer[]).reduceRight<Send>(
    (next, layer) => {
      const wrapped: unknown = layer(next)
      if (typeof wrapped !== 'function') throw new OptionError('layers', 'layers that give a function', `one that gives ${show(wrapped)}`)
      return wrapped as Send
    },
    // A layer of the user's sees errors, whole ones; our own also reads what the pipeline knows beside them.
    layers.at(-1) === ownRetry ? routed : atTheEdge(routed),
  )

  let closed: Promise<void> | undefined
  const close = () => {
    waiting.close()
    closed ??= Promise.all(connections.map((connection) => connection.close())).then(() => {})
    return closed
  }
  const origins = connections.map(({ origin }) => origin)
  return clientOf({ pipeline: send, defaults: settings, endpoints: origins, close, connections, clock, links: new LinkedSignals() })
}

/** What may go per second, with the costs of the method table where the user gave none. */
function budgetFrom({ rate }: Settings): Budget | undefined {
  if (rate === undefined) return undefined
  const { perSecond, units } = rate
  return { perSecond, costOf: units && ((method) => units.get(method) ?? costOf(method)) }
}

/** Several endpoints stand in for each other. Those that were given by their chain cannot, when it is not the same. */
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
  readonly clock: Clock
  readonly links: LinkedSignals
}

function clientOf(parts: Parts, own: CallSettings = {}, pin?: Pin): Client {
  const { pipeline, defaults, endpoints, close, clock, links } = parts

  function send(request: Request & RequestMarks): Promise<Reply> {
    const given = settingsOf(request)
    const { method, params = [], as = 'value', required = false } = request
    if (as !== 'value' && as !== 'bytes') throw new OptionError('as', "'value' or 'bytes'", show(as))
    const priority = given.priority ?? own.priority ?? 'interactive'
    const isTold = callEvents.hasSubscribers
    const tally = request[TALLY] ?? (isTold ? new Tally() : undefined)
    const both = own.signal && given.signal && own.signal !== given.signal ? links.link(own.signal, given.signal) : undefined
    const bodies = request[UNREAD]
    const call: PooledCall = {
      method,
      // Where a method takes its params by name they are an object: only its own layer would look into them.
      params: params as readonly unknown[],
      signal: both?.signal ?? given.signal ?? own.signal,
      deadline: clock.now() + (given.deadlineMs ?? own.deadlineMs ?? defaults.deadlineMs),
      attempts: given.attempts ?? own.attempts ?? (priority === 'bulk' ? Number.POSITIVE_INFINITY : defaults.attempts),
      timeoutMs: shorter(given.timeoutMs ?? own.timeoutMs, defaults.timeoutMs),
      whilePaused: given.whilePaused ?? own.whilePaused,
      priority,
      as,
      isUnread: bodies !== undefined,
      bodies,
      required,
      safe: isSafe(method),
      tried: [],
      pin,
      tally,
    }
    const reply = isTold ? tallied(pipeline, call, tally as Tally, clock) : pipeline(call)
    return both === undefined ? reply : reply.finally(both.release)
  }

  const client: Client = {
    async call(method: string, ...args: unknown[]) {
      const params = encodeArguments(method, args)
      const tally = new Tally()
      const reply = await send({ method, params, [TALLY]: tally })
      const value = reply.take()
      try {
        return decodeResult(method, value, params) as never
      } catch (error) {
        throw scrubError(error, parts.connections, tally)
      }
    },

    async request(request, options) {
      const { method, params } = request ?? {}
      const signal = options?.signal
      if (signal != null) check.signal(signal)
      const reply = await send({ method, params: ownParams(method, params), ...(signal != null && { signal }) })
      return reply.take()
    },

    send(request) {
      try {
        return send({ ...request, params: ownParams(request?.method, request?.params) })
      } catch (error) {
        return Promise.reject(error)
      }
    },

    with(settings) {
      const merged = { ...own, ...checkCallSettings(settings) }
      // Held for as long as both are: one for a client, not one for a call.
      const signal = own.signal && settings.signal ? AbortSignal.any([own.signal, settings.signal]) : merged.signal
      return clientOf({ ...parts, close: async () => {} }, signal === undefined ? merged : { ...merged, signal }, pin)
    },

    pinned: () => clientOf({ ...parts, close: async () => {} }, own, new Pin()),

    endpoints,
    close,
    [Symbol.asyncDispose]: close,
  }
  return withInternals(client, { connections: parts.connections, clock })
}

const NONE: CallSettings = {}

/** The settings among the fields of a request, checked. Most have none, and pay for none. */
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

/** The endpoint's own timeout is enforced there, where it is known how far the POST has come. */
function shorter(timeoutMs: number | undefined, ofEndpoint: number): number | undefined {
  return timeoutMs !== undefined && timeoutMs < ofEndpoint ? timeoutMs : undefined
}

/**
 * The params as JSON has them now: what the caller does to them later must not change a call that is repeated. Throws
 * `CodecError` for what is no call.
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
