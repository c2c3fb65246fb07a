import { IntegrityError } from '../errors.ts'
import { fault, under } from '../eth/codec/codec-path.ts'
import { decodeQuantity } from '../eth/codec/quantity.ts'
import { hashOfTransaction } from '../eth/transaction-hash.ts'
import { show } from '../text.ts'
import type { RootedReceipt } from '../verify/receipt.ts'

/** The fields of a block that the checks need. */
export interface Linked {
  readonly number: bigint
  readonly hash: string | null
  readonly parentHash: string
  readonly transactions: readonly (string | { readonly hash: string })[]
}

/** The fields of a receipt that the checks need. */
export interface LinkedReceipt {
  readonly transactionHash: string
  readonly blockHash: string
}

/** A receipt with what the receipts root covers. */
export type LinkedRootedReceipt = LinkedReceipt & RootedReceipt

/** Checks that each block is the requested one and the child of the previous one. */
export class Link {
  #hash: string | undefined

  /** Throws the block's fault. The next block has to be its child. */
  follow(number: bigint, block: Linked): void {
    const fault = this.faultOf(number, block)
    if (fault !== undefined) throw fault
    this.#hash = block.hash as string
  }

  /** The error for a block with the wrong number, without a hash, or with the wrong parent. */
  faultOf(number: bigint, block: Linked): IntegrityError | undefined {
    if (block.number !== number) return new IntegrityError(`requested block ${number}, but received block ${block.number}`)
    if (typeof block.hash !== 'string') return new IntegrityError(`block ${number} has no hash: the node treats it as pending`)
    if (this.#hash === undefined || block.parentHash === this.#hash) return undefined
    return chainReplaced(`block ${number} names ${shown(block.parentHash)} as its parent, but block ${number - 1n} came as ${shown(this.#hash)}`)
  }
}

/** The error where this shows that blocks were replaced while the chain was read. */
export function chainReplaced(what: string): IntegrityError {
  return new IntegrityError(`${what}: the chain was reorganised in between, or nodes disagree; start again some blocks before, or end at 'finalized'`)
}

/**
 * The error for receipts that are not those of this block's transactions, in the same order;
 * undefined if they are.
 */
export function receiptsFault({ transactions, number, hash }: Linked, receipts: readonly LinkedReceipt[]): IntegrityError | undefined {
  if (receipts.length !== transactions.length)
    return new IntegrityError(`block ${number} has ${transactions.length} transactions, but ${receipts.length} receipts`)
  for (let i = 0; i < receipts.length; i++) {
    const receipt = receipts[i] as LinkedReceipt
    const transaction = transactions[i] as (typeof transactions)[number]
    if (receipt.blockHash !== hash) return new IntegrityError(`block ${number}: receipt ${i} is of block ${shown(receipt.blockHash)}, not of ${shown(hash)}`)
    if (receipt.transactionHash !== hashOfTransaction(transaction)) {
      return new IntegrityError(`block ${number}: receipt ${i} is not of transaction ${i}`)
    }
  }
  return undefined
}

/** A hash as the node sent it. Anything else is described, since it may be as long as a reply. */
export function shown(hash: unknown): string {
  if (typeof hash !== 'string') return show(hash)
  return /^0x[0-9a-fA-F]{1,64}$/.test(hash) ? hash : `an invalid hash (${hash.length} characters)`
}

/** The linking fields of a raw block. Throws `CodecError` for an invalid block. */
export function linkedFields(raw: unknown): Linked {
  const { number, hash, parentHash, transactions } = (raw ?? {}) as Record<keyof Linked, unknown>
  if (!Array.isArray(transactions)) throw under(fault('an array', transactions), 'transactions')
  const odd = transactions.findIndex((each) => typeof each !== 'string' && (typeof each !== 'object' || each === null))
  if (odd >= 0) throw under(under(fault('a transaction', transactions[odd]), odd), 'transactions')
  try {
    return { number: decodeQuantity(number), hash: hash as string | null, parentHash: parentHash as string, transactions }
  } catch (caught) {
    throw under(caught, 'number')
  }
}
