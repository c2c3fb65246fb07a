import { IntegrityError } from '../../errors.ts'
import type { Block, Log } from '../../eth/objects.ts'

/** Lengths in hex: of an address, and of a topic or hash. */
const ADDRESS = 42
const WORD = 66

/**
 * What a log lacks that each log of a mined block has, to follow "log 3 "; undefined if it has
 * everything. Nodes send null, and decoders leave some fields as they are sent.
 */
export function logFault({ address, topics, data, blockHash, transactionHash, transactionIndex, logIndex, removed }: Log): string | undefined {
  if (typeof address !== 'string' || address.length !== ADDRESS) return 'has no address'
  if (!Array.isArray(topics) || !topics.every(isWord)) return 'has no valid topics'
  if (typeof data !== 'string') return 'has no data'
  if (!isWord(blockHash)) return 'has no block hash'
  if (!isWord(transactionHash) || typeof transactionIndex !== 'number') return 'has no transaction'
  if (typeof logIndex !== 'number') return 'has no index'
  return removed === true ? 'is of a block that is no longer part of the chain' : undefined
}

/**
 * The error for logs of receipts that a block cannot have: of another block, or not in the order of
 * different indexes. Undefined if there is none.
 */
export function receiptLogsFault({ number, hash }: Pick<Block, 'number' | 'hash'>, logs: readonly Log[]): IntegrityError | undefined {
  let last = -1
  for (const log of logs) {
    const why = logFault(log)
    if (why !== undefined) return new IntegrityError(`block ${number}: a log of its receipts ${why}`)
    if (log.blockHash !== hash || log.blockNumber !== number) return new IntegrityError(`block ${number}: a log of its receipts is of another block`)
    const index = log.logIndex as number
    if (index <= last) return new IntegrityError(`block ${number}: log ${index} of its receipts comes after log ${last}`)
    last = index
  }
  return undefined
}

function isWord(value: unknown): boolean {
  return typeof value === 'string' && value.length === WORD
}
