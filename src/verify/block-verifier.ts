import { IntegrityError } from '../errors.ts'
import type { Block, Receipt, Transaction } from '../eth/objects.ts'
import { hashOfTransaction } from '../eth/transaction-hash.ts'
import { checkPlace } from './check-place.ts'
import {
  hasStateSync,
  mayBeImpersonated,
  mayBeUnknown,
  mayBeUnsigned,
  otherHash,
  otherPrices,
  otherSize,
  otherTransactionsRoot,
  otherWithdrawalsRoot,
} from './deviations.ts'
import { writeHeader } from './header.ts'
import { ListRoot } from './list-root.ts'
import { isSame, malformed, mismatch, plain } from './mismatch.ts'
import { checkPrices } from './prices.ts'
import { ReceiptsChecker } from './receipts-checker.ts'
import { RlpWriter } from './rlp.ts'
import type { SenderOf } from './sender.ts'
import { stateSyncHash } from './state-sync.ts'
import { hashesAs, repeatFault, signedChainId, transactionTypes, typesInHex, writeTransaction } from './transaction.ts'
import { uncoveredFields } from './uncovered.ts'
import type { BlockLevel, SkippedCheck, Verification, VerifyCheck } from './verification.ts'
import { writeWithdrawal } from './withdrawal.ts'

export interface BlockVerifierOptions {
  readonly level: BlockLevel
  readonly chainId: number | undefined
  /** Recovers senders; undefined to leave them unchecked. */
  readonly senderOf: SenderOf | undefined
  /** Checks that cannot be made, since fields that they need are not known, with the reasons. */
  readonly without?: ReadonlyMap<VerifyCheck, string>
}

/** Verifies blocks, one after another, in memory that it uses again. */
export class BlockVerifier {
  readonly #writer = new RlpWriter()
  readonly #root = new ListRoot(this.#writer)
  readonly #receipts = new ReceiptsChecker(this.#writer, this.#root)

  /** Throws `IntegrityError` for what is wrong. */
  verify(block: Block, receipts: readonly Receipt[] | undefined, options: BlockVerifierOptions): Verification {
    return new Run(block, receipts, options, this.#writer, this.#root, this.#receipts).verify()
  }
}

/** `sha3Uncles` of a block without uncles: the hash of an empty list. */
const NO_UNCLES = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'
const ZERO_ADDRESS = /^0x0{40}$/

/** The verification of one block. */
class Run {
  readonly #block: Block
  readonly #given: readonly Receipt[] | undefined
  readonly #options: BlockVerifierOptions
  readonly #writer: RlpWriter
  readonly #root: ListRoot
  readonly #receiptsChecker: ReceiptsChecker
  readonly #checks: VerifyCheck[] = []
  readonly #skipped: SkippedCheck[] = []
  #chainId: number | undefined
  /** Why the header's hash proves nothing; undefined if the header is proven. */
  #unproven: string | undefined
  /** Bytes of the block so far, as RLP without the head of each list. */
  #sizes = { header: 0, transactions: 0, withdrawals: 0 }

  constructor(
    block: Block,
    receipts: readonly Receipt[] | undefined,
    options: BlockVerifierOptions,
    writer: RlpWriter,
    root: ListRoot,
    checker: ReceiptsChecker,
  ) {
    this.#block = block
    this.#given = receipts
    this.#options = options
    this.#writer = writer
    this.#root = root
    this.#receiptsChecker = checker
    this.#chainId = options.chainId
  }

  verify(): Verification {
    const given: unknown = this.#block.transactions
    if (!Array.isArray(given)) throw mismatch(this.#block, 'transactions', plain('an array'), given)
    const transactions = wholeTransactions(this.#block)
    this.#hash(transactions)
    this.#chainId ??= chainIdOf(transactions)
    this.#try('uncles', () => this.#uncles())
    this.#try('withdrawals', () => this.#withdrawals())
    const count = this.#block.transactions.length - this.#stateSync()
    const mined = this.#options.level === 'full' ? transactions?.slice(0, count) : undefined
    if (this.#options.level === 'full') this.#content(mined, count)
    const uncovered = uncoveredFields(this.#block, mined, this.#given?.slice(0, count), new Set(this.#checks))
    return { checks: this.#checks, skipped: this.#skipped, uncovered }
  }

  /** Checks the first `count` transactions and receipts: those that roots cover. */
  #content(mined: readonly Transaction[] | undefined, count: number): void {
    this.#try('transactions', () => (mined === undefined ? 'the block has only the hashes of its transactions' : this.#transactions(mined)))
    // Before the receipts, whose senders are compared with those of the transactions.
    const { senderOf } = this.#options
    const withoutSenders = mined && senderOf && this.#outcome('senders', () => this.#senders(mined, senderOf))
    const receipts = this.#given
    this.#try('receipts', () => {
      if (receipts === undefined) return 'there are no receipts'
      return this.#receiptsChecker.check({ block: this.#block, receipts, count, transactions: mined, chainId: this.#chainId })
    })
    if (count < this.#block.transactions.length) this.#skip('transactions', 'a transaction of Polygon for state sync, and its receipt, are in no root')
    if (mined === undefined) return
    this.#try('prices', () => this.#prices(mined))
    this.#try('size', () => this.#size(mined))
    if (senderOf !== undefined) this.#count('senders', withoutSenders)
  }

  /** Makes a check, which returns why it is skipped, and counts it. */
  #try(check: VerifyCheck, make: () => string | undefined): void {
    this.#count(check, this.#outcome(check, make))
  }

  /** Makes a check: why it is skipped, or undefined if the block passed it. */
  #outcome(check: VerifyCheck, make: () => string | undefined): string | undefined {
    let reason = this.#options.without?.get(check)
    try {
      reason ??= make()
    } catch (error) {
      // A header that proves nothing does not prove its content, either.
      if (this.#unproven === undefined || !(error instanceof IntegrityError)) throw error
      reason = this.#unproven
    }
    return reason
  }

  #count(check: VerifyCheck, reason: string | undefined): void {
    if (reason === undefined) this.#checks.push(check)
    else this.#skip(check, reason)
  }

  #skip(check: VerifyCheck, reason: string): void {
    this.#skipped.push({ check, reason })
  }

  #hash(transactions: readonly Transaction[] | undefined): void {
    const { without, chainId } = this.#options
    const reason = without?.get('hash')
    if (reason !== undefined) {
      this.#unproven = otherHash(this.#block, chainId)
      this.#skip('hash', reason)
      return
    }
    const fault = this.#hashFault()
    if (fault === undefined) {
      this.#checks.push('hash')
      return
    }
    this.#unproven = otherHash(this.#block, this.#options.chainId ?? this.#provenChainId(transactions))
    if (this.#unproven === undefined) throw fault
    this.#skip('hash', this.#unproven)
  }

  #hashFault(): unknown {
    const block = this.#block
    this.#writer.clear()
    try {
      writeHeader(this.#writer, block)
    } catch (error) {
      return malformed(block, '', error)
    }
    this.#sizes.header = this.#writer.size
    this.#writer.hash()
    const hash = this.#writer.digest()
    return isSame(hash, block.hash) ? undefined : mismatch(block, 'hash', block.hash, hash, ', which the fields of the header make')
  }

  /** The chain that a transaction was signed for, if its hash proves that. */
  #provenChainId(transactions: readonly Transaction[] | undefined): number | undefined {
    const transaction = transactions?.find((each) => chainIdOf([each]) !== undefined)
    return transaction !== undefined && hashesAs(this.#writer, transaction, transaction.type) ? chainIdOf([transaction]) : undefined
  }

  #uncles(): string | undefined {
    const { uncles, sha3Uncles } = this.#block
    if (!Array.isArray(uncles)) return 'the block has no list of uncles'
    if (isSame(sha3Uncles, NO_UNCLES) !== (uncles.length === 0)) {
      throw mismatch(this.#block, 'uncles', plain(uncles.length === 0 ? 'the uncles of sha3Uncles' : 'no uncles'), uncles)
    }
    return uncles.length === 0 ? undefined : 'the headers of uncles are not part of a block'
  }

  #withdrawals(): string | undefined {
    const block = this.#block
    const { withdrawals, withdrawalsRoot } = block
    if (withdrawalsRoot === undefined || withdrawalsRoot === null) {
      if (withdrawals === undefined || withdrawals === null || withdrawals.length === 0) return undefined
      throw mismatch(block, 'withdrawals', plain('none, since the header has no withdrawalsRoot'), withdrawals)
    }
    const reason = otherWithdrawalsRoot(block, this.#chainId)
    if (!Array.isArray(withdrawals)) return reason ?? this.#throw(mismatch(block, 'withdrawals', plain('an array'), withdrawals))
    const root = this.#root.of(withdrawals.length, (i) => {
      try {
        writeWithdrawal(this.#writer, withdrawals[i])
      } catch (error) {
        throw malformed(block, `withdrawals[${i}]`, error)
      }
      this.#sizes.withdrawals += this.#writer.size
    })
    if (isSame(root, withdrawalsRoot)) return undefined
    return reason ?? this.#throw(mismatch(block, 'withdrawalsRoot', withdrawalsRoot, root, ', which the withdrawals make'))
  }

  #throw(error: unknown): never {
    throw error
  }

  #transactions(transactions: readonly Transaction[]): string | undefined {
    const block = this.#block
    const unknown = new Set<Transaction>()
    const impersonated = new Set<Transaction>()
    for (let i = 0; i < transactions.length; i++) {
      const transaction = transactions[i] as Transaction
      checkPlace(block, `transactions[${i}]`, transaction, i)
      const repeated = repeatFault(transaction)
      if (repeated !== undefined) throw mismatch(block, `transactions[${i}].${repeated.name}`, repeated.expected, transaction[repeated.name])
      const isUnknown = mayBeUnknown(transaction, this.#chainId)
      if (!isUnknown && !mayBeImpersonated(block, transaction, this.#chainId)) continue
      // A made-up type hides one that fits.
      const type = transactionTypes.find((each) => hashesAs(this.#writer, transaction, each))
      if (type === undefined) (isUnknown ? unknown : impersonated).add(transaction)
      else if (type !== transaction.type) throw mismatch(block, `transactions[${i}].type`, type, transaction.type)
    }
    const write = (i: number) => this.#transaction(transactions[i] as Transaction, i)
    if (unknown.size > 0 || impersonated.size > 0) {
      transactions.forEach((each, i) => {
        this.#writer.clear()
        if (!unknown.has(each) && !impersonated.has(each)) write(i)
      })
      if (unknown.size === 0) return 'anvil hashes impersonated transactions in its own way'
      return `hexline does not know this chain's transactions of type ${typesInHex([...unknown].map(({ type }) => type))}`
    }
    const root = this.#root.of(transactions.length, write)
    if (isSame(root, block.transactionsRoot)) return undefined
    return (
      otherTransactionsRoot(block, transactions, this.#chainId) ??
      this.#throw(mismatch(block, 'transactionsRoot', block.transactionsRoot, root, ', which the transactions make'))
    )
  }

  /** Writes a transaction, and checks its hash. */
  #transaction(transaction: Transaction, i: number): void {
    const writer = this.#writer
    try {
      writeTransaction(writer, transaction)
    } catch (error) {
      throw malformed(this.#block, `transactions[${i}]`, error)
    }
    this.#sizes.transactions += transaction.type === 0 ? writer.size : sizeWithHead(writer.size)
    writer.hash()
    const hash = writer.digest()
    if (!isSame(hash, transaction.hash)) throw mismatch(this.#block, `transactions[${i}].hash`, transaction.hash, hash, ', which its fields make')
  }

  /** 1 if the last transaction is one of Polygon for state sync, which no root covers; else 0. */
  #stateSync(): 0 | 1 {
    const { transactions, hash, number } = this.#block
    const last = transactions.at(-1)
    if (last === undefined || !hasStateSync(this.#chainId)) return 0
    if (typeof last !== 'string' && !ZERO_ADDRESS.test(last.from)) return 0
    const expected = stateSyncHash(number, hash)
    return expected !== undefined && isSame(expected, hashOfTransaction(last)) ? 1 : 0
  }

  #prices(transactions: readonly Transaction[]): string | undefined {
    const found = checkPrices(this.#block, transactions, this.#given)
    if (found === undefined || typeof found === 'string') return found
    return otherPrices(this.#chainId) ?? this.#throw(found)
  }

  #size(transactions: readonly Transaction[]): string | undefined {
    const block = this.#block
    if (block.size === undefined || block.size === null) return 'the block does not say its size'
    if (!this.#checks.includes('transactions') || transactions.length < block.transactions.length) return 'not all of the block can be encoded'
    if (!isSame(block.sha3Uncles, NO_UNCLES)) return 'the headers of uncles are not part of a block'
    const { header, transactions: ofTransactions, withdrawals } = this.#sizes
    const body = header + sizeWithHead(ofTransactions) + sizeWithHead(0) + (Array.isArray(block.withdrawals) ? sizeWithHead(withdrawals) : 0)
    const size = sizeWithHead(body)
    if (block.size === BigInt(size)) return undefined
    return otherSize(block, this.#chainId) ?? this.#throw(mismatch(block, 'size', BigInt(size), block.size))
  }

  #senders(transactions: readonly Transaction[], senderOf: SenderOf): undefined {
    for (let i = 0; i < transactions.length; i++) {
      const transaction = transactions[i] as Transaction
      // Those of other types have no signature; most hold their sender.
      if (transaction.type > 4 || mayBeUnsigned(this.#block, transaction, this.#chainId)) continue
      const path = `transactions[${i}].from`
      const sender = this.#recovered(transaction, path, senderOf)
      if (!isSame(sender, transaction.from)) throw mismatch(this.#block, path, sender, transaction.from, ', which did not sign it')
    }
  }

  #recovered(transaction: Transaction, path: string, senderOf: SenderOf): string {
    try {
      return senderOf(transaction, this.#writer)
    } catch (error) {
      throw mismatch(this.#block, path, plain('the sender of a valid signature'), transaction.from, ` (${(error as Error).message})`)
    }
  }
}

/** The transactions of a block, if they are whole. */
function wholeTransactions({ transactions }: Block): readonly Transaction[] | undefined {
  const isWhole = (each: unknown) => typeof each === 'object' && each !== null
  return (transactions as readonly unknown[]).every(isWhole) ? (transactions as Transaction[]) : undefined
}

/** The chain that the first transaction with one was signed for. */
function chainIdOf(transactions: readonly Transaction[] | undefined): number | undefined {
  for (const transaction of transactions ?? []) {
    const chainId = signedChainId(transaction)
    if (chainId !== undefined) return chainId
  }
  return undefined
}

/** Size of a list or string of more than 1 byte, with the head in front of it. */
function sizeWithHead(size: number): number {
  if (size < 56) return size + 1
  return size + 1 + Math.ceil((32 - Math.clz32(size)) / 8)
}
