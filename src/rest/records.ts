import type { z } from 'zod'
import { boolean, decimal, integer, json, list, listOf, objectOrList, small, text, time } from './fields.ts'
import { type Decoder, record } from './record.ts'

/*
 * The records of the service: service specification, "Resources and their fields". A field is stated once, here, and its type is
 * derived from how it is read. Only what identifies a record has to be there.
 */

const maybe = {
  text: text.optional(),
  integer: integer.optional(),
  small: small.optional(),
  decimal: decimal.optional(),
  boolean: boolean.optional(),
  time: time.optional(),
  json: json.optional(),
  objectOrList: objectOrList.optional(),
  list: list.optional(),
}

const tokenBalance = record({
  /** Contract address of the token; the native asset is reported too unless excluded. */
  token_address: text,
  /** Token symbol. */
  symbol: maybe.text,
  /** Token name. */
  name: maybe.text,
  /** URL of a logo. */
  logo: maybe.text,
  /** URL of a small image. */
  thumbnail: maybe.text,
  /** Digits after the point. */
  decimals: maybe.small,
  /** In the smallest unit. */
  balance: integer,
  /** Whether the token is likely spam. */
  possible_spam: maybe.boolean,
  /** Whether the contract is verified. */
  verified_contract: maybe.boolean,
  /** The balance with its decimals applied, as sent. */
  balance_formatted: maybe.text,
  /** In USD. */
  usd_price: maybe.decimal,
  /** In percent, over 24 hours. */
  usd_price_24hr_percent_change: maybe.decimal,
  /** In USD, over 24 hours. */
  usd_price_24hr_usd_change: maybe.decimal,
  /** Of the holding, in USD. */
  usd_value: maybe.decimal,
  /** Of the holding, in USD, over 24 hours. */
  usd_value_24hr_usd_change: maybe.decimal,
  /** True for the chain's native asset. */
  native_token: maybe.boolean,
  /** Share of the wallet's total value, in percent. */
  portfolio_percentage: maybe.decimal,
})

const logEntry = record(
  {
    log_index: maybe.integer,
    transaction_hash: maybe.text,
    transaction_index: maybe.integer,
    /** Of the contract. */
    address: text,
    /** Bytes in hex. */
    data: maybe.text,
    topic0: maybe.text,
    topic1: maybe.text,
    topic2: maybe.text,
    /** May be empty, as the other topics may. */
    topic3: maybe.text,
    block_timestamp: maybe.time,
    block_number: maybe.integer,
    block_hash: maybe.text,
  },
  ['block_timestamp'],
)

const internalTransaction = record({
  transaction_hash: maybe.text,
  block_number: maybe.integer,
  block_hash: maybe.text,
  /** Kind of the call, such as CALL or CREATE. */
  type: maybe.text,
  from: maybe.text,
  to: maybe.text,
  /** In wei. */
  value: maybe.integer,
  gas: maybe.integer,
  gas_used: maybe.integer,
  /** Bytes in hex. */
  input: maybe.text,
  /** Bytes in hex. */
  output: maybe.text,
})

const transactionFields = (log: z.ZodType<LogEntry>, internal: z.ZodType<InternalTransaction>) => ({
  hash: text,
  nonce: maybe.integer,
  transaction_index: maybe.integer,
  /** Who the sender is, where that is known. */
  from_address_entity: maybe.text,
  /** URL of an image. */
  from_address_entity_logo: maybe.text,
  from_address: maybe.text,
  from_address_label: maybe.text,
  /** Who the receiver is, where that is known. */
  to_address_entity: maybe.text,
  /** URL of an image. */
  to_address_entity_logo: maybe.text,
  /** Null when the transaction makes a contract. */
  to_address: maybe.text,
  to_address_label: maybe.text,
  /** In wei. */
  value: maybe.integer,
  gas: maybe.integer,
  /** In wei. */
  gas_price: maybe.integer,
  /** Bytes in hex. */
  input: maybe.text,
  receipt_cumulative_gas_used: maybe.integer,
  receipt_gas_used: maybe.integer,
  /** Of the contract that the transaction made. */
  receipt_contract_address: maybe.text,
  /** Before Byzantium. */
  receipt_root: maybe.text,
  /** 1 success, 0 failure. */
  receipt_status: maybe.small,
  block_timestamp: maybe.time,
  block_number: maybe.integer,
  block_hash: maybe.text,
  logs: listOf(log).optional(),
  /** There when asked for with `include`. */
  internal_transactions: listOf(internal).optional(),
})

const nftTransfer = record(
  {
    coin_amount: maybe.integer,
    /** May be empty or null. */
    coin_type: maybe.text,
    collection_data_id_hash: maybe.text,
    collection_name: maybe.text,
    creator_address: maybe.text,
    event_account_address: maybe.text,
    event_creation_number: maybe.integer,
    event_sequence_number: maybe.integer,
    from_address: maybe.text,
    /** Of the token. */
    name: maybe.text,
    property_version: maybe.integer,
    to_address: maybe.text,
    token_amount: maybe.integer,
    token_data_id_hash: text,
    /** With microseconds; `transaction_timestamp_date` has milliseconds. */
    transaction_timestamp: maybe.time,
    transaction_version: maybe.integer,
    /** Kind of the event. */
    transfer_type: maybe.text,
  },
  ['transaction_timestamp'],
)

const nft = record(
  {
    collection_data_id_hash: maybe.text,
    collection_name: maybe.text,
    creator_address: maybe.text,
    /** Parsed. */
    default_properties: maybe.json,
    description: maybe.text,
    description_mutable: maybe.boolean,
    largest_property_version: maybe.integer,
    /** With microseconds; `last_transaction_timestamp_date` has milliseconds. */
    last_transaction_timestamp: maybe.time,
    last_transaction_version: maybe.integer,
    maximum: maybe.integer,
    maximum_mutable: maybe.boolean,
    metadata_uri: maybe.text,
    name: maybe.text,
    payee_address: maybe.text,
    properties_mutable: maybe.boolean,
    royalty_mutable: maybe.boolean,
    royalty_points_denominator: maybe.integer,
    royalty_points_numerator: maybe.integer,
    supply: maybe.integer,
    token_data_id_hash: text,
    uri_mutable: maybe.boolean,
  },
  ['last_transaction_timestamp'],
)

const nftCollection = record(
  {
    collection_data_id_hash: text,
    collection_name: maybe.text,
    creator_address: maybe.text,
    description: maybe.text,
    description_mutable: maybe.boolean,
    /** With microseconds; `last_transaction_timestamp_date` has milliseconds. */
    last_transaction_timestamp: maybe.time,
    last_transaction_version: maybe.integer,
    maximum: maybe.integer,
    maximum_mutable: maybe.boolean,
    metadata_uri: maybe.text,
    supply: maybe.integer,
    table_handle: maybe.text,
    uri_mutable: maybe.boolean,
  },
  ['last_transaction_timestamp'],
)

const stream = record({
  id: text,
  webhookUrl: maybe.text,
  description: maybe.text,
  tag: maybe.text,
  /** Signatures of the events. */
  topic0: maybe.list,
  allAddresses: maybe.boolean,
  includeNativeTxs: maybe.boolean,
  includeContractLogs: maybe.boolean,
  includeInternalTxs: maybe.boolean,
  includeAllTxLogs: maybe.boolean,
  /** `selectors` and `type`; one or several. */
  getNativeBalances: maybe.objectOrList,
  /** Of events: `name`, `inputs`, `type` and so on; one or several. */
  abi: maybe.objectOrList,
  /** `topic0`, `includeNativeTxs`; one or several. */
  advancedOptions: maybe.objectOrList,
  /** Hex ids. */
  chainIds: maybe.list,
  demo: maybe.boolean,
  /** `type`, `contractAddress`, `inputs`, `functionAbi`, `topic0`, `callFrom`; one or several. */
  triggers: maybe.objectOrList,
  /** Seen: active, paused, error, terminated. */
  status: maybe.text,
  statusMessage: maybe.text,
})

type Of<D> = D extends Decoder<infer T> ? T : never

/** A token that a wallet holds. */
export type TokenBalance = Of<typeof tokenBalance>
/** An event of a transaction. */
export type LogEntry = Of<typeof logEntry>
/** A call that a transaction made. */
export type InternalTransaction = Of<typeof internalTransaction>
/** A transaction, with its receipt's fields and its logs. */
export type Transaction = Of<typeof transaction>
/** An NFT that went from one owner to another. */
export type NftTransfer = Of<typeof nftTransfer>
/** An NFT. */
export type Nft = Of<typeof nft>
/** A collection of NFTs. */
export type NftCollection = Of<typeof nftCollection>
/** A stream of events to a webhook. */
export type Stream = Of<typeof stream>

const strictTransaction = record(transactionFields(logEntry.strict, internalTransaction.strict), ['block_timestamp'])
const lenientTransaction = record(transactionFields(logEntry.lenient, internalTransaction.lenient), ['block_timestamp'])
const transaction: typeof strictTransaction = { strict: strictTransaction.strict, lenient: lenientTransaction.lenient }

export const records = { tokenBalance, transaction, nftTransfer, nft, nftCollection, stream }
