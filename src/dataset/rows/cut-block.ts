import { isUtf8 } from 'node:buffer'
import type { BlockReader } from '../../bulk/blocks/read-block.ts'
import { type Linked, type LinkedReceipt, linkedFields } from '../../bulk/link.ts'
import { CodecError } from '../../errors.ts'
import { fault, under } from '../../eth/codec/codec-path.ts'
import { UNUSUAL } from '../../eth/codec/read-plan.ts'
import { compact, skipValue, viewOf } from '../../json/scan.ts'
import { readUnread } from '../../rpc/post/unread.ts'
import type { DatasetTable } from '../tables.ts'
import { type CutField, plainText, type Rows, type Text } from './cut-rows.ts'
import { ObjectCutter, repeatedFault } from './object-cutter.ts'
import { hexOfNumber } from './usual-spelling.ts'

/** What to find in the rows of a table. */
export interface Wanted {
  /** The fields whose places are needed. */
  readonly fields: readonly string[]
  /** Whether the places of all other fields are needed, too. */
  readonly others: boolean
  /** The lists that are rows of other tables, whose places are needed with their keys. */
  readonly apart: readonly string[]
}

/** The rows of a table in a block, and the bytes that they are in. */
export interface CutTable {
  readonly bytes: Buffer
  readonly rows: Rows
}

/** A block that was cut into rows; valid until the next one is requested. */
export interface CutBlock {
  readonly number: number
  readonly hash: string
  readonly parentHash: string
  /** In seconds, in hex. */
  readonly timestamp: string | undefined
  /** Number of its transactions. */
  readonly transactionCount: number
  readonly tables: Readonly<Partial<Record<DatasetTable, CutTable>>>
}

/** What was cut. Others may be cut before it is used: its rows are its own. */
interface CutPart<T> {
  readonly linked: T
  readonly bytes: Buffer
  readonly rows: readonly Rows[]
}

const OPEN_BRACKET = 0x5b
const OPEN_BRACE = 0x7b
const QUOTE = 0x22
const SMALL_N = 0x6e

const LINKING = ['number', 'hash', 'parentHash', 'transactions', 'timestamp'] as const
const HASH = /^0x[0-9a-fA-F]{64}$/

/**
 * Reads the blocks of a range, and their receipts, as the rows of these tables. All bytes are
 * checked to be JSON, in which no object has a name twice.
 */
export function blockCutter(
  wanted: Readonly<Partial<Record<DatasetTable, Wanted>>>,
  { full, receipts }: { readonly full: boolean; readonly receipts: boolean },
): BlockReader<CutPart<Linked>, CutPart<LinkedReceipt[]>, CutBlock> {
  const cutterOf = (table: DatasetTable, first: readonly string[], cuts = {}) => {
    const { fields = [], others = false, apart = [] } = wanted[table] ?? {}
    return new ObjectCutter([...new Set([...first, ...fields])], { cuts, apart, keepsOthers: others })
  }
  // Receipts are compared with the hashes of the block's transactions.
  const transactions = cutterOf('transactions', receipts ? ['hash'] : [])
  const withdrawals = cutterOf('withdrawals', [])
  const logs = cutterOf('logs', [])
  const blocks = cutterOf('blocks', LINKING, {
    transactions: listCut(transactions),
    ...(wanted.withdrawals && { withdrawals: listCut(withdrawals) }),
  })
  const receiptList = cutterOf('receipts', ['transactionHash', 'blockHash'], wanted.logs && { logs: listCut(logs) })

  const ofBlock = [blocks, transactions, withdrawals]
  const ofReceipts = [receiptList, logs]
  let endItem = () => {}

  function block(bytes: Buffer): CutPart<Linked> {
    return readUnread(bytes, (whole) =>
      cut(whole, ofBlock, (text) => {
        if (text.bytes[0] !== OPEN_BRACE) return { linked: linkedFields(parsed(text)), end: valueEnd(text) }
        const end = blocks.cutObject(text, 0)
        return { linked: linkOf(text), end }
      }),
    )
  }

  function linkOf(text: Text): Linked {
    const { bytes } = text
    const [number, hash, parentHash] = [0, 1, 2].map((i) => stringAt(bytes, blocks.rows.from(0, i), blocks.rows.to(0, i)))
    const list = blocks.rows.from(0, 3)
    if (number === undefined || hash === undefined || parentHash === undefined || bytes[list] !== OPEN_BRACKET) return withHashes(linkedFields(parsed(text)))
    const { rows } = transactions
    const hashes: string[] = []
    for (let row = 0; row < rows.count; row++) {
      const at = rows.start(row)
      if (bytes[at] !== (full ? OPEN_BRACE : QUOTE)) throw under(under(fault(full ? 'a transaction' : 'a transaction hash', null), row), 'transactions')
      if (receipts) hashes.push((full ? stringAt(bytes, rows.from(row, 0), rows.to(row, 0)) : stringAt(bytes, at, rows.end(row))) ?? '')
    }
    // With the transactions' hashes only where receipts are compared with them.
    return withHashes(linkedFields({ number, hash, parentHash, transactions: hashes }))
  }

  function cutReceipts(bytes: Buffer): CutPart<LinkedReceipt[]> {
    return readUnread(bytes, (whole) =>
      cut(whole, ofReceipts, (text) => {
        if (text.bytes[0] !== OPEN_BRACKET) throw fault('an array', parsed(text))
        const end = receiptList.cutArray(text, 0)
        const { rows } = receiptList
        const linked: LinkedReceipt[] = []
        for (let row = 0; row < rows.count; row++) {
          if (text.bytes[rows.start(row)] !== OPEN_BRACE) throw under(fault('a receipt', null), row)
          const [transactionHash, blockHash] = [0, 1].map((field) => stringAt(text.bytes, rows.from(row, field), rows.to(row, field)))
          linked.push({ transactionHash: transactionHash ?? '', blockHash: blockHash ?? '' })
        }
        return { linked, end }
      }),
    )
  }

  return {
    block,
    receipts: cutReceipts,
    item({ linked: { number, hash, parentHash }, bytes, rows }, withReceipts) {
      // The item before this one is no longer used.
      endItem()
      endItem = () => {
        for (const [i, cutter] of ofBlock.entries()) cutter.giveBack(rows[i] as Rows)
        if (withReceipts) for (const [i, cutter] of ofReceipts.entries()) cutter.giveBack(withReceipts.rows[i] as Rows)
      }
      const [block, transaction, withdrawal] = rows as [Rows, Rows, Rows]
      const [receipt, log] = (withReceipts?.rows ?? []) as [Rows, Rows]
      return {
        number: Number(number),
        hash: hash as string,
        parentHash,
        timestamp: quantityAt(bytes, block.from(0, 4), block.to(0, 4)),
        transactionCount: transaction.count,
        tables: {
          ...(wanted.blocks && { blocks: { bytes, rows: block } }),
          ...(wanted.transactions && { transactions: { bytes, rows: transaction } }),
          ...(wanted.withdrawals && { withdrawals: { bytes, rows: withdrawal } }),
          ...(withReceipts && wanted.receipts && { receipts: { bytes: withReceipts.bytes, rows: receipt } }),
          ...(withReceipts && wanted.logs && { logs: { bytes: withReceipts.bytes, rows: log } }),
        },
      }
    },
  }
}

/**
 * The same with hashes of 32 bytes, since they go to the manifest: nothing else compares what the
 * first block names as its parent. One without a hash is pending, as `Link` reports.
 */
function withHashes(linked: Linked): Linked {
  const { hash, parentHash } = linked
  for (const [name, value] of Object.entries(typeof hash === 'string' ? { hash, parentHash } : { parentHash }))
    if (typeof value !== 'string' || !HASH.test(value)) throw under(fault('a hash of 32 bytes', value), name)
  return linked
}

/** Cuts a list that is a field of each row of another cutter. Null is a list without items. */
function listCut(cutter: ObjectCutter): CutField {
  return (text, at) => {
    if (text.bytes[at] === OPEN_BRACKET) return cutter.cutArray(text, at)
    if (text.bytes[at] !== SMALL_N) throw UNUSUAL
    return skipValue(text.bytes, text.view, at, text.isPlain)
  }
}

/** Cuts bytes as they came if they are plain, else what `compact` makes of them. */
function cut<T>(whole: Buffer, cutters: readonly ObjectCutter[], read: (text: Text) => { linked: T; end: number }): CutPart<T> {
  const begin = () => {
    for (const { rows } of cutters) rows.cutTo(0)
  }
  const part = (linked: T, bytes: Buffer): CutPart<T> => ({ linked, bytes, rows: cutters.map((cutter) => cutter.takeRows()) })
  begin()
  try {
    const { linked, end } = read(plainText(whole))
    if (end === whole.length) return part(linked, whole)
  } catch {
    // Unusual or wrong: the second look tells which.
  }
  const bytes = compact(isUtf8(whole) ? whole : Buffer.from(whole.toString('utf8')))
  const text: Text = { bytes, view: viewOf(bytes), isPlain: false }
  begin()
  try {
    const { linked, end } = read(text)
    if (end !== bytes.length) throw new SyntaxError('something follows the JSON')
    return part(linked, bytes)
  } catch (error) {
    // The cutter does not know where the object stands.
    if (error instanceof CodecError) throw repeatedFault(bytes) ?? error
    if (error !== UNUSUAL) throw error
    // Throws `SyntaxError` for what is not JSON.
    throw fault('lists of objects', parsed(text))
  }
}

function parsed({ bytes }: Text): unknown {
  return JSON.parse(bytes.toString('utf8'))
}

function valueEnd({ bytes, view, isPlain }: Text): number {
  return skipValue(bytes, view, 0, isPlain)
}

/** A quantity in hex. A node may send a JSON number instead. */
function quantityAt(bytes: Buffer, from: number, to: number): string | undefined {
  if (from < 0 || bytes[from] === QUOTE) return stringAt(bytes, from, to)
  return hexOfNumber(bytes.toString('latin1', from, to))
}

/** The string whose JSON is there; undefined for anything else. */
function stringAt(bytes: Buffer, from: number, to: number): string | undefined {
  if (from < 0 || bytes[from] !== QUOTE) return undefined
  const text = bytes.toString('latin1', from + 1, to - 1)
  // Escapes and what is not ASCII.
  return /^[\x20-\x5b\x5d-\x7e]*$/.test(text) ? text : JSON.parse(bytes.toString('utf8', from, to))
}
