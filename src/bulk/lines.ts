import type { Client } from '../client.ts'
import { IntegrityError } from '../errors.ts'
import { under } from '../eth/fault.ts'
import { decodeQuantity } from '../eth/quantity.ts'
import { parseAt, scanArray, scanObject } from '../rpc/scan.ts'
import { type Checked, fetchRange, inBlock } from './get-blocks.ts'
import { Link } from './link.ts'

const NEWLINE = Buffer.from('\n')
const RECEIPTS = Buffer.from(',"receipts":')
const END = Buffer.from('}')

/**
 * The blocks of a range as lines of JSON: the node's own bytes without white space outside strings, receipts as one more
 * field of their block. What is copied is not parsed; number, hashes and receipts are checked as `getBlocks` checks them.
 */
export async function* blockLines(client: Client, options: Checked): AsyncGenerator<Uint8Array, void, undefined> {
  const link = new Link()
  for await (const fetched of fetchRange(client, options, 'bytes')) {
    const block = fetched.block.take() as Uint8Array
    const linked = inBlock(fetched.number, () => linkedFields(block))
    link.follow(fetched.number, linked)
    if (fetched.receipts === undefined) {
      yield Buffer.concat([block, NEWLINE])
      continue
    }
    const receipts = fetched.receipts.take() as Uint8Array
    link.checkReceipts(linked, receiptFields(receipts))
    yield Buffer.concat([block.subarray(0, block.length - 1), RECEIPTS, receipts, END, NEWLINE])
  }
}

function linkedFields(block: Uint8Array) {
  const fields: { number?: unknown; hash?: unknown; parentHash?: unknown; transactions: ({ hash: string } | string)[] } = { transactions: [] }
  read(() => {
    scanObject(block, 0, (name, start, end) => {
      if (name === 'number' || name === 'hash' || name === 'parentHash') fields[name] = parseAt(block, start, end)
      else if (name === 'transactions') scanArray(block, start, (at, to) => fields.transactions.push(transactionAt(block, at, to)))
    })
  }, 'a block')
  const { hash, parentHash, transactions } = fields
  return { number: numberOf(fields.number), hash: hash as string | null, parentHash: parentHash as string, transactions }
}

function numberOf(value: unknown): bigint {
  try {
    return decodeQuantity(value)
  } catch (caught) {
    throw under(caught, 'number')
  }
}

function transactionAt(block: Uint8Array, start: number, end: number): { hash: string } | string {
  if (block[start] !== OPEN_BRACE) return parseAt(block, start, end) as string
  let hash: unknown
  scanObject(block, start, (name, at, to) => {
    if (name === 'hash') hash = parseAt(block, at, to)
  })
  return { hash: hash as string }
}

function receiptFields(receipts: Uint8Array): { transactionHash: string; blockHash: string }[] {
  const found: { transactionHash: string; blockHash: string }[] = []
  read(() => {
    scanArray(receipts, 0, (start) => {
      const receipt = { transactionHash: '', blockHash: '' }
      scanObject(receipts, start, (name, at, to) => {
        if (name === 'transactionHash' || name === 'blockHash') receipt[name] = parseAt(receipts, at, to) as string
      })
      found.push(receipt)
    })
  }, 'receipts')
  return found
}

const OPEN_BRACE = 0x7b

function read(scan: () => void, what: string): void {
  try {
    scan()
  } catch (cause) {
    throw new IntegrityError(`the node sent something else than ${what}: ${(cause as Error).message}`, { kind: 'malformed' })
  }
}
