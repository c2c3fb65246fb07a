import { isDeepStrictEqual } from 'node:util'
import { type Chain, formatBlock as viemFormatBlock, formatTransactionReceipt as viemFormatReceipt } from 'viem'
import { type Linked, type LinkedReceipt, linkedFields } from '../../../src/bulk/link.ts'
import { fault, under } from '../../../src/eth/codec/codec-path.ts'
import { andThen, arrayOf, type Decode } from '../../../src/eth/codec/schema.ts'
import { formatFull, formatHashes, formatReceipt } from './own-format.ts'
import { sampleBlock, sampleReceipt } from './samples.ts'

/**
 * A formatted block, and the fields that link it to other blocks as the node sent them, since a
 * chain's formatter may drop or change these.
 */
export interface Formatted<T, L> {
  readonly value: T
  readonly linked: L
}

/**
 * The formatter of viem's `getBlock`: the chain's own if it has one, else viem's. hexline's own
 * formatter takes the place of viem's if it gives the same results as the installed viem. It
 * decodes the reply in place at a fraction of the cost.
 */
export function formatBlockOf(chain: Chain | undefined, full: boolean, likeViem: boolean): Decode<Formatted<object, Linked>> {
  const ofChain = chain?.formatters?.block?.format as ((raw: unknown, action?: string) => unknown) | undefined
  if (ofChain === undefined && likeViem) return andThen(full ? formatFull : formatHashes, (block) => ({ value: block, linked: block as never }))
  const format = ofChain ?? (viemFormatBlock as (raw: never, action: string) => unknown)
  return (raw) => {
    const linked = linkedFields(raw)
    checkTransactions(raw, full)
    return { linked, value: readable(() => format(raw as never, 'getBlock')) as object }
  }
}

/** The same for receipts. */
export function formatReceiptsOf(chain: Chain | undefined, likeViem: boolean): Decode<Formatted<object, LinkedReceipt>[]> {
  const ofChain = chain?.formatters?.transactionReceipt?.format as ((raw: unknown, action?: string) => unknown) | undefined
  if (ofChain === undefined && likeViem) return arrayOf(andThen(formatReceipt, (receipt) => ({ value: receipt, linked: receipt as never })))
  const format = ofChain ?? (viemFormatReceipt as (raw: never, action: string) => unknown)
  return arrayOf((raw) => {
    if (typeof raw !== 'object' || raw === null) throw fault('a receipt', raw)
    const { transactionHash, blockHash } = raw as LinkedReceipt
    return { linked: { transactionHash, blockHash }, value: readable(() => format(raw as never, 'getTransactionReceipt')) as object }
  })
}

/**
 * Compares hexline's formatters with the installed viem's, on a block with every kind of
 * transaction. Done once per client, since it costs as much as formatting a block.
 */
export function isLikeViem(): boolean {
  return (
    isDeepStrictEqual(formatFull(sampleBlock()), viemFormatBlock(sampleBlock() as never)) &&
    isDeepStrictEqual(formatReceipt(sampleReceipt()), viemFormatReceipt(sampleReceipt() as never))
  )
}

/** Checks the transactions of a block that a chain's formatter gets. */
function checkTransactions(raw: unknown, full: boolean): void {
  const transactions = (raw as { transactions?: unknown } | null)?.transactions
  if (!Array.isArray(transactions)) throw under(fault('an array', transactions), 'transactions')
  const i = transactions.findIndex((each) => (full ? typeof each !== 'object' || each === null : typeof each !== 'string'))
  if (i >= 0) throw under(under(fault(full ? 'a transaction' : 'a transaction hash', transactions[i]), i), 'transactions')
}

/** A formatter may throw anything; this error says which block it was. */
function readable<T>(format: () => T): T {
  try {
    return format()
  } catch (error) {
    throw fault("a value that the chain's formatter can read", (error as Error).message)
  }
}
