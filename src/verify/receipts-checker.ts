import { IntegrityError } from '../errors.ts'
import { BLOOM_BYTES, BloomBuilder } from '../eth/bloom.ts'
import type { Block, Log, Receipt, Transaction } from '../eth/objects.ts'
import { hashOfTransaction } from '../eth/transaction-hash.ts'
import { checkPlace } from './check-place.ts'
import { lacksStateRoots, otherReceiptsRoot } from './deviations.ts'
import { address, layout, quantity, record } from './encode.ts'
import type { ListRoot } from './list-root.ts'
import { isSame, malformed, mismatch, plain } from './mismatch.ts'
import { writeReceipt } from './receipt.ts'
import type { RlpWriter } from './rlp.ts'

/** The receipts of a block, and what they have to fit. */
export interface ReceiptsToCheck {
  readonly block: Block
  readonly receipts: readonly Receipt[]
  /** Number of transactions that the roots cover. One for Polygon's state sync may follow them. */
  readonly count: number
  /** The transactions, where the block has more than their hashes. */
  readonly transactions: readonly Transaction[] | undefined
  readonly chainId: number | undefined
}

/** Checks receipts against their block. */
export class ReceiptsChecker {
  readonly #writer: RlpWriter
  readonly #root: ListRoot
  readonly #blooms = new BloomBuilder()
  readonly #bloom = Buffer.alloc(BLOOM_BYTES)
  readonly #bloomOfBlock = Buffer.alloc(BLOOM_BYTES)

  constructor(writer: RlpWriter, root: ListRoot) {
    this.#writer = writer
    this.#root = root
  }

  /** Throws `IntegrityError`, or returns why what does not fit proves nothing. */
  check(given: ReceiptsToCheck): string | undefined {
    try {
      return this.#check(given)
    } catch (error) {
      const reason = error instanceof IntegrityError ? otherReceiptsRoot(given.chainId) : undefined
      if (reason === undefined) throw error
      return reason
    }
  }

  #check(given: ReceiptsToCheck): string | undefined {
    const { block, receipts, count } = given
    if (receipts.length !== block.transactions.length) throw mismatch(block, 'receipts', block.transactions.length, receipts.length)
    this.#bloomOfBlock.fill(0)
    this.#each(given)
    const used = count === 0 ? 0n : (receipts[count - 1] as Receipt).cumulativeGasUsed
    if (used !== block.gasUsed && hasGasOfReceipts(block)) {
      throw mismatch(block, count === 0 ? 'receipts' : `receipts[${count - 1}].cumulativeGasUsed`, block.gasUsed, used)
    }
    const root = this.#root.of(count, (i) => this.#write(given, i))
    let reason: string | undefined
    if (!isSame(root, block.receiptsRoot)) {
      reason = lackOf(given)
      if (reason === undefined) throw mismatch(block, 'receiptsRoot', block.receiptsRoot, root, ', which the receipts make')
    }
    const bloom = hexOf(this.#bloomOfBlock)
    if (!isSame(bloom, block.logsBloom)) throw mismatch(block, 'logsBloom', block.logsBloom, bloom, ', which the logs make')
    return reason
  }

  /** What no root covers, but follows from the place, the transaction or the receipt before. */
  #each({ block, receipts, count, transactions }: ReceiptsToCheck): void {
    let logIndex = 0
    let usedBefore = 0n
    for (let i = 0; i < count; i++) {
      const receipt = receipts[i] as Receipt
      const path = `receipts[${i}]`
      if (typeof receipt !== 'object' || receipt === null) throw mismatch(block, path, plain('a receipt'), receipt)
      const transaction = block.transactions[i] as string | Transaction
      const hash = hashOfTransaction(transaction)
      if (!isSame(receipt.transactionHash, hash)) throw mismatch(block, `${path}.transactionHash`, hash, receipt.transactionHash)
      checkPlace(block, path, receipt, i)
      if (typeof receipt.cumulativeGasUsed !== 'bigint') throw mismatch(block, `${path}.cumulativeGasUsed`, plain('a quantity'), receipt.cumulativeGasUsed)
      const used = receipt.cumulativeGasUsed - usedBefore
      if (receipt.gasUsed !== used) throw mismatch(block, `${path}.gasUsed`, used, receipt.gasUsed)
      usedBefore = receipt.cumulativeGasUsed
      if (transactions !== undefined) this.#ofTransaction(block, path, receipt, transactions[i] as Transaction)
      logIndex = this.#logs(block, path, receipt, hash, i, logIndex)
    }
  }

  /** What a receipt repeats of its transaction, or follows from it. */
  #ofTransaction(block: Block, path: string, receipt: Receipt, transaction: Transaction): void {
    const { type, from, to } = transaction
    if (receipt.type !== undefined && receipt.type !== type) throw mismatch(block, `${path}.type`, type, receipt.type)
    if (!isSame(receipt.from, from)) throw mismatch(block, `${path}.from`, from, receipt.from)
    if (receipt.to !== undefined && !isSame(receipt.to, to ?? null)) throw mismatch(block, `${path}.to`, to ?? null, receipt.to)
    const { contractAddress } = receipt
    if (type <= 4 && contractAddress !== undefined) {
      const expected = isGiven(to) ? null : this.#contractOf(block, path, transaction)
      // Some nodes give none for a transaction that failed.
      const isNone = contractAddress === null && receipt.status === 0
      if (!isNone && !isSame(contractAddress, expected)) throw mismatch(block, `${path}.contractAddress`, expected, contractAddress)
    }
    if (type !== 3) return
    const blobGas = BLOB_GAS * BigInt(transaction.blobVersionedHashes?.length ?? 0)
    if (isGiven(receipt.blobGasUsed) && receipt.blobGasUsed !== blobGas) throw mismatch(block, `${path}.blobGasUsed`, blobGas, receipt.blobGasUsed)
  }

  /** The address of the contract that a transaction makes (Yellow Paper, 7). */
  #contractOf(block: Block, path: string, transaction: Transaction): string {
    const writer = this.#writer
    writer.clear()
    try {
      writeCreation(writer, transaction)
    } catch (error) {
      throw malformed(block, path, error)
    }
    writer.hash()
    return `0x${writer.digest().slice(-40)}`
  }

  /** Checks the logs of a receipt, and its bloom; returns the index of the next log. */
  #logs(block: Block, path: string, { logs, logsBloom }: Receipt, hash: string, index: number, first: number): number {
    if (!Array.isArray(logs)) throw mismatch(block, `${path}.logs`, plain('an array'), logs)
    if (logs.length === 0 && isSame(logsBloom, NO_BITS)) return first
    this.#bloom.fill(0)
    for (let i = 0; i < logs.length; i++) {
      const log = logs[i] as Log
      const place = `${path}.logs[${i}]`
      if (typeof log !== 'object' || log === null) throw mismatch(block, place, plain('a log'), log)
      checkPlace(block, place, log, index)
      if (!isSame(log.transactionHash, hash)) throw mismatch(block, `${place}.transactionHash`, hash, log.transactionHash)
      if (log.logIndex !== first + i) throw mismatch(block, `${place}.logIndex`, first + i, log.logIndex)
      if (log.removed) throw mismatch(block, `${place}.removed`, false, log.removed)
      if (!Array.isArray(log.topics)) throw mismatch(block, `${place}.topics`, plain('an array'), log.topics)
      try {
        this.#blooms.add(this.#bloom, log)
      } catch (error) {
        throw malformed(block, place, error)
      }
    }
    const bloom = hexOf(this.#bloom)
    if (!isSame(bloom, logsBloom)) throw mismatch(block, `${path}.logsBloom`, bloom, logsBloom)
    for (let i = 0; i < BLOOM_BYTES; i++) this.#bloomOfBlock[i] = (this.#bloomOfBlock[i] as number) | (this.#bloom[i] as number)
    return first + logs.length
  }

  #write({ block, receipts, transactions }: ReceiptsToCheck, i: number): void {
    const receipt = receipts[i] as Receipt
    try {
      writeReceipt(this.#writer, receipt, receipt.type ?? transactions?.[i]?.type ?? 0)
    } catch (error) {
      throw malformed(block, `receipts[${i}]`, error)
    }
  }
}

/** What receipts lack, without which their root cannot be computed. */
function lackOf({ block, receipts, count, transactions, chainId }: ReceiptsToCheck): string | undefined {
  const covered = receipts.slice(0, count)
  const hasTypes = transactions !== undefined || covered.every(({ type }) => isGiven(type))
  return hasTypes ? lacksStateRoots(block, covered, chainId) : 'a receipt has no type, and the block has only the hashes of its transactions'
}

/**
 * Whether the header's `gasUsed` is the last receipt's `cumulativeGasUsed`. Since Amsterdam, the
 * header counts gas before refunds and in two dimensions (EIP-7778, EIP-8037), which receipts do
 * not.
 */
export function hasGasOfReceipts({ blockAccessListHash }: Pick<Block, 'blockAccessListHash'>): boolean {
  return !isGiven(blockAccessListHash)
}

/** What the address of a contract is the hash of. */
const writeCreation = record(layout(['from', address], ['nonce', quantity]))
/** Blob gas of each blob (EIP-4844). */
const BLOB_GAS = 131_072n
const NO_BITS = `0x${'0'.repeat(2 * BLOOM_BYTES)}`

function hexOf(bloom: Buffer): string {
  return `0x${bloom.toString('hex')}`
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null
}
