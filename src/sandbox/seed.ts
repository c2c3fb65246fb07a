import { createHash } from 'node:crypto'
import type { Nft, NftCollection, NftTransfer, Seed, Stream } from './records.ts'

const NAMES = ['Harbour Lights', 'Paper Boats', 'Night Trains'] as const
const NFTS_PER_COLLECTION = 40
const TRANSFERS = 240
const WALLETS = 8
/** 2024-01-01, in seconds. */
const START = 1_704_067_200

/**
 * The default data, always the same: three collections of two creators, 120 NFTs, 240 transfers
 * among eight wallets, and four streams. All values have the documented types or, with
 * `likeProduction`, some have the types that real services send.
 */
export function defaultSeed(likeProduction: boolean): Seed {
  const collections = NAMES.map((name, i) => collectionOf(name, i, likeProduction && i === 1))
  const nfts = collections.flatMap((collection) =>
    // Every third is as real services send it.
    Array.from({ length: NFTS_PER_COLLECTION }, (_, i) => nftOf(collection, i, likeProduction && i % 3 === 2)),
  )
  const transfers = Array.from({ length: TRANSFERS }, (_, i) => transferOf(nfts, i, likeProduction && i % 4 === 1))
  return { collections, nfts, transfers, streams: streams(likeProduction) }
}

/** 32 bytes derived from the name, in hex without 0x. */
const digest = (name: string) => createHash('sha256').update(`hexline ${name}`).digest('hex')
const wallet = (i: number) => `0x${digest(`wallet ${i % WALLETS}`)}`
const creator = (i: number) => `0x${digest(`creator ${i % 2}`)}`
const pick = (name: string, count: number) => Number.parseInt(digest(name).slice(0, 8), 16) % count

/** One event every ten minutes. Date has no microseconds: they are appended to its milliseconds. */
function timestamp(version: number): string {
  const micros = String(pick(`micros ${version}`, 1000)).padStart(3, '0')
  return new Date((START + version * 600) * 1000 + pick(`millis ${version}`, 1000)).toISOString().replace('Z', `${micros}Z`)
}

/** The words of the specification for a boolean, or what real services send. */
const bool = (value: boolean, isReal: boolean) => (isReal ? value : String(value))

function collectionOf(name: string, i: number, isReal: boolean): NftCollection {
  return {
    collection_data_id_hash: digest(`collection ${i}`),
    collection_name: name,
    creator_address: creator(i),
    description: i === 2 ? '' : `${name}, a collection of the sandbox`,
    description_mutable: 'false',
    last_transaction_timestamp: timestamp(i),
    last_transaction_version: String(1000 + i),
    maximum: i === 1 ? '0' : '10000',
    maximum_mutable: bool(false, isReal),
    metadata_uri: `https://nft.example.com/collections/${i}.json`,
    supply: String(NFTS_PER_COLLECTION),
    table_handle: `0x${digest(`table ${i}`)}`,
    uri_mutable: bool(true, isReal),
  }
}

function nftOf(collection: NftCollection, i: number, isReal: boolean): Nft {
  const { collection_data_id_hash, collection_name, creator_address } = collection
  const name = `${collection_name} #${i + 1}`
  const properties = { rarity: ['common', 'rare', 'unique'][i % 3], number: i + 1 }
  return {
    collection_data_id_hash,
    collection_name,
    creator_address,
    default_properties: isReal ? properties : i % 3 === 1 ? '{}' : JSON.stringify(properties),
    description: `Number ${i + 1} of ${collection_name}`,
    description_mutable: bool(false, isReal),
    largest_property_version: String(i % 2),
    last_transaction_timestamp: timestamp(100 + i),
    last_transaction_version: String(2000 + i),
    maximum: '1',
    maximum_mutable: bool(false, isReal),
    metadata_uri: `https://nft.example.com/${encodeURIComponent(collection_name)}/${i + 1}.json`,
    name,
    payee_address: creator_address,
    properties_mutable: bool(i % 2 === 0, isReal),
    royalty_mutable: bool(true, isReal),
    royalty_points_denominator: '100',
    royalty_points_numerator: '5',
    supply: '1',
    token_data_id_hash: digest(`nft ${name}`),
    uri_mutable: bool(true, isReal),
  }
}

function transferOf(nfts: readonly Nft[], i: number, isReal: boolean): NftTransfer {
  const nft = nfts[pick(`nft of ${i}`, nfts.length)] as Nft
  const from = pick(`from ${i}`, WALLETS)
  const isSale = i % 4 === 0
  return {
    coin_amount: isSale ? String(100_000_000 * (1 + pick(`price ${i}`, 50))) : '0',
    coin_type: isSale ? '0x1::aptos_coin::AptosCoin' : isReal ? null : '',
    collection_data_id_hash: nft.collection_data_id_hash,
    collection_name: nft.collection_name,
    creator_address: nft.creator_address,
    event_account_address: wallet(from),
    event_creation_number: '4',
    event_sequence_number: String(i),
    from_address: wallet(from),
    name: nft.name,
    property_version: '0',
    to_address: wallet(from + 1 + pick(`to ${i}`, WALLETS - 1)),
    token_amount: '1',
    token_data_id_hash: nft.token_data_id_hash,
    transaction_timestamp: timestamp(200 + i),
    // Two events of one transaction share its version.
    transaction_version: String(900_000_000 + Math.floor(i / 2)),
    transfer_type: isSale ? '0x3::token_transfers::TokenClaimEvent' : '0x3::token::DepositEvent',
  }
}

const TRANSFER_TOPIC = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

const transferAbi = {
  anonymous: false,
  constant: false,
  inputs: [
    { name: 'from', type: 'address', indexed: true, components: [], internalType: 'address' },
    { name: 'to', type: 'address', indexed: true, components: [], internalType: 'address' },
    { name: 'value', type: 'uint256', indexed: false, components: [], internalType: 'uint256' },
  ],
  name: 'Transfer',
  outputs: [],
  payable: false,
  stateMutability: 'nonpayable',
  type: 'event',
  gas: 0,
}

const balanceOfAbi = {
  anonymous: false,
  constant: true,
  inputs: [{ name: 'owner', type: 'address', components: [], internalType: 'address' }],
  name: 'balanceOf',
  outputs: [{ name: '', type: 'uint256', components: [], internalType: 'uint256' }],
  payable: false,
  stateMutability: 'view',
  type: 'function',
  gas: 0,
}

function streams(likeProduction: boolean): Stream[] {
  const trigger = {
    type: 'erc20balance',
    contractAddress: '$contract',
    inputs: ['$from'],
    functionAbi: balanceOfAbi,
    topic0: TRANSFER_TOPIC,
    callFrom: '$from',
  }
  const advanced = { topic0: TRANSFER_TOPIC, includeNativeTxs: false }
  const objects = { abi: transferAbi, triggers: trigger, advancedOptions: advanced, getNativeBalances: { selectors: ['$from'], type: 'tx' } }
  const lists = { abi: [transferAbi], triggers: [trigger], advancedOptions: [advanced], getNativeBalances: [{ selectors: ['$to'], type: 'tx' }] }
  const nulls = { abi: null, triggers: null, advancedOptions: null, getNativeBalances: null }
  const [some, none] = likeProduction ? [lists, nulls] : [objects, objects]
  return [
    streamOf(1, some),
    streamOf(2, objects),
    streamOf(3, { ...some, status: 'paused', topic0: [], includeContractLogs: false, includeNativeTxs: true }),
    streamOf(4, { ...none, status: 'error', statusMessage: 'the webhook answered 500 too often', demo: true, allAddresses: true }),
  ]
}

type Parts = Pick<Stream, 'getNativeBalances' | 'abi' | 'advancedOptions' | 'triggers'>

function streamOf(i: number, other: Parts & Partial<Stream>): Stream {
  const hex = digest(`stream ${i}`)
  return {
    id: `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`,
    webhookUrl: `https://hooks.example.com/${i}`,
    description: `stream ${i} of the sandbox`,
    tag: `sandbox-${i}`,
    topic0: ['Transfer(address,address,uint256)'],
    allAddresses: false,
    includeNativeTxs: false,
    includeContractLogs: true,
    includeInternalTxs: false,
    includeAllTxLogs: false,
    chainIds: ['0x1', '0x2105'],
    demo: false,
    status: 'active',
    statusMessage: 'Stream is active',
    ...other,
  }
}
