import { type Chain, type EIP1193RequestFn, type EIP1193RequestOptions, type RpcSchema, type Transport, UrlRequiredError } from 'viem'
import { buildRequest, stringify } from 'viem/utils'
import { type Client, isClient } from '../../src/client/client.ts'
import { createClient } from '../../src/client/create-client.ts'
import type { Endpoint } from '../../src/client/endpoint.ts'
import { type CallSettings, settingsFrom } from '../../src/client/options.ts'
import { CodecError, IntegrityError, RpcError } from '../../src/errors.ts'
import { callSettings, checkConfig, clientOptions, DEFAULTS, type HexlineTransportConfig } from './config.ts'
import { errorObject, viemError } from './format/viem-error.ts'
import { AnnouncedBlocks } from './live/announced-blocks.ts'
import { type Ask, PolledFilters } from './live/polled-filters.ts'
import { type Subscribe, subscribeOf } from './live/subscribe.ts'

/**
 * A viem transport on hexline. `client.transport.client` of a viem client is the hexline client
 * that it uses.
 */
export type HexlineTransport<rpcSchema extends RpcSchema | undefined = undefined, raw extends boolean = false> = Transport<
  'hexline',
  { client: Client },
  EIP1193RequestFn<rpcSchema, raw>
>

/**
 * The same with a WebSocket among its endpoints: viem's watch actions subscribe by it, as they do
 * by `webSocket()`.
 */
export type HexlineWebSocketTransport<rpcSchema extends RpcSchema | undefined = undefined, raw extends boolean = false> = Transport<
  'webSocket',
  { client: Client; subscribe: Subscribe },
  EIP1193RequestFn<rpcSchema, raw>
>

/** The URL of a WebSocket, as its type shows it. */
type WebSocketUrl = `ws://${string}` | `wss://${string}`

/** A WebSocket, or endpoints of which the first one is a WebSocket. */
type WebSocketTarget = WebSocketUrl | { readonly url: WebSocketUrl } | readonly [WebSocketUrl | { readonly url: WebSocketUrl }, ...Endpoint[]]

/**
 * A client, the id under which viem joins its identical calls, what its nodes announced, and its
 * filters.
 */
interface Engine {
  readonly client: Client
  readonly uid: string
  readonly announced: AnnouncedBlocks
  readonly filters: PolledFilters
}

/** A call as viem makes it. */
interface Args {
  readonly method: string
  readonly params?: unknown
}

/**
 * A viem transport: `createPublicClient({ chain, transport: hexline(url) })`. It takes
 * - a node's URL, or a node of the service (`{ baseUrl, chain, apiKey }`),
 * - an array of them, as alternatives to each other,
 * - a hexline client, which it shares and does not close,
 * - nothing, or an empty URL, for the chain's default URL.
 *
 * With a WebSocket among the endpoints, its `type` is `webSocket`, and viem's watch actions
 * subscribe. TypeScript sees that where the first URL's type does.
 *
 * hexline does the batching, retries and throttling. Errors are viem's own, with hexline's error as
 * their cause. Throws `OptionError` for invalid options.
 *
 * Each `hexline()` has its own sockets and learns its own limits, so make one and use it for all
 * viem clients.
 */
export function hexline<rpcSchema extends RpcSchema | undefined = undefined, raw extends boolean = false>(
  target: WebSocketTarget,
  config?: HexlineTransportConfig<rpcSchema, raw>,
): HexlineWebSocketTransport<rpcSchema, raw>
export function hexline<rpcSchema extends RpcSchema | undefined = undefined, raw extends boolean = false>(
  target?: Endpoint | readonly Endpoint[] | Client,
  config?: HexlineTransportConfig<rpcSchema, raw>,
): HexlineTransport<rpcSchema, raw>
export function hexline<rpcSchema extends RpcSchema | undefined = undefined, raw extends boolean = false>(
  target?: Endpoint | readonly Endpoint[] | Client,
  config: HexlineTransportConfig<rpcSchema, raw> = {},
): HexlineTransport<rpcSchema, raw> | HexlineWebSocketTransport<rpcSchema, raw> {
  const ownsClient = !isClient(target)
  checkConfig(config, !ownsClient)
  // viem calls the factory often, and `fallback` does so on every call, so shared objects are made
  // here.
  const engines = new Map<string, Engine>()
  const engine = target === undefined || target === '' ? undefined : engineOf(isClient(target) ? target : createClient(target, clientOptions(config)))
  // The settings of a given client are not known here.
  const defaults: { readonly [K in keyof typeof DEFAULTS]?: number } = ownsClient ? DEFAULTS : {}
  if (engine === undefined) settingsFrom(clientOptions(config))

  const factory = ({ chain, retryCount, timeout, pollingInterval }: Parameters<Transport>[0]) => {
    const used = engine ?? engineOfChain(chain)
    const { client, uid } = used
    const subscribe = subscribeOf(client, pollingInterval, used.announced)
    const request = async (args: Args, options: EIP1193RequestOptions & { timeout?: number } = {}) => {
      const settings = callSettings({ config, factory: { retryCount, timeout }, call: { ...options, method: args.method } }, ownsClient)
      const once = buildRequest((each: Args) => send(used, each, settings, config.raw === true), { methods: config.methods, uid })
      try {
        // Only hexline retries.
        return await once(args as never, { ...options, retryCount: 0 })
      } catch (error) {
        // Versions of viem before 2.49 do not support signals, and wrap the reason in an error.
        if (options.signal?.aborted) throw options.signal.reason
        throw error
      }
    }
    return {
      config: {
        key: config.key ?? 'hexline',
        methods: config.methods,
        name: config.name ?? 'hexline JSON-RPC',
        request: request as never,
        retryCount: config.retryCount ?? retryCount ?? defaults.retryCount,
        retryDelay: config.retryDelay ?? defaults.retryDelay,
        timeout: timeout ?? config.timeout ?? defaults.timeout,
        type: subscribe === undefined ? ('hexline' as const) : ('webSocket' as const),
      },
      request: request as never,
      value: subscribe === undefined ? { client } : { client, subscribe },
    }
  }
  return factory as unknown as HexlineTransport<rpcSchema, raw>

  function engineOfChain(chain: Chain | undefined): Engine {
    const url = chain?.rpcUrls.default.http[0]
    if (!url) throw new UrlRequiredError()
    const known = engines.get(url)
    if (known !== undefined) return known
    const made = engineOf(createClient(url, clientOptions(config)))
    engines.set(url, made)
    return made
  }
}

function engineOf(client: Client): Engine {
  return { client, uid: crypto.randomUUID(), announced: new AnnouncedBlocks(), filters: new PolledFilters(client) }
}

/** Sends one call with hexline. Rejects with an error of viem's, or with the signal's reason. */
async function send({ client, announced, filters }: Engine, { method, params }: Args, settings: CallSettings, raw: boolean) {
  const required = announced.isAskedFor(method, params)
  const ask: Ask = async (name, given) => {
    const sendWith = (params: readonly unknown[]) => client.send({ method: name, params, required, ...settings })
    const reply = await sendWith(given).catch((error: unknown) => {
      // viem accepts bigints in params, and sends them as decimal strings.
      if (error instanceof CodecError && error.path === 'params' && typeof params === 'object') return sendWith(JSON.parse(stringify(given)))
      throw error
    })
    return reply.take()
  }
  try {
    const given = (params ?? []) as readonly unknown[]
    const result = await (PolledFilters.takes(method) && Array.isArray(given) ? filters.send(method, given, ask, settings) : ask(method, given))
    return raw ? { error: undefined, result } : result
  } catch (error) {
    // It may have been replaced by a shorter chain: viem has its own error for a null.
    if (required && error instanceof IntegrityError && error.kind === 'lagging') return raw ? { error: undefined, result: null } : null
    if (raw && error instanceof RpcError) return { error: errorObject(error), result: undefined }
    throw viemError(error, { method, params }, client.endpoints)
  }
}
