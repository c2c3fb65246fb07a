import { andThen, asSent, type Decode, list, number, object, quantity, stringOf } from '../../../src/eth/codec/schema.ts'

/*
 * hexline's own formatters. Their results are those of viem's formatters, at a fraction of the
 * cost: they change the parsed JSON in place, where viem copies each object. Each formatter decodes
 * the quantities first; then a `finish` function gives the fields that are missing, null or empty
 * the value that viem gives them.
 */

type Raw = Record<string, unknown>

const transactionTypes: Readonly<Record<string, string>> = { '0x0': 'legacy', '0x1': 'eip2930', '0x2': 'eip1559', '0x3': 'eip4844', '0x4': 'eip7702' }

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

/** Also deletes the fields that viem deletes, which depend on the type of the transaction. */
function finishTransaction(tx: Raw): Raw {
  const typeHex = tx.type as string | undefined
  const type = typeHex === undefined || typeHex === null ? undefined : transactionTypes[typeHex]
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
/** Formats a block with whole transactions, in place. */
export const formatFull: Decode<Raw> = andThen<Raw, Raw>(object('block', identity, { ...header, transactions: list(formatTransaction) }), finishBlock)
/** Formats a block with the hashes of its transactions, in place. */
export const formatHashes: Decode<Raw> = andThen<Raw, Raw>(
  object('block', identity, { ...header, transactions: list(stringOf('a transaction hash')) }),
  finishBlock,
)

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

/** Formats a receipt, in place. */
export const formatReceipt: Decode<Raw> = andThen<Raw, Raw>(decodeReceipt, finishReceipt)

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
  receipt.status = status ? outcomeOf(status) : null
  receipt.type = type ? (transactionTypes[type] ?? type) : null
  return receipt
}

function outcomeOf(status: string): 'success' | 'reverted' | undefined {
  if (status === '0x1') return 'success'
  return status === '0x0' ? 'reverted' : undefined
}
