import { OptionError } from '../errors.ts'
import { throttledAt } from '../eth/costs.ts'
import { isHeavy } from '../eth/methods.ts'
import { ethereum } from '../eth/protocol.ts'
import { sendRecovery } from '../eth/send-raw-transaction.ts'
import type { Post, Send } from '../rpc/call.ts'
import type { Budget } from '../rpc/limits/rate/given-budget.ts'
import { createQueue } from '../rpc/queue/queue.ts'
import { retry } from '../rpc/retry.ts'
import type { EndpointOptions } from '../rpc/route/endpoint.ts'
import { Health } from '../rpc/route/health.ts'
import { route } from '../rpc/route/route.ts'
import { type Clock, systemClock } from '../wait/clock.ts'
import { LinkedSignals } from '../wait/linked-signals.ts'
import { Waiting } from '../wait/waiting.ts'
import { chainCheck } from './check-chain.ts'
import type { Client } from './client.ts'
import { clientOf } from './client-of.ts'
import { type Connection, connect, type Endpoint } from './endpoint.ts'
import { keepSubscribed } from './keep-subscribed.ts'
import { type ClientOptions, type Settings, settingsFrom } from './options.ts'
import type { Listen } from './subscribe.ts'
import type { SubscriptionSource } from './subscription-source.ts'
import { Supported } from './supports.ts'
import { withLayers } from './with-layers.ts'

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
  const waiting = new Waiting(clock)
  const connections = connectAll(endpoint, settings, waiting)
  const endpoints = connections.map((connection) => queued(connection, connections.length > 1, settings, waiting))
  const ownRetry = retry({ ...settings.backoff, waiting, recovery: sendRecovery })
  const routed = route({
    endpoints: endpoints.map(routable) as [EndpointOptions, ...EndpointOptions[]],
    protocol: ethereum,
    waiting,
    hedge: settings.hedge,
  })
  const { send, hasOthers } = withLayers(settings.layers, ownRetry, routed)
  const sources = subscriptionSources(endpoints, send, settings, clock)
  const listen: Listen = (params, subscriber, signal, onStop) => {
    const { attempts, backoff } = settings
    return keepSubscribed({ sources, params, waiting, backoff, attempts, signal, onStop }, subscriber)
  }
  let closed: Promise<void> | undefined
  return clientOf({
    pipeline: send,
    mayKeepResults: hasOthers || connections.some(({ scrub }) => scrub === undefined),
    defaults: settings,
    endpoints: connections.map(({ origin }) => origin),
    close() {
      waiting.close()
      closed ??= Promise.all(connections.map((connection) => connection.close())).then(() => {})
      return closed
    },
    connections,
    limits: () => endpoints.map(({ queue }) => queue.limits),
    clock,
    turn: waiting.turn,
    links: new LinkedSignals(),
    listen: sources.length > 0 ? listen : undefined,
    supported: new Supported(
      connections.map(({ name }) => name),
      clock,
    ),
    nap: (method, until, signal) => waiting.nap({ method, signal, deadline: Number.POSITIVE_INFINITY }, until),
    paceBy(make) {
      for (const { queue, connection, rate } of endpoints) queue.paceBy((wake) => make({ fingerprint: connection.fingerprint(), clock, given: rate, wake }))
    },
  })
}

/** The connections of the endpoints, with different names. */
function connectAll(endpoint: Endpoint | readonly Endpoint[], settings: Settings, { alarms }: Waiting): Connection[] {
  const endpoints = Array.isArray(endpoint) ? (endpoint as readonly Endpoint[]) : [endpoint as Endpoint]
  if (endpoints.length === 0) throw new OptionError('endpoint', 'at least one', 'an empty array')
  const ids = { next: 1 }
  const names = new Set<string>()
  const connections = endpoints.map((each, i) => {
    try {
      return connect(each, settings, ids, alarms, names)
    } catch (error) {
      throw endpoints.length > 1 && error instanceof OptionError ? ofEntry(error, i) : error
    }
  })
  checkOneChain(connections)
  return connections
}

/** The error of one endpoint of several. */
function ofEntry({ option, expected, received }: OptionError, i: number): OptionError {
  const field = option.replace(/^endpoint\.?/, '')
  return new OptionError(`endpoint[${i}]${field && `.${field}`}`, expected, received)
}

/** An endpoint with its queue. */
interface QueuedEndpoint {
  readonly connection: Connection
  /** Sends its POSTs, and watches its health if that matters. */
  readonly post: Post
  readonly health: Health
  readonly queue: ReturnType<typeof createQueue>
  /** The rate that the user gave. */
  readonly rate: Budget | undefined
}

function queued(connection: Connection, isOneOfSeveral: boolean, settings: Settings, waiting: Waiting): QueuedEndpoint {
  const { post: unwatched, webSocket, ...ofQueue } = connection
  const health = new Health(connection.name)
  // The health of a single endpoint affects nothing.
  const post = isOneOfSeveral ? health.watch(unwatched, waiting.clock) : unwatched
  const rate = budgetFrom(settings, connection.origin)
  const queue = createQueue({ ...settings, ...ofQueue, rate, waiting, isHeavy, post })
  return { connection, post, health, queue, rate }
}

/** What the route has to know of an endpoint. */
function routable({ connection: { progress, chainId, since }, queue, health }: QueuedEndpoint): EndpointOptions {
  return { queue, progress, health, chainId, since }
}

/** The endpoints that are WebSockets. One of several must be on the chain of the others. */
function subscriptionSources(endpoints: readonly QueuedEndpoint[], send: Send, { deadlineMs }: Settings, clock: Clock): SubscriptionSource[] {
  return endpoints.flatMap(({ connection: { name, webSocket }, post, health }) => {
    if (webSocket === undefined) return []
    const check = endpoints.length > 1 ? chainCheck({ name, post, send, clock, deadlineMs }) : async () => {}
    return [{ name, post, webSocket, health, check }]
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
