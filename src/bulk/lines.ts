import type { Client } from '../client.ts'
import { fault, under } from '../eth/fault.ts'
import { decodeQuantity } from '../eth/quantity.ts'
import { compact, parseAt, scanArray, scanObject, wholeValue } from '../rpc/scan.ts'
import { type Checked, fetchRange, inBlock } from './get-blocks.ts'
import { Link } from './link.ts'

const NEWLINE = Buffer.from('\n')
const RECEIPTS = Buffer.from(',"receipts":')
const END = Buffer.from('}\n')

/**
 * The blocks of a range as lines of JSON, each in one or several pieces: the node's own bytes without white space outside
 * strings, receipts as one more field of their block. What is copied is not parsed; number, hashes and receipts are checked
 * as `getBlocks` checks them.
 */
export async function* blockLines(client: Client, options: Checked): AsyncGenerator<readonly Uint8Array[], void, undefined> {
  const link = new Link()
  yield* fetchRange(client, options, (number, blockBytes, receiptBytes) => {
    const block = compact(blockBytes)
    const receipts = receiptBytes && compact(wholeValue(receiptBytes))
    const linked = inBlock(number, () => linkedFields(block, receipts !== undefined))
    const theirs = receipts && inBlock(number, () => receiptFields(receipts), 'receipts')
    link.follow(number, linked)
    if (receipts === undefined || theirs === undefined) return [block, NEWLINE]
    link.checkReceipts(linked, theirs)
    return [block.subarray(0, block.length - 1), RECEIPTS, receipts, END]
  })
}

/** What links a block to others; the rest of it is not looked at, when its transactions are not asked for. */
function linkedFields(block: Buffer, withTransactions: boolean) {
  let found = withTransactions ? 0 : 1
  const fields: { number?: unknown; hash?: unknown; parentHash?: unknown; transactions: ({ hash: string } | string)[] } = { transactions: [] }
  scan('a block', block, () =>
    scanObject(block, 0, (name, start, end) => {
      if (name === 'number' || name === 'hash' || name === 'parentHash') fields[name] = parseAt(block, start, end)
      else if (name === 'transactions' && withTransactions) scanArray(block, start, (at, to) => fields.transactions.push(transactionAt(block, at, to)))
      else return true
      return ++found < 4
    }),
  )
  const { hash, parentHash, transactions } = fields
  return { number: numberOf(fields.number), hash: hash as string | null, parentHash: parentHash as string, transactions }
}

function transactionAt(block: Buffer, start: number, end: number): { hash: string } | string {
  return block[start] === OPEN_BRACE ? { hash: stringsOf(block, start, ['hash']).hash as string } : (parseAt(block, start, end) as string)
}

function receiptFields(receipts: Buffer): { transactionHash: string; blockHash: string }[] {
  const found: Record<string, unknown>[] = []
  scan('receipts', receipts, () => scanArray(receipts, 0, (start) => found.push(stringsOf(receipts, start, ['transactionHash', 'blockHash']))))
  return found as { transactionHash: string; blockHash: string }[]
}

/** The named fields of the object at `at`; the rest is not looked at once they are found. */
function stringsOf(bytes: Buffer, at: number, names: readonly string[]): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  let missing = names.length
  scanObject(bytes, at, (name, start, end) => {
    if (!names.includes(name)) return true
    fields[name] = parseAt(bytes, start, end)
    return --missing > 0
  })
  return fields
}

const OPEN_BRACE = 0x7b

function numberOf(value: unknown): bigint {
  try {
    return decodeQuantity(value)
  } catch (caught) {
    throw under(caught, 'number')
  }
}

function scan(what: string, bytes: Buffer, read: () => void): void {
  try {
    read()
  } catch {
    throw fault(what, bytes.toString('utf8', 0, 16_384), { kind: 'malformed' })
  }
}
