import { boolean, decimal, integer, json, list, listOf, oneOrList, small, text, texts, time } from './fields.ts'
import { type RecordOf, record } from './record.ts'

/*
 * The records of the service: service specification, "Resources and their fields". Each field is
 * stated once, here; its type is derived from its decoder. Only the fields that identify a record
 * are required.
 */

const maybe = {
  text: text.optional(),
  integer: integer.optional(),
  small: small.optional(),
  decimal: decimal.optional(),
  boolean: boolean.optional(),
  time: time.optional(),
  json: json.optional(),
  list: list.optional(),
  texts: texts.optional(),
}

const tokenBalanceFields = {
  /** Contract address of the token. The native asset is listed as well, unless it is excluded. */
  token_address: text,
  /** Token symbol. */
  symbol: maybe.text,
  /** Token name. */
  name: maybe.text,
  /** URL of a logo. */
  logo: maybe.text,
  /** URL of a small image. */
  thumbnail: maybe.text,
  /** Number of decimals. */
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
}
const tokenBalance = record(tokenBalanceFields)

const logEntryFields = {
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
}
const logEntry = record(logEntryFields, ['block_timestamp'])

const internalTransactionFields = {
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
}
const internalTransaction = record(internalTransactionFields)

const transactionFields = {
  hash: text,
  nonce: maybe.integer,
  transaction_index: maybe.integer,
  /** Name of the sender, if known. */
  from_address_entity: maybe.text,
  /** URL of an image. */
  from_address_entity_logo: maybe.text,
  from_address: maybe.text,
  from_address_label: maybe.text,
  /** Name of the receiver, if known. */
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
  logs: listOf(logEntry.strict).optional(),
  /** Present if requested with `include`. */
  internal_transactions: listOf(internalTransaction.strict).optional(),
}
const transaction = {
  strict: record(transactionFields, ['block_timestamp']).strict,
  lenient: record({ ...transactionFields, logs: listOf(logEntry.lenient).optional(), internal_transactions: listOf(internalTransaction.lenient).optional() }, [
    'block_timestamp',
  ]).lenient,
}

const nftTransferFields = {
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
}
const nftTransfer = record(nftTransferFields, ['transaction_timestamp'])

const nftFields = {
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
}
const nft = record(nftFields, ['last_transaction_timestamp'])

const nftCollectionFields = {
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
}
const nftCollection = record(nftCollectionFields, ['last_transaction_timestamp'])

const abiFields = {
  anonymous: maybe.boolean,
  constant: maybe.boolean,
  /** Of each: `name`, `type`, `indexed`, `components`, `internalType`. */
  inputs: oneOrList({ name: maybe.text, type: maybe.text, indexed: maybe.boolean, components: maybe.list, internalType: maybe.text }).optional(),
  name: maybe.text,
  /** Of each: `name`, `type`, `components`, `internalType`. */
  outputs: oneOrList({ name: maybe.text, type: maybe.text, components: maybe.list, internalType: maybe.text }).optional(),
  payable: maybe.boolean,
  stateMutability: maybe.text,
  /** Such as event or function. */
  type: maybe.text,
  gas: maybe.small,
}

const streamFields = {
  id: text,
  webhookUrl: maybe.text,
  description: maybe.text,
  tag: maybe.text,
  /** Signatures of the events. */
  topic0: maybe.texts,
  allAddresses: maybe.boolean,
  includeNativeTxs: maybe.boolean,
  includeContractLogs: maybe.boolean,
  includeInternalTxs: maybe.boolean,
  includeAllTxLogs: maybe.boolean,
  /** Native balances to include, one or several: `selectors`, `type`. */
  getNativeBalances: oneOrList({ selectors: maybe.texts, type: maybe.text }).optional(),
  /** ABI of the events, one entry or several. */
  abi: oneOrList(abiFields).optional(),
  /** One or several: `topic0`, `includeNativeTxs`. */
  advancedOptions: oneOrList({ topic0: maybe.text, includeNativeTxs: maybe.boolean }).optional(),
  /** Hex ids. */
  chainIds: maybe.texts,
  demo: maybe.boolean,
  /** Calls made for each event, one or several. */
  triggers: oneOrList({
    type: maybe.text,
    contractAddress: maybe.text,
    inputs: maybe.list,
    functionAbi: oneOrList(abiFields).optional(),
    topic0: maybe.text,
    callFrom: maybe.text,
  }).optional(),
  /** Known values: active, paused, error, terminated. */
  status: maybe.text,
  statusMessage: maybe.text,
}
const stream = record(streamFields)

/** A token that a wallet holds. */
export type TokenBalance = RecordOf<typeof tokenBalanceFields, never>
/** An event of a transaction. */
export type LogEntry = RecordOf<typeof logEntryFields, 'block_timestamp'>
/** A call that a transaction made. */
export type InternalTransaction = RecordOf<typeof internalTransactionFields, never>
/** A transaction, with its receipt's fields and its logs. */
export type Transaction = RecordOf<typeof transactionFields, 'block_timestamp'>
/** A transfer of an NFT. */
export type NftTransfer = RecordOf<typeof nftTransferFields, 'transaction_timestamp'>
/** An NFT. */
export type Nft = RecordOf<typeof nftFields, 'last_transaction_timestamp'>
/** A collection of NFTs. */
export type NftCollection = RecordOf<typeof nftCollectionFields, 'last_transaction_timestamp'>
/** A stream of events to a webhook. */
export type Stream = RecordOf<typeof streamFields, never>

export const records = { tokenBalance, transaction, nftTransfer, nft, nftCollection, stream }
