import type { Client } from '../client/client.ts'
import { chains } from '../eth/chains.ts'
import type { Address, Hash } from '../eth/codec/hex.ts'
import { type Forward, parseError, readRpcBody } from './json-rpc.ts'
import { collectionsByCreator, nftsByCollection, transfersByCollection, transfersByWallets } from './nft.ts'
import type { Settings } from './options.ts'
import type { Limit } from './rate.ts'
import { Refusal, type Reply } from './reply.ts'
import { slugOf } from './selectors.ts'
import type { Handler, Incoming } from './server.ts'
import { listStreams } from './streams.ts'
import { walletTokens } from './tokens.ts'
import { transactionByHash } from './transaction.ts'

/** What the routes need. */
export interface Service {
  readonly settings: Settings
  readonly client: Client
  readonly forward: Forward
  readonly limit: Limit
}

/** One operation of the REST groups: `:name` stands for any segment. */
interface Route {
  readonly path: string
  answer(service: Service, argument: string, search: URLSearchParams): Reply | Promise<Reply>
}

/** Operations 1 to 7 of the service specification. */
const routes: readonly Route[] = [
  {
    path: 'api/v2.2/wallets/:address/tokens',
    answer({ settings, client }, address, search) {
      checkSelector(settings, search)
      if (!/^0x[0-9a-fA-F]{40}$/.test(address)) throw new Refusal(400, 'address must be 20 bytes in hex')
      return walletTokens({ ...settings, client }, address as Address, search)
    },
  },
  {
    path: 'api/v2.2/transaction/:transaction_hash',
    answer({ settings, client }, hash, search) {
      checkSelector(settings, search)
      if (!/^0x[0-9a-fA-F]{64}$/.test(hash)) throw new Refusal(400, 'transaction_hash must be 32 bytes in hex')
      return transactionByHash(client, hash as Hash, search, settings.likeProduction)
    },
  },
  {
    path: 'nfts/transfers/collections/:collection_data_id_hash',
    answer: ({ settings }, collection, search) => transfersByCollection(settings.seed, collection, search),
  },
  {
    path: 'nfts/collections/:collection_data_id_hash/tokens',
    answer: ({ settings }, collection, search) => nftsByCollection(settings.seed, collection, search),
  },
  { path: 'collections/creators', answer: ({ settings }, _, search) => collectionsByCreator(settings.seed, search) },
  { path: 'nfts/transfers/wallets', answer: ({ settings }, _, search) => transfersByWallets(settings.seed, search) },
  { path: 'streams/evm', answer: ({ settings }, _, search) => listStreams(settings, search) },
]

/**
 * The whole service: seven operations by `GET`, JSON-RPC by `POST`, and 404 for everything else.
 */
export function serviceHandler(service: Service): Handler {
  const table = routes.map((route) => ({ ...route, segments: route.path.split('/') }))
  return (incoming) => {
    for (const route of table) {
      const argument = match(route.segments, incoming.path)
      if (argument === undefined) continue
      if (incoming.method !== 'GET') throw new Refusal(405, 'this operation takes GET', { headers: { allow: 'GET' } })
      checkKey(service.settings, incoming.headers['x-api-key'], 'send it in the header X-API-Key')
      service.limit(1)
      return route.answer(service, argument, incoming.search)
    }
    const [chain = '', key = ''] = incoming.path
    if (incoming.path.length === 2 && key !== '') return jsonRpc(service, chain, key, incoming)
    throw new Refusal(404, 'no such path')
  }
}

/**
 * The value of the path's one parameter, an empty string where it has none; undefined where the
 * path does not match.
 */
function match(segments: readonly string[], path: readonly string[]): string | undefined {
  if (segments.length !== path.length) return undefined
  let argument = ''
  for (const [i, segment] of segments.entries()) {
    const given = path[i] as string
    if (segment.startsWith(':') && given !== '') argument = given
    else if (segment !== given) return undefined
  }
  return argument
}

/** Throws `Refusal` unless JSON-RPC is served at this path, with this key. */
export function checkRpcPath(settings: Settings, path: readonly string[]): void {
  const [chain = '', key = ''] = path
  if (path.length !== 2 || key === '') throw new Refusal(404, 'no such path')
  checkServed(settings, chain)
  checkKey(settings, key, 'it is the last part of the path')
}

/** A segment that is not a chain may be a key in the wrong place, so it is not repeated. */
function checkServed(settings: Settings, chain: string): void {
  if (!Object.hasOwn(chains, chain)) throw new Refusal(404, 'no such path')
  if (chain !== settings.chain) throw new Refusal(404, `this sandbox serves ${settings.chain}, not ${chain}`)
}

/** Service specification, operation 8. */
async function jsonRpc({ settings, forward, limit }: Service, chain: string, key: string, { method, body, signal }: Incoming): Promise<Reply> {
  checkServed(settings, chain)
  if (method !== 'POST') throw new Refusal(405, 'JSON-RPC takes POST', { headers: { allow: 'POST' } })
  checkKey(settings, key, 'it is the last part of the path')
  const parsed = readRpcBody(await body())
  if (parsed === undefined) return parseError
  limit(parsed.calls)
  return await forward.send(parsed, signal)
}

function checkKey({ apiKey, quotaKeys }: Settings, key: string | string[] | undefined, how: string): void {
  if (key === undefined) throw new Refusal(401, `missing API key: ${how}`)
  if (quotaKeys.includes(String(key))) throw new Refusal(401, 'quota exceeded: the quota of this API key is used up')
  if (key !== apiKey) throw new Refusal(401, `invalid API key: ${how}`)
}

/**
 * Defaults to the sandbox's own chain. Another chain gets 400, since 404 means an unknown
 * transaction.
 */
function checkSelector({ chain }: Settings, search: URLSearchParams): void {
  const selector = search.get('chain')
  if (selector === null) return
  const slug = slugOf(selector)
  if (slug === undefined) throw new Refusal(400, 'chain must be the name or hex id of a chain of the data group, such as eth or 0x1')
  if (slug !== chain) throw new Refusal(400, `this sandbox serves only ${chain}`)
}
