import { isDeepStrictEqual } from 'node:util'
import { type Chain, formatBlock as viemFormatBlock, formatTransactionReceipt as viemFormatReceipt } from 'viem'
import { type Linked, type LinkedReceipt, linkedFields } from '../../src/bulk/link.ts'
import { fault, under } from '../../src/eth/codec/codec-path.ts'
import { andThen, arrayOf, asSent, type Decode, list, number, object, quantity, stringOf } from '../../src/eth/codec/schema.ts'
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

type Raw = Record<string, unknown>

const types: Readonly<Record<string, string>> = { '0x0': 'legacy', '0x1': 'eip2930', '0x2': 'eip1559', '0x3': 'eip4844', '0x4': 'eip7702' }

const decodeAuthorization = object('authorization', ['address'], { address: asSent(), chainId: quantity, nonce: quantity, yParity: quantity })

const decodeTransaction = object('transaction', ['hash'], {
  hash: asSent(),
  blockNumber: quantity,
  blockTimestamp: quantity,
  chainId: number,
  gas: quantity,
  gasPrice: quantity,
  maxFeePerBlobGas: quantity,
  maxFeePerGas: quantity,
  maxPriorityFeePerGas: quantity,
  nonce: number,
  transactionIndex: number,
  value: quantity,
  v: quantity,
  yParity: number,
  authorizationList: list((raw) => {
    const { address, chainId, nonce, r, s, yParity } = decodeAuthorization(raw) as Raw
    // Numbers, as in viem, although an authorization may hold values beyond the safe integers.
    return { address, chainId: Number(chainId), nonce: Number(nonce), r, s, yParity: Number(yParity) }
  }),
})

/** Works in place. Sets to undefined or null, and deletes by transaction type, what viem does. */
function finishTransaction(tx: Raw): Raw {
  const typeHex = tx.type as string | undefined
  const type = typeHex === undefined || typeHex === null ? undefined : types[typeHex]
  tx.blockHash ||= null
  tx.blockNumber ??= null
  tx.transactionIndex ??= null
  tx.to ||= null
  if (tx.chainId === undefined || tx.chainId === null) tx.chainId = undefined
  tx.gas ??= undefined
  tx.gasPrice ??= undefined
  tx.nonce ??= undefined
  tx.value ??= undefined
  tx.v ??= undefined
  tx.type = type
  tx.typeHex = typeHex || undefined
  const isLegacy = type === 'legacy'
  if (isLegacy || type === 'eip2930') {
    drop(tx, 'maxFeePerGas')
    drop(tx, 'maxPriorityFeePerGas')
  } else {
    tx.maxFeePerGas ??= undefined
    tx.maxPriorityFeePerGas ??= undefined
  }
  if (isLegacy || type === 'eip2930' || type === 'eip1559') drop(tx, 'maxFeePerBlobGas')
  else tx.maxFeePerBlobGas ??= undefined
  if (isLegacy) {
    drop(tx, 'accessList')
    drop(tx, 'yParity')
  } else {
    tx.yParity ??= parityOf(tx.v as bigint | undefined)
  }
  return tx
}

/** Usually there is nothing to delete, and deleting would make the object slow. */
function drop(tx: Raw, key: string): void {
  if (key in tx) delete tx[key]
}

/** EIP-155: 27 and 28, or 35 and more by the chain id. */
function parityOf(v: bigint | undefined): number | undefined {
  if (v === undefined) return undefined
  if (v === 0n || v === 27n) return 0
  if (v === 1n || v === 28n) return 1
  return v >= 35n ? (v % 2n === 0n ? 1 : 0) : undefined
}

const header = {
  hash: asSent(),
  baseFeePerGas: quantity,
  blobGasUsed: quantity,
  difficulty: quantity,
  excessBlobGas: quantity,
  gasLimit: quantity,
  gasUsed: quantity,
  number: quantity,
  size: quantity,
  timestamp: quantity,
  totalDifficulty: quantity,
}

const formatTransaction = andThen<Raw, Raw>(decodeTransaction, finishTransaction)
const identity = ['hash', 'number', 'transactions'] as const
const formatFull = andThen<Raw, Raw>(object('block', identity, { ...header, transactions: list(formatTransaction) }), finishBlock)
const formatHashes = andThen<Raw, Raw>(object('block', identity, { ...header, transactions: list(stringOf('a transaction hash')) }), finishBlock)

function finishBlock(block: Raw): Raw {
  block.baseFeePerGas ??= null
  block.blobGasUsed ??= undefined
  block.difficulty ??= undefined
  block.excessBlobGas ??= undefined
  block.gasLimit ??= undefined
  block.gasUsed ??= undefined
  block.hash ||= null
  block.logsBloom ||= null
  block.nonce ||= null
  block.number ??= null
  block.size ??= undefined
  block.timestamp ??= undefined
  block.totalDifficulty ??= null
  return block
}

const decodeLog = object('log', ['address', 'topics'], {
  address: asSent(),
  topics: asSent(),
  blockNumber: quantity,
  blockTimestamp: quantity,
  logIndex: number,
  transactionIndex: number,
})

function finishLog(log: Raw): Raw {
  log.blockHash ||= null
  log.blockNumber ??= null
  log.logIndex ??= null
  log.transactionHash ||= null
  log.transactionIndex ??= null
  if (!('blockTimestamp' in log)) log.blockTimestamp = undefined
  return log
}

const decodeReceipt = object('receipt', ['transactionHash'], {
  transactionHash: asSent(),
  blockNumber: quantity,
  cumulativeGasUsed: quantity,
  effectiveGasPrice: quantity,
  gasUsed: quantity,
  logs: list(andThen<Raw, Raw>(decodeLog, finishLog)),
  transactionIndex: number,
  blobGasPrice: quantity,
  blobGasUsed: quantity,
})

const formatReceipt = andThen<Raw, Raw>(decodeReceipt, finishReceipt)

function finishReceipt(receipt: Raw): Raw {
  const { type, status } = receipt as { type?: string; status?: string }
  receipt.blockNumber ??= null
  receipt.contractAddress ||= null
  receipt.cumulativeGasUsed ??= null
  receipt.effectiveGasPrice ??= null
  receipt.gasUsed ??= null
  receipt.logs ??= null
  receipt.to ||= null
  receipt.transactionIndex ??= null
  receipt.status = status ? (status === '0x1' ? 'success' : status === '0x0' ? 'reverted' : undefined) : null
  receipt.type = type ? (types[type] ?? type) : null
  return receipt
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
