import type { Block, Log, Receipt, Transaction } from '../eth/objects.ts'
import { headerFields } from './header.ts'
import { hasRoot, receiptFields } from './receipt.ts'
import { transactionFields } from './transaction.ts'
import type { VerifyCheck } from './verification.ts'

/** Where a transaction, receipt or log stands. */
const place = ['blockHash', 'blockNumber', 'transactionIndex']
const ofBlock: ReadonlySet<string> = new Set([...headerFields, 'hash', 'transactions', 'receipts'])
const ofTransaction: ReadonlySet<string> = new Set([...place, 'blockTimestamp', 'hash', 'type'])
const ofReceipt: ReadonlySet<string> = new Set([...place, ...receiptFields, 'transactionHash', 'gasUsed'])
/** What a receipt repeats of its transaction, or follows from it. */
const ofBoth: ReadonlySet<string> = new Set(['from', 'to', 'contractAddress'])
const ofLog: ReadonlySet<string> = new Set([...place, 'blockTimestamp', 'address', 'topics', 'data', 'transactionHash', 'logIndex', 'removed'])

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
  proven: ReadonlySet<VerifyCheck>,
): string[] {
  const names = new Set<string>()
  each(block, (name) => {
    if (ofBlock.has(name)) return
    const isProven =
      (name === 'uncles' && proven.has('uncles')) || (name === 'withdrawals' && proven.has('withdrawals')) || (name === 'size' && proven.has('size'))
    if (!isProven) names.add(name)
  })
  if (proven.has('withdrawals')) for (const withdrawal of block.withdrawals ?? []) uncoveredOfItem(withdrawal, ofWithdrawal, 'withdrawals', names)
  if (proven.has('transactions')) for (const transaction of transactions ?? []) uncoveredOfTransaction(transaction, proven, names)
  if (proven.has('receipts')) for (const [i, receipt] of (receipts ?? []).entries()) uncoveredOfReceipt(receipt, transactions?.[i], proven, names)
  return [...names]
}

function uncoveredOfTransaction(transaction: Transaction, proven: ReadonlySet<VerifyCheck>, names: Set<string>): void {
  const { type, v } = transaction
  const hashed = transactionFields(type)
  each(transaction, (name) => {
    if (ofTransaction.has(name) || hashed?.has(name)) return
    if (name === 'from' && type <= 4 && proven.has('senders')) return
    if (name === 'gasPrice' && type <= 4 && proven.has('prices')) return
    // See `repeatFault`.
    if ((name === 'yParity' || name === 'v') && (type === 0 ? isGiven(v) && v >= 27n : type <= 4)) return
    if (name === 'chainId' && type === 0 && isGiven(v) && v >= 35n) return
    // What some nodes call the fee cap.
    if (name === 'gasPrice' && hashed?.has('maxFeePerGas') && !isGiven(transaction.maxFeePerGas)) return
    names.add(`transactions.${name}`)
  })
  for (const item of transaction.accessList ?? []) uncoveredOfItem(item, ofAccess, 'transactions.accessList', names)
  for (const item of transaction.authorizationList ?? []) uncoveredOfItem(item, ofAuthorization, 'transactions.authorizationList', names)
}

function uncoveredOfItem(item: object, covered: ReadonlySet<string>, path: string, names: Set<string>): void {
  each(item, (name) => {
    if (!covered.has(name)) names.add(`${path}.${name}`)
  })
}

function uncoveredOfReceipt(receipt: Receipt, transaction: Transaction | undefined, proven: ReadonlySet<VerifyCheck>, names: Set<string>): void {
  const ofState = hasRoot(receipt) ? 'status' : 'root'
  const hasNonce = typeof receipt.depositReceiptVersion === 'number'
  each(receipt, (name) => {
    if (name === ofState || (name === 'depositNonce' && !hasNonce)) names.add(`receipts.${name}`)
    if (ofReceipt.has(name)) return
    if (transaction !== undefined) {
      if (ofBoth.has(name) && (name !== 'contractAddress' || transaction.type <= 4)) return
      if (name === 'effectiveGasPrice' && proven.has('prices') && transaction.type <= 4) return
      if (name === 'blobGasUsed' && transaction.type === 3) return
    }
    names.add(`receipts.${name}`)
  })
  for (const log of receipt.logs as readonly Log[]) uncoveredOfItem(log, ofLog, 'receipts.logs', names)
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
