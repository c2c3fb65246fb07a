import { type Page, pageOf } from './pages.ts'
import { BadQuery, list, readQuery, required, text, whole } from './query.ts'
import type { NftTransfer, Seed } from './records.ts'
import { json, type Reply } from './reply.ts'

const address = text('an address (up to 64 hex digits)', /^(?:0x)?[0-9a-fA-F]{1,64}$/)
const id = text('the hash of a collection')
const paging = { limit: required(whole(1)), offset: whole(0), cursor: text('the cursor of a page') }

/** Transfers of a collection's NFTs, newest first. Service specification, operation 3. */
export function transfersByCollection(seed: Seed, collection: string, search: URLSearchParams): Reply {
  return answer(() => {
    const query = readQuery(search, { ...paging, wallet_whitelist: list(address), wallet_blacklist: list(address) })
    const allowed = query.wallet_whitelist && setOf(query.wallet_whitelist)
    const denied = setOf(query.wallet_blacklist ?? [])
    const of = seed.transfers.filter((each) => isSame(each.collection_data_id_hash, collection) && (allowed?.touches(each) ?? true) && !denied.touches(each))
    return pageOf(of, newestFirst, { ...query, of: [3, plain(collection), plainSet(query.wallet_whitelist), plainSet(query.wallet_blacklist)] })
  })
}

/** NFTs of a collection. Service specification, operation 4. */
export function nftsByCollection(seed: Seed, collection: string, search: URLSearchParams): Reply {
  return answer(() => {
    const query = readQuery(search, paging)
    const of = seed.nfts.filter((each) => isSame(each.collection_data_id_hash, collection))
    return pageOf(of, (each) => each.token_data_id_hash, { ...query, of: [4, plain(collection)] })
  })
}

/** Collections of a creator. Service specification, operation 5. */
export function collectionsByCreator(seed: Seed, search: URLSearchParams): Reply {
  return answer(() => {
    const query = readQuery(search, { ...paging, creator_address: required(address) })
    const of = seed.collections.filter((each) => isSame(each.creator_address, query.creator_address))
    return pageOf(of, (each) => each.collection_data_id_hash, { ...query, of: [5, plain(query.creator_address)] })
  })
}

/**
 * Transfers from or to any of several wallets, newest first. Service specification, operation 6.
 */
export function transfersByWallets(seed: Seed, search: URLSearchParams): Reply {
  return answer(() => {
    const query = readQuery(search, { ...paging, wallet_addresses: required(list(address)), collection_whitelist: list(id), collection_blacklist: list(id) })
    const wallets = setOf(query.wallet_addresses)
    const allowed = query.collection_whitelist && setOf(query.collection_whitelist)
    const denied = setOf(query.collection_blacklist ?? [])
    const of = seed.transfers.filter(
      (each) => wallets.touches(each) && (allowed?.has(each.collection_data_id_hash) ?? true) && !denied.has(each.collection_data_id_hash),
    )
    return pageOf(of, newestFirst, { ...query, of: [6, ...[query.wallet_addresses, query.collection_whitelist, query.collection_blacklist].map(plainSet)] })
  })
}

/** A reply of the NFT group: a page, or a 400. The last page has an empty cursor. */
function answer(page: () => Page<unknown>): Reply {
  try {
    const { items, cursor } = page()
    return json(200, { cursor: cursor ?? '', hasNextPage: cursor !== undefined, result: items })
  } catch (error) {
    if (error instanceof BadQuery) return json(400, { statusCode: 400, message: error.problems, error: 'Bad Request' })
    throw error
  }
}

const DIGITS = 20
const LARGEST = 10n ** BigInt(DIGITS) - 1n

/**
 * Newer versions sort first. Within a transaction, an event is identified by its account and its
 * two numbers.
 */
function newestFirst(transfer: NftTransfer): string {
  const version = String(LARGEST - BigInt(transfer.transaction_version)).padStart(DIGITS, '0')
  const { event_account_address, event_creation_number, event_sequence_number } = transfer
  return [version, event_account_address, event_creation_number.padStart(DIGITS, '0'), event_sequence_number.padStart(DIGITS, '0')].join(' ')
}

/** Addresses are the same with and without leading zeros, and hashes with and without 0x. */
function plain(text: string): string {
  return text.toLowerCase().replace(/^(?:0x)?0*/, '')
}

/** Equal for the same addresses in any order and spelling. */
function plainSet(texts: readonly string[] | undefined): readonly string[] | undefined {
  return texts && [...new Set(texts.map(plain))].sort()
}

function isSame(a: string, b: string): boolean {
  return plain(a) === plain(b)
}

function setOf(texts: readonly string[]): { has(text: string): boolean; touches(transfer: NftTransfer): boolean } {
  const set = new Set(texts.map(plain))
  const has = (text: string) => set.has(plain(text))
  return { has, touches: ({ from_address, to_address }) => has(from_address) || has(to_address) }
}
