import { OptionError } from '../errors.ts'
import { throttledAt } from '../eth/costs.ts'
import { isHeavy } from '../eth/methods.ts'
import { ethereum } from '../eth/protocol.ts'
import { sendRecovery } from '../eth/send-raw-transaction.ts'
import type { Layer, Reply, Send } from '../rpc/call.ts'
import { atTheEdge } from '../rpc/call-failure.ts'
import type { Budget } from '../rpc/limits/pacer.ts'
import { createQueue } from '../rpc/queue/queue.ts'
import { retry } from '../rpc/retry.ts'
import type { EndpointOptions } from '../rpc/route/endpoint.ts'
import { Health } from '../rpc/route/health.ts'
import { route } from '../rpc/route/route.ts'
import { show } from '../text.ts'
import { type Clock, systemClock } from '../wait/clock.ts'
import { LinkedSignals } from '../wait/linked-signals.ts'
import { Waiting } from '../wait/waiting.ts'
import { chainCheck } from './check-chain.ts'
import type { Client } from './client.ts'
import { clientOf } from './client-of.ts'
import { type Connection, connect, type Endpoint } from './endpoint.ts'
import type { PaceBy } from './internals.ts'
import { keepSubscribed, type SubscriptionSource } from './keep-subscribed.ts'
import { type ClientOptions, type Settings, settingsFrom } from './options.ts'
import type { Listen } from './subscribe.ts'
import { Supported } from './supports.ts'

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
    return { queue, progress: connection.progress, health, chainId: connection.chainId, since: connection.since }
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
      return layer === ownRetry ? (wrapped as Send) : keepingContract(wrapped as Send)
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
    mayKeepResults: layers.some((layer) => layer !== ownRetry) || connections.some(({ scrub }) => scrub === undefined),
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

/** A layer of the user's own. It may throw, give the reply itself, or give something else. */
function keepingContract(send: Send): Send {
  return async (call) => {
    const reply: Partial<Reply> | undefined | null = await send(call)
    if (typeof reply?.take === 'function' && typeof reply.bytes === 'number') return reply as Reply
    throw new TypeError(`${call.method}: a layer of the client must resolve to a reply, such as replyOf makes, and resolved to ${show(reply)}`)
  }
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
