import type { Client } from '../client/client.ts'
import type { ChainSlug } from '../eth/chains.ts'
import type { Address } from '../eth/codec/hex.ts'
import { absentValues } from './absent.ts'
import { balanceOf, metadataOf, type TokenMetadata, tokensOf } from './erc20.ts'
import type { PriceTable, TokenTable } from './options.ts'
import { listId, valuesOf, writeCursor } from './pages.ts'
import { BadQuery, flag, list, readQuery, text, whole } from './query.ts'
import { json, type Reply } from './reply.ts'
import { coinOf } from './selectors.ts'

/** What the data group's replies are computed from. */
export interface ChainSource {
  readonly client: Client
  readonly chain: ChainSlug
  readonly prices: PriceTable
  readonly tokens: TokenTable
  readonly likeProduction: boolean
}

/** The address that such services use for the native coin. */
const NATIVE: Address = `0x${'e'.repeat(40)}`
const LARGEST_PAGE = 100

const parameters = {
  chain: text('the name or hex id of a chain'),
  to_block: whole(0),
  token_addresses: list(text('an address', /^0x[0-9a-fA-F]{40}$/)),
  exclude_spam: flag,
  exclude_unverified_contracts: flag,
  cursor: text('the cursor of a page'),
  limit: whole(1, LARGEST_PAGE),
  exclude_native: flag,
}

interface Holding {
  readonly address: Address
  readonly isNative: boolean
  readonly balance: bigint
}

/**
 * A page of a wallet's balances, read from the chain: the native coin first, then the tokens by
 * address. All pages are as of the block of the first. Throws `BadQuery`, and what the client
 * throws. Service specification, operation 1.
 */
export async function walletTokens(source: ChainSource, wallet: Address, search: URLSearchParams): Promise<Reply> {
  const { client, tokens, prices } = source
  const { chain: _, cursor, ...query } = readQuery(search, parameters)
  const limit = query.limit ?? LARGEST_PAGE
  const { to_block, token_addresses, exclude_native, exclude_spam, exclude_unverified_contracts } = query
  const wanted = token_addresses && new Set(token_addresses.map((each) => each.toLowerCase()))
  const excluded = [exclude_native, exclude_spam, exclude_unverified_contracts].map((flag) => flag === true)
  const list = listId([wallet.toLowerCase(), to_block, wanted && [...wanted].sort(), excluded])
  const from = cursor === undefined ? undefined : readCursor(cursor, list)
  const block = from ? BigInt(from.block) : await blockOf(client, to_block)

  const all = await holdingsOf(client, wallet, block)
  const listed = all.filter(({ address, isNative }) => {
    const known = tokens[address]
    if (wanted !== undefined && !wanted.has(address)) return false
    if (isNative) return exclude_native !== true
    return !(exclude_spam && known?.possibleSpam) && !(exclude_unverified_contracts && !known?.verifiedContract)
  })
  const start = from ? listed.findIndex((each) => keyOf(each) > from.after) : 0
  const page = start === -1 ? [] : listed.slice(start, start + limit)
  const isLast = start === -1 || start + limit >= listed.length

  // A share of the portfolio needs every token that has a price, and so its decimals.
  const valued = all.filter(({ address, isNative }) => prices[isNative ? 'native' : address] !== undefined)
  const metadata = await metadataFor(source, block, new Set([...page, ...valued]))
  const total = valued.reduce((sum, each) => sum + worthOf(source, each, metadata), 0)
  const last = page.at(-1)
  const number = from?.page ?? 0
  const next = last && !isLast ? writeCursor({ list, block: block.toString(), after: keyOf(last), page: number + 1 }) : absentValues(source.likeProduction).text
  return json(200, { cursor: next, page: number, page_size: limit, result: page.map((each) => entryOf(source, each, metadata, total)) })
}

async function blockOf(client: Client, asked: number | undefined): Promise<bigint> {
  const head = await client.call('eth_blockNumber')
  if (asked === undefined) return head
  if (asked > head) throw new BadQuery([`to_block must not be above the newest block, ${head}`])
  return BigInt(asked)
}

async function holdingsOf(client: Client, wallet: Address, block: bigint): Promise<Holding[]> {
  const [native, tokens] = await Promise.all([client.call('eth_getBalance', wallet, block), tokensOf(client, wallet, block)])
  const balances = await Promise.all(tokens.map((token) => balanceOf(client, token, wallet, block)))
  // A contract that returns no balance is not an ERC-20, whatever it logs.
  const held = tokens.flatMap((address, i) => {
    const balance = balances[i]
    return balance == null ? [] : [{ address, isNative: false, balance }]
  })
  held.sort((a, b) => (a.address < b.address ? -1 : 1))
  return [{ address: NATIVE, isNative: true, balance: native }, ...held]
}

/** The native coin goes first. */
function keyOf({ address, isNative }: Holding): string {
  return isNative ? '' : address
}

function readCursor(cursor: string, list: string): { block: string; after: string; page: number } {
  const values = valuesOf(cursor)
  const { block, after, page } = values ?? {}
  if (typeof block !== 'string' || !/^\d+$/.test(block) || typeof after !== 'string' || typeof page !== 'number')
    throw new BadQuery(['cursor must come from an earlier page'])
  if (values?.list !== list) throw new BadQuery(['cursor must come from the same wallet with the same filters'])
  return { block, after, page }
}

type MetadataByAddress = ReadonlyMap<Address, TokenMetadata>

async function metadataFor({ client, chain }: ChainSource, block: bigint, holdings: ReadonlySet<Holding>): Promise<MetadataByAddress> {
  const entries = [...holdings].map(async ({ address, isNative }) => {
    const metadata = isNative ? { ...coinOf(chain), decimals: 18 } : await metadataOf(client, address, block)
    return [address, metadata] as const
  })
  return new Map(await Promise.all(entries))
}

function worthOf({ prices }: ChainSource, { address, isNative, balance }: Holding, metadata: MetadataByAddress): number {
  const price = prices[isNative ? 'native' : address]
  return price === undefined ? 0 : price.usd * Number(formatted(balance, metadata.get(address)?.decimals ?? 0))
}

function entryOf(source: ChainSource, holding: Holding, metadata: MetadataByAddress, total: number): object {
  const { address, isNative, balance } = holding
  const absent = absentValues(source.likeProduction)
  const { name, symbol, decimals } = metadata.get(address) ?? {}
  const known = source.tokens[address]
  const price = source.prices[isNative ? 'native' : address]
  const value = worthOf(source, holding, metadata)
  const before = price?.usd24hAgo
  const isCompared = price !== undefined && before !== undefined
  return {
    token_address: address,
    symbol: symbol ?? absent.text,
    name: name ?? absent.text,
    logo: known?.logo ?? absent.image,
    thumbnail: known?.thumbnail ?? absent.image,
    decimals: decimals ?? absent.number,
    balance: balance.toString(),
    possible_spam: known?.possibleSpam ?? false,
    verified_contract: isNative || (known?.verifiedContract ?? false),
    balance_formatted: formatted(balance, decimals ?? 0),
    usd_price: price?.usd ?? absent.number,
    usd_price_24hr_percent_change: isCompared ? (price.usd / before - 1) * 100 : absent.number,
    usd_price_24hr_usd_change: isCompared ? price.usd - before : absent.number,
    usd_value: price === undefined ? absent.number : value,
    // What today's holding has gained since.
    usd_value_24hr_usd_change: isCompared ? value - (value / price.usd) * before : absent.number,
    native_token: isNative,
    portfolio_percentage: total === 0 ? 0 : (value / total) * 100,
  }
}

/** The exact decimal number, without trailing zeros. */
function formatted(amount: bigint, decimals: number): string {
  const digits = amount.toString().padStart(decimals + 1, '0')
  const fraction = digits.slice(digits.length - decimals).replace(/(?<!0)0+$/, '')
  return decimals === 0 || fraction === '' ? digits.slice(0, digits.length - decimals) : `${digits.slice(0, digits.length - decimals)}.${fraction}`
}
