import type { Block } from '../eth/objects.ts'
import { isSame, mismatch } from './mismatch.ts'

/** Fields of an object that say where it stands. */
interface Placed {
  readonly blockHash: string | null
  readonly blockNumber: bigint | null
  readonly transactionIndex: number | null
  readonly blockTimestamp?: bigint | undefined
}

/** Throws `IntegrityError` if a transaction, receipt or log says that it stands elsewhere. */
export function checkPlace(block: Block, path: string, { blockHash, blockNumber, transactionIndex, blockTimestamp }: Placed, index: number): void {
  if (!isSame(blockHash, block.hash)) throw mismatch(block, `${path}.blockHash`, block.hash, blockHash)
  if (blockNumber !== block.number) throw mismatch(block, `${path}.blockNumber`, block.number, blockNumber)
  if (transactionIndex !== index) throw mismatch(block, `${path}.transactionIndex`, index, transactionIndex)
  if (typeof blockTimestamp === 'bigint' && blockTimestamp !== block.timestamp) throw mismatch(block, `${path}.blockTimestamp`, block.timestamp, blockTimestamp)
}
