/*
 * The records of the NFT and streams groups, as they go over the wire. The specification documents
 * every NFT value as a string; real services also send booleans, objects and nulls, and so the
 * types take both.
 */

/** One transfer of an NFT. Service specification, NFT transfer record. */
export interface NftTransfer {
  /** Decimal digits. */
  coin_amount: string
  /** May be empty; null on real services. */
  coin_type: string | null
  collection_data_id_hash: string
  collection_name: string
  creator_address: string
  event_account_address: string
  /** Decimal digits. */
  event_creation_number: string
  /** Decimal digits. */
  event_sequence_number: string
  from_address: string
  name: string
  /** Decimal digits. */
  property_version: string
  to_address: string
  /** Decimal digits. */
  token_amount: string
  token_data_id_hash: string
  /** ISO 8601 in UTC, with microseconds and a trailing Z. */
  transaction_timestamp: string
  /** Decimal digits. */
  transaction_version: string
  /** The kind of event. */
  transfer_type: string
}

/** `true` and `false`, as words or as booleans. */
export type BooleanLike = string | boolean

/** One NFT. Service specification, NFT (token) record. */
export interface Nft {
  collection_data_id_hash: string
  collection_name: string
  creator_address: string
  /** An object, or its JSON. */
  default_properties: string | Record<string, unknown>
  description: string
  description_mutable: BooleanLike
  /** Decimal digits. */
  largest_property_version: string
  /** ISO 8601 in UTC, with microseconds. */
  last_transaction_timestamp: string
  /** Decimal digits. */
  last_transaction_version: string
  /** Decimal digits. */
  maximum: string
  maximum_mutable: BooleanLike
  metadata_uri: string
  name: string
  payee_address: string
  properties_mutable: BooleanLike
  royalty_mutable: BooleanLike
  /** Decimal digits. */
  royalty_points_denominator: string
  /** Decimal digits. */
  royalty_points_numerator: string
  /** Decimal digits. */
  supply: string
  token_data_id_hash: string
  uri_mutable: BooleanLike
}

/** One collection. Service specification, NFT collection record. */
export interface NftCollection {
  collection_data_id_hash: string
  collection_name: string
  creator_address: string
  description: string
  description_mutable: BooleanLike
  /** ISO 8601 in UTC, with microseconds. */
  last_transaction_timestamp: string
  /** Decimal digits. */
  last_transaction_version: string
  /** Decimal digits. */
  maximum: string
  maximum_mutable: BooleanLike
  metadata_uri: string
  /** Decimal digits. */
  supply: string
  table_handle: string
  uri_mutable: BooleanLike
}

/**
 * One stream. The specification names its fields, and leaves their types and the words of `status`
 * open. Service specification, Stream record.
 */
export interface Stream {
  id: string
  webhookUrl: string
  description: string
  tag: string
  topic0: string[]
  allAddresses: boolean
  includeNativeTxs: boolean
  includeContractLogs: boolean
  includeInternalTxs: boolean
  includeAllTxLogs: boolean
  getNativeBalances: object | readonly object[] | null
  abi: object | readonly object[] | null
  advancedOptions: object | readonly object[] | null
  chainIds: string[]
  demo: boolean
  triggers: object | readonly object[] | null
  /** `active`, `paused`, `error` or `terminated`. */
  status: string
  statusMessage: string
}

/**
 * What the NFT and streams groups are served from. The arrays may be changed while the sandbox
 * runs; their order does not matter.
 */
export interface Seed {
  transfers: NftTransfer[]
  nfts: Nft[]
  collections: NftCollection[]
  streams: Stream[]
}
