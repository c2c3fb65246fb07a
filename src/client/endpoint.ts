import { createHash } from 'node:crypto'
import * as check from '../check.ts'
import { OptionError } from '../errors.ts'
import { type ChainSlug, chains, type NodeAddress, nodeUrl } from '../eth/chains.ts'
import { decodeQuantity, encodeQuantity, type Quantity } from '../eth/codec/quantity.ts'
import { classify } from '../eth/errors/classify.ts'
import { isLoopback } from '../http/compression.ts'
import { createExchange } from '../http/create-exchange.ts'
import { BodyProgress } from '../http/progress.ts'
import { type Scrub, scrubber } from '../http/secrets.ts'
import type { Post } from '../rpc/call.ts'
import { customPost } from '../rpc/post/custom-post.ts'
import { watched } from '../rpc/post/observe.ts'
import { createPost } from '../rpc/post/post.ts'
import { show } from '../text.ts'
import type { Alarms } from '../wait/alarms.ts'
import { createWebSocketExchange, type WebSocketExchange } from '../ws/exchange.ts'
import type { Settings } from './options.ts'

/**
 * A node: its URL, optionally with its own headers; a node of the service, by chain and key; or a
 * function that sends the POSTs. `since` is the oldest block that the node has, with its receipts,
 * logs and state: calls that need an older one go to other endpoints.
 */
export type Endpoint =
  | string
  | { readonly url: string; readonly headers?: Readonly<Record<string, string>> | undefined; readonly since?: Quantity | undefined }
  | {
      readonly baseUrl: string
      readonly chain: ChainSlug
      readonly apiKey: string
      readonly headers?: Readonly<Record<string, string>> | undefined
      readonly since?: Quantity | undefined
    }
  | Post

/** An endpoint with its means to send POSTs. */
export interface Connection {
  /** Host and port. A number tells several endpoints of one host apart. */
  readonly name: string
  /** Scheme, host and port; for a function, its name. */
  readonly origin: string
  /**
   * Tells endpoints apart that have limits of their own, such as two keys of a provider, and is the
   * same in all processes: the host, and 32 bits of a digest of all that is secret, which are too
   * few to confirm a guess. For a function, its name.
   */
  readonly fingerprint: () => string
  readonly post: Post
  /** Progress of its replies; undefined for a function. */
  readonly progress?: BodyProgress
  /** Hides the secrets of its URL and headers; undefined for a function. */
  readonly scrub?: Scrub
  /** Id of its chain, if it was given by chain. */
  readonly chainId?: number
  /** The oldest block that it has, as the user says. */
  readonly since?: number
  /** For subscriptions, where it is a WebSocket. */
  readonly webSocket?: WebSocketExchange
  close(): Promise<void>
}

/**
 * Makes a connection, without opening a socket. Throws `OptionError` for an invalid endpoint; no
 * message contains the URL.
 */
export function connect(endpoint: Endpoint, settings: Settings, ids: { next: number }, alarms: Alarms, names: Set<string>): Connection {
  if (typeof endpoint === 'function') {
    const name = unique(endpoint.name || 'custom', names)
    return {
      name,
      origin: name,
      fingerprint: () => name,
      post: watched(name, customPost(name, endpoint, settings.timeoutMs, alarms), alarms.clock),
      async close() {},
    }
  }
  const { url, headers, keys, chainId, since } = addressOf(endpoint)
  const allHeaders: Record<string, string> = {
    ...(check.isWebSocket(url) ? {} : { accept: 'application/json', 'content-type': 'application/json' }),
    'user-agent': 'hexline',
    ...(url.username === '' && url.password === '' ? {} : { authorization: basic(url) }),
    ...settings.headers,
    ...headers,
  }
  const name = unique(url.host, names)
  const scrub = scrubber(url, allHeaders, keys, Object.keys(chains))
  const progress = new BodyProgress()
  const shared = {
    url,
    progress,
    headers: allHeaders,
    timeoutMs: settings.timeoutMs,
    maxResponseBytes: settings.maxResponseBytes,
    compression: settings.compression ?? !isLoopback(url.hostname),
    dispatcher: settings.dispatcher,
    scrub,
    alarms,
  }
  const webSocket = check.isWebSocket(url) ? createWebSocketExchange(shared) : undefined
  // One more than the queue uses, for the question whether the endpoint still answers.
  const exchange = webSocket ?? createExchange({ ...shared, connections: Math.max(settings.concurrency, settings.singleConcurrency) + 1 })
  const post = createPost({ exchange, path: url.pathname + url.search, endpoint: name, scrub, classify, ids, clock: alarms.clock })
  return {
    name,
    origin: url.origin,
    fingerprint: () =>
      `${url.host}-${createHash('sha256')
        .update(JSON.stringify([url.href, allHeaders]))
        .digest('hex')
        .slice(0, 8)}`,
    post,
    scrub,
    progress,
    ...(chainId !== undefined && { chainId }),
    ...(since !== undefined && { since }),
    ...(webSocket && { webSocket }),
    close: () => exchange.close(),
  }
}

function unique(name: string, names: Set<string>): string {
  let unused = name
  for (let i = 2; names.has(unused); i++) unused = `${name}#${i}`
  names.add(unused)
  return unused
}

const FORMS = 'a URL, { url }, { baseUrl, chain, apiKey } or a function'

function addressOf(endpoint: Exclude<Endpoint, Post>): {
  url: URL
  headers: Record<string, string>
  keys: string[]
  chainId?: number
  since?: number | undefined
} {
  if (typeof endpoint === 'string') return { url: parse('endpoint', endpoint), headers: {}, keys: [] }
  if (typeof endpoint !== 'object' || endpoint === null) throw new OptionError('endpoint', FORMS, show(endpoint))
  // Its parts are not its own properties: it would be called an empty object.
  if (endpoint instanceof URL) throw new OptionError('endpoint', FORMS, 'a URL object: give its href')
  const { headers: given = {} } = endpoint
  const headers = check.headers('endpoint.headers', given)
  if ('url' in endpoint) {
    check.onlyKnown('endpoint', endpoint, ['url', 'headers', 'since'])
    return { url: parse('endpoint.url', endpoint.url), headers, keys: [], since: sinceOf(endpoint.since) }
  }
  const names = Object.keys(endpoint)
  if (!['baseUrl', 'chain', 'apiKey'].some((name) => names.includes(name)))
    throw new OptionError('endpoint', FORMS, names[0] === undefined ? 'an empty object' : `an object with ${show(names[0])}`)
  check.onlyKnown('endpoint', endpoint, ['baseUrl', 'chain', 'apiKey', 'headers', 'since'])
  return {
    url: parse('endpoint.baseUrl', nodeUrl(endpoint satisfies NodeAddress)),
    headers,
    keys: [endpoint.apiKey],
    chainId: chains[endpoint.chain],
    since: sinceOf(endpoint.since),
  }
}

function sinceOf(since: unknown): number | undefined {
  if (since === undefined) return undefined
  try {
    return Number(decodeQuantity(encodeQuantity(since)))
  } catch {
    throw new OptionError('endpoint.since', 'a block number (a whole number that is not negative)', show(since))
  }
}

function parse(name: string, text: unknown): URL {
  const url = check.nodeUrl(name, text, 'https://rpc.example.com/KEY')
  url.hash = ''
  return url
}

function basic({ username, password }: URL): string {
  return `Basic ${Buffer.from(`${decode(username)}:${decode(password)}`).toString('base64')}`
}

function decode(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (codes) => {
    try {
      return decodeURIComponent(codes)
    } catch {
      return codes
    }
  })
}
