/*
 * The tables of a dataset and their columns, stated once: options, Parquet files, checks and
 * docs/datasets.md follow from them.
 *
 * A column has the name that the node gives the field. Whatever a column cannot hold, such as a
 * field that it has no column for or a number that is too large, goes to `extra`, as sent: a row
 * loses nothing.
 */

export const tableNames = ['blocks', 'transactions', 'receipts', 'logs', 'withdrawals'] as const

/** A table of a dataset. */
export type DatasetTable = (typeof tableNames)[number]

/**
 * How a column is stored in Parquet:
 *
 * - `bytes32`, `bytes20`, `bytes256`, `bytes8`: exactly this many bytes.
 * - `bytes`: any number of bytes.
 * - `uint256`: 32 bytes, big-endian.
 * - `decimal`: DECIMAL(38,0).
 * - `int32`, `int64`: signed integers.
 * - `boolean`.
 * - `timestamp`: microseconds since 1970, UTC.
 * - `json`: text, the node's own JSON of the value.
 */
export type ColumnType = 'bytes32' | 'bytes20' | 'bytes256' | 'bytes8' | 'bytes' | 'uint256' | 'decimal' | 'int32' | 'int64' | 'boolean' | 'timestamp' | 'json'

export interface Column {
  readonly name: string
  readonly type: ColumnType
  /**
   * Where its values come from: a field of the row, an item of the array in that field, a field of
   * the row's block, the number of the block's transactions, or what no other column holds.
   */
  readonly source:
    | { readonly from: 'field'; readonly field: string; readonly item?: number }
    | { readonly from: 'block'; readonly field: 'number' | 'hash' | 'timestamp' }
    | { readonly from: 'transactionCount' }
    | { readonly from: 'extra' }
  /**
   * Another column holds the same field exactly: what does not fit here is null, and counted in the
   * manifest.
   */
  readonly isCopy?: boolean
}

const field = (type: ColumnType, ...names: readonly string[]): Column[] => names.map((name) => ({ name, type, source: { from: 'field', field: name } }))

const ofBlock = {
  number: { name: 'blockNumber', type: 'int64', source: { from: 'block', field: 'number' } },
  hash: { name: 'blockHash', type: 'bytes32', source: { from: 'block', field: 'hash' } },
  timestamp: { name: 'blockTimestamp', type: 'timestamp', source: { from: 'block', field: 'timestamp' } },
} as const satisfies Record<string, Column>

const extra: Column = { name: 'extra', type: 'json', source: { from: 'extra' } }

const topic = (item: number): Column => ({ name: `topic${item}`, type: 'bytes32', source: { from: 'field', field: 'topics', item } })

/** All columns of all tables, in the order of the files. */
export const tables: Readonly<Record<DatasetTable, readonly Column[]>> = {
  blocks: [
    ...field('int64', 'number'),
    ...field('bytes32', 'hash', 'parentHash'),
    ...field('timestamp', 'timestamp'),
    ...field('bytes20', 'miner'),
    { name: 'transactionCount', type: 'int32', source: { from: 'transactionCount' } },
    ...field('int64', 'gasLimit', 'gasUsed'),
    ...field('decimal', 'baseFeePerGas'),
    ...field('int64', 'blobGasUsed', 'excessBlobGas', 'size', 'slotNumber'),
    ...field('decimal', 'difficulty', 'totalDifficulty'),
    ...field('bytes', 'extraData'),
    ...field('bytes8', 'nonce'),
    ...field(
      'bytes32',
      'mixHash',
      'stateRoot',
      'transactionsRoot',
      'receiptsRoot',
      'withdrawalsRoot',
      'parentBeaconBlockRoot',
      'requestsHash',
      'blockAccessListHash',
      'sha3Uncles',
    ),
    ...field('json', 'uncles'),
    ...field('bytes256', 'logsBloom'),
    extra,
  ],
  transactions: [
    ofBlock.number,
    ofBlock.hash,
    ofBlock.timestamp,
    ...field('int32', 'transactionIndex'),
    ...field('bytes32', 'hash'),
    ...field('int32', 'type'),
    ...field('bytes20', 'from', 'to'),
    ...field('int64', 'nonce', 'gas'),
    ...field('uint256', 'value'),
    { name: 'valueDecimal', type: 'decimal', source: { from: 'field', field: 'value' }, isCopy: true },
    ...field('decimal', 'gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas', 'maxFeePerBlobGas'),
    ...field('bytes', 'input'),
    ...field('int64', 'chainId'),
    ...field('json', 'accessList', 'blobVersionedHashes', 'authorizationList'),
    ...field('int64', 'v'),
    ...field('int32', 'yParity'),
    ...field('uint256', 'r', 's'),
    extra,
  ],
  receipts: [
    ofBlock.number,
    ofBlock.hash,
    ofBlock.timestamp,
    ...field('int32', 'transactionIndex'),
    ...field('bytes32', 'transactionHash'),
    ...field('int32', 'type', 'status'),
    ...field('bytes32', 'root'),
    ...field('bytes20', 'from', 'to', 'contractAddress'),
    ...field('int64', 'cumulativeGasUsed', 'gasUsed'),
    ...field('decimal', 'effectiveGasPrice'),
    ...field('int64', 'blobGasUsed'),
    ...field('decimal', 'blobGasPrice', 'l1Fee', 'l1GasPrice'),
    ...field('int64', 'l1GasUsed', 'l1BlockNumber', 'gasUsedForL1', 'depositNonce', 'depositReceiptVersion'),
    ...field('bytes256', 'logsBloom'),
    extra,
  ],
  logs: [
    ofBlock.number,
    ofBlock.hash,
    ofBlock.timestamp,
    ...field('int32', 'transactionIndex'),
    ...field('bytes32', 'transactionHash'),
    ...field('int32', 'logIndex'),
    ...field('bytes20', 'address'),
    topic(0),
    topic(1),
    topic(2),
    topic(3),
    ...field('bytes', 'data'),
    ...field('boolean', 'removed'),
    extra,
  ],
  withdrawals: [
    ofBlock.number,
    ofBlock.hash,
    ofBlock.timestamp,
    ...field('int64', 'index', 'validatorIndex'),
    ...field('bytes20', 'address'),
    ...field('int64', 'amount'),
    extra,
  ],
}

/**
 * Fields that never go to `extra`: they repeat the block of the row, or are rows of another table.
 */
export const fieldsElsewhere: Readonly<Record<DatasetTable, readonly string[]>> = {
  blocks: ['transactions', 'withdrawals'],
  transactions: ['blockNumber', 'blockHash', 'blockTimestamp'],
  receipts: ['blockNumber', 'blockHash', 'blockTimestamp', 'logs'],
  logs: ['blockNumber', 'blockHash', 'blockTimestamp'],
  withdrawals: [],
}

/**
 * Fields that say where a row belongs. A stored row without one of them has null there, so that
 * the field is not taken for a column that is not stored.
 */
export const placeFields: Readonly<Record<DatasetTable, readonly string[]>> = {
  blocks: ['number', 'hash', 'parentHash'],
  transactions: ['blockHash', 'transactionIndex', 'hash'],
  receipts: ['blockHash', 'transactionIndex', 'transactionHash'],
  logs: ['blockHash', 'transactionIndex', 'transactionHash', 'logIndex'],
  withdrawals: ['index'],
}

/** The lists of a row of this table that are rows of other tables, of those that are stored. */
export function listsApart(table: DatasetTable, stored: readonly DatasetTable[]): readonly string[] {
  return fieldsElsewhere[table].filter((field) => stored.includes(field as DatasetTable))
}

/** The column that says which block a row is of. */
export function numberColumn(table: DatasetTable): 'number' | 'blockNumber' {
  return table === 'blocks' ? 'number' : 'blockNumber'
}
