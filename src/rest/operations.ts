import { ServiceError } from '../errors.ts'
import { boolean, listOf, small, text } from './fields.ts'
import { type Origin, type Page, Paged } from './pages.ts'
import {
  chain,
  checkParams,
  cursor,
  type DataChain,
  evmAddress,
  evmHash,
  flag,
  include,
  listOf as listParam,
  moveHex,
  optional,
  type Param,
  queryOf,
  required,
  whole,
} from './params.ts'
import { type Decoder, decode, orAsSent, record } from './record.ts'
import { type Nft, type NftCollection, type NftTransfer, records, type Stream, type TokenBalance, type Transaction } from './records.ts'
import { getJson, targetOf } from './request.ts'
import { baseUrlOf, type RestOptions, type Service, type Settings, settingsFrom } from './service.ts'

/** An operation of the service: service specification, "Endpoints". */
interface Operation {
  readonly name: string
  readonly group: 'dataUrl' | 'nftUrl' | 'streamsUrl'
  /** The name of a parameter is in braces. */
  readonly path: string
  readonly params: Readonly<Record<string, Param>>
}

/** An operation whose reply is a list. */
interface ListOperation<T> extends Operation {
  readonly page: Decoder<Page<T>>
}

/** A page of a wallet's tokens. */
export interface TokenPage extends Page<TokenBalance> {
  /** Number of this page. */
  readonly page?: number | null | undefined
  /** Number of entries on a full page. */
  readonly page_size?: number | null | undefined
}

/** A page of the NFT group. */
export interface NftPage<T> extends Page<T> {
  readonly hasNextPage?: boolean | null | undefined
}

/** A page of the project's streams. */
export interface StreamPage extends Page<Stream> {
  /** Total number of streams. */
  readonly total?: number | null | undefined
}

/** Parameters of `getWalletTokens`. */
export interface WalletTokensParams {
  /** Address of the wallet. */
  readonly address: string
  readonly chain?: DataChain | undefined
  /** The block at which to read the balances. */
  readonly to_block?: number | bigint | undefined
  /** Limits the result to these tokens. */
  readonly token_addresses?: readonly string[] | undefined
  readonly exclude_spam?: boolean | undefined
  readonly exclude_unverified_contracts?: boolean | undefined
  /** Cursor of the page to begin with. */
  readonly cursor?: string | undefined
  /** Number of entries per page. */
  readonly limit?: number | undefined
  readonly exclude_native?: boolean | undefined
}

/**
 * Lists the native and ERC-20 balances of a wallet, with prices in USD. Service specification,
 * operation 1. Throws at once for invalid parameters.
 */
export function getWalletTokens(service: Service, params: WalletTokensParams, options: RestOptions = {}): Paged<TokenPage> {
  return list(walletTokens, service, params, options)
}

const walletTokens: ListOperation<TokenBalance> = {
  name: 'getWalletTokens',
  group: 'dataUrl',
  path: '/api/v2.2/wallets/{address}/tokens',
  page: pageOf(records.tokenBalance),
  params: {
    address: required(evmAddress),
    chain: optional(chain),
    to_block: optional(whole(0)),
    token_addresses: optional(listParam(evmAddress)),
    exclude_spam: optional(flag),
    exclude_unverified_contracts: optional(flag),
    cursor: optional(cursor),
    limit: optional(whole(1)),
    exclude_native: optional(flag),
  },
}

/** Parameters of `getTransaction`. */
export interface TransactionParams {
  readonly transaction_hash: string
  readonly chain?: DataChain | undefined
  /** Includes the internal calls of the transaction. */
  readonly include?: 'internal_transactions' | undefined
}

/**
 * Gets a transaction by its hash, or null if the service does not know it (HTTP 404). Service
 * specification, operation 2. Throws at once for invalid parameters. A 404 with a page, or with
 * the message that there is no such path, is a `ServiceError`: the address is wrong.
 */
export function getTransaction(service: Service, params: TransactionParams, options: RestOptions = {}): Promise<Transaction | null> {
  const get = prepare(transactionByHash, records.transaction, service, params, options)
  return get(undefined).then(
    ({ value }) => value,
    (error) => {
      if (error instanceof ServiceError && error.status === 404 && !isOfAddress(error)) return null
      throw error
    },
  )
}

/** Does a 404 concern the address, so that nothing is known of the transaction? */
function isOfAddress({ body, said = '' }: ServiceError): boolean {
  // A page is that of a gateway or of a web framework.
  return (typeof body === 'string' && /^\s*</.test(body)) || NO_PATH.test(said)
}

/** Common web frameworks and gateways, and the sandbox. */
const NO_PATH =
  /\bcannot get \/|\b(?:path|route|url|page|endpoint|api)\b.{0,200}\bnot found\b|\bno (?:such |matching )?(?:path|route|page|endpoint|api)\b|\bnot found:? \//i

const transactionByHash: Operation = {
  name: 'getTransaction',
  group: 'dataUrl',
  path: '/api/v2.2/transaction/{transaction_hash}',
  params: { transaction_hash: required(evmHash), chain: optional(chain), include: optional(include) },
}

/** Paging of the NFT group's lists. */
export interface NftListParams {
  /** Number of entries per page. */
  readonly limit: number
  /** Number of entries to skip, on the first page. */
  readonly offset?: number | undefined
  /** Cursor of the page to begin with. */
  readonly cursor?: string | undefined
}

const nftList = { limit: required(whole(1)), offset: optional(whole(0)), cursor: optional(cursor) }

/** Parameters of `getNftTransfersByCollection`. */
export interface NftTransfersByCollectionParams extends NftListParams {
  readonly collection_data_id_hash: string
  /** Limits the result to transfers of these wallets. */
  readonly wallet_whitelist?: readonly string[] | undefined
  /** Excludes transfers of these wallets. */
  readonly wallet_blacklist?: readonly string[] | undefined
}

/**
 * Lists the NFT transfers of a collection. Service specification, operation 3. Throws at once for
 * invalid parameters.
 */
export function getNftTransfersByCollection(service: Service, params: NftTransfersByCollectionParams, options: RestOptions = {}): Paged<NftPage<NftTransfer>> {
  return list(nftTransfersByCollection, service, params, options)
}

const nftTransfersByCollection: ListOperation<NftTransfer> = {
  name: 'getNftTransfersByCollection',
  group: 'nftUrl',
  path: '/nfts/transfers/collections/{collection_data_id_hash}',
  page: pageOf(records.nftTransfer),
  params: {
    collection_data_id_hash: required(moveHex),
    ...nftList,
    wallet_whitelist: optional(listParam(moveHex)),
    wallet_blacklist: optional(listParam(moveHex)),
  },
}

/** Parameters of `getNftsByCollection`. */
export interface NftsByCollectionParams extends NftListParams {
  readonly collection_data_id_hash: string
}

/**
 * Lists the NFTs of a collection. Service specification, operation 4. Throws at once for invalid
 * parameters.
 */
export function getNftsByCollection(service: Service, params: NftsByCollectionParams, options: RestOptions = {}): Paged<NftPage<Nft>> {
  return list(nftsByCollection, service, params, options)
}

const nftsByCollection: ListOperation<Nft> = {
  name: 'getNftsByCollection',
  group: 'nftUrl',
  path: '/nfts/collections/{collection_data_id_hash}/tokens',
  page: pageOf(records.nft),
  params: { collection_data_id_hash: required(moveHex), ...nftList },
}

/** Parameters of `getCollectionsByCreator`. */
export interface CollectionsByCreatorParams extends NftListParams {
  readonly creator_address: string
}

/**
 * Lists the collections that an address has created. Service specification, operation 5. Throws at
 * once for invalid parameters.
 */
export function getCollectionsByCreator(service: Service, params: CollectionsByCreatorParams, options: RestOptions = {}): Paged<NftPage<NftCollection>> {
  return list(collectionsByCreator, service, params, options)
}

const collectionsByCreator: ListOperation<NftCollection> = {
  name: 'getCollectionsByCreator',
  group: 'nftUrl',
  path: '/collections/creators',
  page: pageOf(records.nftCollection),
  params: { ...nftList, creator_address: required(moveHex) },
}

/** Parameters of `getNftTransfersByWallets`. */
export interface NftTransfersByWalletsParams extends NftListParams {
  readonly wallet_addresses: readonly string[]
  /** Limits the result to transfers of these collections. */
  readonly collection_whitelist?: readonly string[] | undefined
  /** Excludes transfers of these collections. */
  readonly collection_blacklist?: readonly string[] | undefined
}

/**
 * Lists the NFT transfers of wallets. Service specification, operation 6. Throws at once for
 * invalid parameters.
 */
export function getNftTransfersByWallets(service: Service, params: NftTransfersByWalletsParams, options: RestOptions = {}): Paged<NftPage<NftTransfer>> {
  return list(nftTransfersByWallets, service, params, options)
}

const nftTransfersByWallets: ListOperation<NftTransfer> = {
  name: 'getNftTransfersByWallets',
  group: 'nftUrl',
  path: '/nfts/transfers/wallets',
  page: pageOf(records.nftTransfer),
  params: {
    ...nftList,
    wallet_addresses: required(listParam(moveHex)),
    collection_whitelist: optional(listParam(moveHex)),
    collection_blacklist: optional(listParam(moveHex)),
  },
}

/** Parameters of `getStreams`. */
export interface StreamsParams {
  /** Number of entries per page, from 1 to 100. */
  readonly limit: number
  /** Cursor of the page to begin with. */
  readonly cursor?: string | undefined
}

/**
 * Lists the streams of the project that owns the key. Service specification, operation 7. Throws at
 * once for invalid parameters.
 */
export function getStreams(service: Service, params: StreamsParams, options: RestOptions = {}): Paged<StreamPage> {
  return list(streams, service, params, options)
}

const streams: ListOperation<Stream> = {
  name: 'getStreams',
  group: 'streamsUrl',
  path: '/streams/evm',
  page: pageOf(records.stream),
  params: { limit: required(whole(1, 100)), cursor: optional(cursor) },
}

/** Checks all arguments. Returns a function that gets the page at a cursor. */
function prepare<T>(
  operation: Operation,
  decoder: Decoder<T>,
  service: Service,
  params: object,
  options: RestOptions,
): (cursor: string | undefined) => Promise<Origin & { readonly value: T }> {
  const settings: Settings = settingsFrom(options)
  const base = baseUrlOf(service, operation.group)
  const values = checkParams(params, operation.params, settings)
  const { name, path } = operation
  const target = targetOf(base, service.apiKey, name, settings)
  const schema = settings.lenient ? decoder.lenient : decoder.strict
  const [, inPath = ''] = /\{(\w+)\}/.exec(path) ?? []
  const start = path.replace(`{${inPath}}`, encodeURIComponent(String(values.get(inPath))))
  return async (at) => {
    const query = [...values].filter(([param]) => param !== inPath && param !== 'cursor' && (param !== 'offset' || at === undefined))
    const answer = await getJson(target, start + queryOf(at === undefined ? query : [...query, ['cursor', at] as const], settings.arrays), settings)
    return { value: decode(schema, answer, target), attempts: answer.attempts, endpoint: base.host }
  }
}

function list<T, P extends Page<T>>(operation: ListOperation<T>, service: Service, params: object, options: RestOptions): Paged<P> {
  const get = prepare(operation, operation.page, service, params, options)
  const origins = new WeakMap<P, Origin>()
  const getPage = async (at: string | undefined) => {
    const { value, ...origin } = await get(at)
    const page = { ...value, cursor: value.cursor || null } as P
    origins.set(page, origin)
    return page
  }
  return new Paged<P>(operation.name, (params as { cursor?: string }).cursor, getPage, options.signal, (page) => origins.get(page))
}

/** The decoder of a page: its records, its cursor and the groups' other fields. */
function pageOf<T>(item: Decoder<T>): Decoder<Page<T>> {
  const paging = { cursor: text.optional(), hasNextPage: boolean.optional() }
  const about = { page: small.optional(), page_size: small.optional(), total: small.optional() }
  const strict = record({ result: listOf(item.strict), ...paging, ...about }).strict
  // Fields that lead to the next page must be decodable, even in lenient mode.
  const leniently = { page: orAsSent(about.page), page_size: orAsSent(about.page_size), total: orAsSent(about.total) }
  const lenient = record({ result: listOf(item.lenient), ...paging, ...leniently }).strict
  // `list` changes the missing or empty cursor of the last page to null.
  return { strict, lenient } as unknown as Decoder<Page<T>>
}
