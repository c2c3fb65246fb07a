import type { Client } from '../../client/client.ts'
import { IntegrityError, RpcError } from '../../errors.ts'
import type { Hash } from '../../eth/codec/hex.ts'
import type { Block, Receipt, Transaction } from '../../eth/objects.ts'
import { hashOfTransaction } from '../../eth/transaction-hash.ts'
import { isSame } from '../../verify/mismatch.ts'
import { falsehood } from '../falsehood.ts'
import { type DatasetHeader, MANIFEST, type RangeEntry } from '../folder/manifest.ts'
import type { Fields } from '../parquet/column-rows.ts'
import { LARGEST_DECIMAL } from '../parquet/parquet-types.ts'
import { type DatasetTable, listsApart, tables } from '../tables.ts'
import { fileNamesOf } from './join-blocks.ts'
import { isPlaced } from './table-rows.ts'
import type { ChosenBlock } from './verify-range.ts'

/** Ends the message of what the comparison finds. */
const NOTE = '; expected is what the node says'

/**
 * Fields that some nodes give and others leave out, or that were added later, as `table.field`.
 * They are compared where both have them.
 */
const MAY_BE_ABSENT: ReadonlySet<string> = new Set([
  ...['difficulty', 'totalDifficulty', 'size', 'uncles'].map((name) => `blocks.${name}`),
  ...['gasPrice', 'chainId', 'accessList', 'v', 'yParity', 'blockTimestamp'].map((name) => `transactions.${name}`),
  ...['type', 'status', 'root', 'to', 'contractAddress', 'effectiveGasPrice', 'blobGasUsed', 'blobGasPrice', 'blockTimestamp'].map(
    (name) => `receipts.${name}`,
  ),
  ...['removed', 'blockTimestamp'].map((name) => `logs.${name}`),
])

/**
 * Compares the rows of a block with what a node says of it: its hash, the number of rows in each
 * table, and each field. Resolves to why there is nothing to compare, and to undefined if all is
 * the same. Rejects with `IntegrityError` that names file, block and field.
 */
export async function compareRows(client: Client, header: DatasetHeader, range: RangeEntry, { hash: known, rows }: ChosenBlock): Promise<string | undefined> {
  const { number } = rows
  const files = fileNamesOf(header, range)
  const placed = header.tables.filter((table) => isPlaced(header, table))
  const hash = known ?? hashInManifest(range, number)
  if (hash === undefined && placed.length === 0) return 'no column has the hash or number of the block'
  const isFull = placed.includes('transactions') || (known !== undefined && header.tables.includes('transactions'))
  const block = await client.call('eth_getBlockByNumber', number, isFull)
  if (block === null) throw new IntegrityError(`the node has no block ${number}`, { kind: 'lagging' })
  if (hash !== undefined && !isSame(block.hash, hash)) {
    const file = files.blocks ?? (known === undefined ? MANIFEST : (Object.values(files)[0] as string))
    throw falsehood({ file, block: number }, 'hash', block.hash, hash, NOTE)
  }
  const receipts = placed.includes('receipts') || placed.includes('logs') ? await receiptsOf(client, block) : []
  for (const table of placed) {
    const said = saidOf(table, block, receipts)
    const stored = rows[table] ?? []
    const place = { file: files[table] as string, block: number }
    if (stored.length !== said.length) throw falsehood(place, `${table} (rows)`, said.length, stored.length, NOTE)
    const compared = fieldsOf(header, table)
    for (const [i, row] of stored.entries()) {
      const theirs = said[i] as Fields
      for (const name of compared ?? fieldsOfLine(header, table, row, theirs)) {
        const [mine, expected] = [row[name] ?? null, theirs[name] ?? null]
        const isKnown = tables[table].some((column) => column.name === name || (column.source.from === 'field' && column.source.field === name))
        if ((mine === null || expected === null) && (!isKnown || MAY_BE_ABSENT.has(`${table}.${name}`))) continue
        if (!isEqual(name, mine, expected)) throw falsehood(place, table === 'blocks' ? name : `${table}[${i}].${name}`, expected, mine, NOTE)
      }
    }
  }
  return undefined
}

/** The receipts of a block, one by one where the node has no `eth_getBlockReceipts`. */
async function receiptsOf(client: Client, { number, transactions }: Block): Promise<readonly Receipt[]> {
  const missing = () => new IntegrityError(`the node has no receipts of block ${number}`, { kind: 'lagging' })
  try {
    const receipts = await client.call('eth_getBlockReceipts', number)
    if (receipts === null) throw missing()
    return receipts
  } catch (error) {
    if (!(error instanceof RpcError) || error.kind !== 'unsupported') throw error
  }
  const hashes = transactions.map(hashOfTransaction<Hash>)
  const receipts = await Promise.all(hashes.map((hash) => client.call('eth_getTransactionReceipt', hash)))
  if (receipts.includes(null)) throw missing()
  return receipts as Receipt[]
}

/** The rows of a table as the node's reply has them, with what they repeat of their block. */
function saidOf(table: DatasetTable, block: Block, receipts: readonly Receipt[]): Fields[] {
  const ofBlock = { blockNumber: block.number, blockHash: block.hash, blockTimestamp: block.timestamp }
  const withBlock = (items: readonly object[]) => items.map((item): Fields => ({ ...ofBlock, ...item }))
  switch (table) {
    case 'blocks':
      return [{ ...block, transactionCount: block.transactions.length }]
    case 'transactions':
      return withBlock(block.transactions as Transaction[]).map((each): Fields => ({ ...each, valueDecimal: decimalOf(each.value) }))
    case 'receipts':
      return withBlock(receipts)
    case 'logs':
      return withBlock(receipts.flatMap(({ logs }) => logs))
    case 'withdrawals':
      return withBlock(block.withdrawals ?? [])
  }
}

function decimalOf(value: unknown): unknown {
  return typeof value === 'bigint' && value > LARGEST_DECIMAL ? null : value
}

/** The fields that the stored columns have; undefined for lines, which have those of their node. */
function fieldsOf({ columns }: DatasetHeader, table: DatasetTable): readonly string[] | undefined {
  if (columns === null) return undefined
  const stored = columns[table] ?? []
  const all = tables[table].filter(({ source }) => source.from !== 'extra')
  const names = all.filter(({ name }) => stored.includes(name)).map(({ name, source, isCopy }) => (source.from === 'field' && !isCopy ? source.field : name))
  // Some topics alone do not determine the others.
  const isPart = (field: string) =>
    all.some(({ name, source }) => source.from === 'field' && source.field === field && source.item !== undefined && !stored.includes(name))
  return [...new Set(names)].filter((name) => !isPart(name) && !(name === 'valueDecimal' && stored.includes('value')))
}

/** What `saidOf` adds to the node's fields. */
const ADDED: ReadonlySet<string> = new Set(['blockHash', 'blockTimestamp', 'transactionCount', 'valueDecimal'])

/** The hash of the first or last block of a range; undefined for those between them. */
function hashInManifest({ from, to, firstHash, lastHash }: RangeEntry, number: bigint): string | undefined {
  if (number === BigInt(from)) return firstHash
  return number === BigInt(to) ? lastHash : undefined
}

/** The fields of a line, and of the node's reply, that are not rows of another table. */
function fieldsOfLine({ tables: stored }: DatasetHeader, table: DatasetTable, row: Fields, theirs: Fields): string[] {
  const apart = listsApart(table, stored)
  const names = new Set([...Object.keys(row), ...Object.keys(theirs).filter((name) => !ADDED.has(name))])
  return [...names].filter((name) => !apart.includes(name))
}

/** Numbers that some nodes give as hex with leading zeros. */
const PADDED: ReadonlySet<string> = new Set(['r', 's'])

/** Whether two values of a field say the same; one of them may not be decoded. */
function isEqual(name: string, mine: unknown, theirs: unknown): boolean {
  if (isSame(mine, theirs)) return true
  if (Array.isArray(mine) && Array.isArray(theirs)) return mine.length === theirs.length && mine.every((item, i) => isEqual(name, item, theirs[i]))
  if (typeof mine === 'object' && typeof theirs === 'object' && mine !== null && theirs !== null) {
    const names = new Set([...Object.keys(mine), ...Object.keys(theirs)])
    return [...names].every((each) => isEqual(each, (mine as Fields)[each] ?? null, (theirs as Fields)[each] ?? null))
  }
  if (typeof mine === typeof theirs && !PADDED.has(name)) return false
  const [a, b] = [numberOf(mine), numberOf(theirs)]
  return a !== undefined && a === b
}

/** The number that a value stands for, if it is one of at most 32 bytes. */
function numberOf(value: unknown): bigint | undefined {
  if (typeof value === 'bigint' || (typeof value === 'number' && Number.isSafeInteger(value))) return BigInt(value)
  return typeof value === 'string' && /^0x[0-9a-fA-F]{1,64}$/.test(value) ? BigInt(value) : undefined
}
