import type { Log } from '../../eth/objects.ts'

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

function isWord(value: unknown): boolean {
  return typeof value === 'string' && value.length === WORD
}
