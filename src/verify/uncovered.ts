import type { Block, Log, Receipt, Transaction } from '../eth/objects.ts'
import { headerFields } from './header.ts'
import { hasRoot, receiptFields } from './receipt.ts'
import { isUnsigned, transactionFields } from './transaction.ts'
import type { VerifyCheck } from './verification.ts'

/** What the hash of each transaction proves. A root in an unproven header proves nothing. */
const withoutHeader: readonly VerifyCheck[] = ['transactions', 'senders']
/** The hash is the node's word; `uncoveredFields` says more of the others. */
const besideHeader: ReadonlySet<string> = new Set(['hash', 'transactions', 'receipts'])

/** Where a transaction, receipt or log stands. */
const place = ['blockHash', 'blockNumber', 'transactionIndex']
const ofTransaction: ReadonlySet<string> = new Set([...place, 'blockTimestamp', 'hash', 'type'])
const ofReceipt: ReadonlySet<string> = new Set([...place, ...receiptFields, 'gasUsed'])
const ofLog: ReadonlySet<string> = new Set([...place, 'blockTimestamp', 'address', 'topics', 'data', 'logIndex', 'removed'])
/** The same of a log whose transaction is proven. */
const ofLogOfTransaction: ReadonlySet<string> = new Set([...ofLog, 'transactionHash'])

const ofAccess: ReadonlySet<string> = new Set(['address', 'storageKeys'])
const ofAuthorization: ReadonlySet<string> = new Set(['chainId', 'address', 'nonce', 'yParity', 'r', 's'])
const ofWithdrawal: ReadonlySet<string> = new Set(['index', 'validatorIndex', 'address', 'amount'])

/**
 * Names the fields that a verification with these checks leaves unproven, each once: what no root
 * covers and what follows from nothing else. Fields that are null say nothing.
 */
export function uncoveredFields(
  block: Block,
  transactions: readonly Transaction[] | undefined,
  receipts: readonly Receipt[] | undefined,
  checks: ReadonlySet<VerifyCheck>,
): string[] {
  const names = new Names()
  const isHeaderProven = checks.has('hash')
  const proven = isHeaderProven ? checks : new Set(withoutHeader.filter((check) => checks.has(check)))
  each(block, (name) => {
    if (besideHeader.has(name) || (isHeaderProven && headerFields.has(name))) return
    const isProven =
      (name === 'uncles' && proven.has('uncles')) || (name === 'withdrawals' && proven.has('withdrawals')) || (name === 'size' && proven.has('size'))
    if (!isProven) names.add('', name)
  })
  if (checks.has('receipts') && !proven.has('receipts')) names.add('', 'receipts')
  if (proven.has('withdrawals')) for (const withdrawal of block.withdrawals ?? []) uncoveredOfItem(withdrawal, ofWithdrawal, 'withdrawals.', names)
  if (proven.has('transactions')) for (const transaction of transactions ?? []) uncoveredOfTransaction(transaction, proven, names)
  else if (proven.has('senders') && transactions?.some(isUnsigned)) names.add('transactions.', 'from')
  const known = proven.has('transactions') ? transactions : undefined
  if (proven.has('receipts')) for (const [i, receipt] of (receipts ?? []).entries()) uncoveredOfReceipt(receipt, known?.[i], proven, names)
  return names.list
}

function uncoveredOfTransaction(transaction: Transaction, proven: ReadonlySet<VerifyCheck>, names: Names): void {
  const { type, v } = transaction
  const hashed = transactionFields(type)
  each(transaction, (name) => {
    if (ofTransaction.has(name) || hashed?.has(name)) return
    if (name === 'from' && hasSender(transaction, proven)) return
    if (name === 'gasPrice' && type <= 4 && proven.has('prices')) return
    // See `repeatFault`.
    if ((name === 'yParity' || name === 'v') && (type === 0 ? isGiven(v) && v >= 27n : type <= 4)) return
    if (name === 'chainId' && type === 0 && isGiven(v) && v >= 35n) return
    // What some nodes call the fee cap.
    if (name === 'gasPrice' && hashed?.has('maxFeePerGas') && !isGiven(transaction.maxFeePerGas)) return
    names.add('transactions.', name)
  })
  for (const item of transaction.accessList ?? []) uncoveredOfItem(item, ofAccess, 'transactions.accessList.', names)
  for (const item of transaction.authorizationList ?? []) uncoveredOfItem(item, ofAuthorization, 'transactions.authorizationList.', names)
}

/** Whether the sender of a transaction, which its hash does not cover, is proven. */
function hasSender(transaction: Transaction, proven: ReadonlySet<VerifyCheck>): boolean {
  return transaction.type <= 4 && proven.has('senders') && !isUnsigned(transaction)
}

function uncoveredOfItem(item: object, covered: ReadonlySet<string>, path: string, names: Names): void {
  each(item, (name) => {
    if (!covered.has(name)) names.add(path, name)
  })
}

/** `transaction` is undefined if it is not proven, and so nothing that follows from it. */
function uncoveredOfReceipt(receipt: Receipt, transaction: Transaction | undefined, proven: ReadonlySet<VerifyCheck>, names: Names): void {
  const ofState = hasRoot(receipt) ? 'status' : 'root'
  const hasNonce = typeof receipt.depositReceiptVersion === 'number'
  const hashed = transaction && transactionFields(transaction.type)
  each(receipt, (name) => {
    if (name === ofState || (name === 'depositNonce' && !hasNonce)) names.add('receipts.', name)
    if (ofReceipt.has(name)) return
    if (transaction !== undefined) {
      if (name === 'transactionHash') return
      if ((name === 'from' || name === 'to') && hashed?.has(name)) return
      // A contract's address is made of the sender's and the nonce.
      if ((name === 'from' || name === 'contractAddress') && hasSender(transaction, proven)) return
      if (name === 'effectiveGasPrice' && proven.has('prices') && transaction.type <= 4) return
      if (name === 'blobGasUsed' && transaction.type === 3) return
    }
    names.add('receipts.', name)
  })
  const covered = transaction === undefined ? ofLog : ofLogOfTransaction
  for (const log of receipt.logs as readonly Log[]) uncoveredOfItem(log, covered, 'receipts.logs.', names)
}

/** Names by what stands in front of them, which is put there only once for each. */
class Names {
  readonly #byPath = new Map<string, Set<string>>()

  add(path: string, name: string): void {
    const names = this.#byPath.get(path)
    if (names === undefined) this.#byPath.set(path, new Set([name]))
    else names.add(name)
  }

  get list(): string[] {
    return [...this.#byPath].flatMap(([path, names]) => [...names].map((name) => path + name))
  }
}

/** Calls for each field that has a value. */
function each(record: object, visit: (name: string) => void): void {
  for (const name in record) {
    const value = (record as Readonly<Record<string, unknown>>)[name]
    if (isGiven(value)) visit(name)
  }
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined
}
