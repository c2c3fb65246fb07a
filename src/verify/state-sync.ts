import { isHash } from '../eth/codec/hex.ts'
import { keccak256 } from '../eth/codec/keccak.ts'

const PREFIX = Buffer.from('matic-bor-receipt-')

/**
 * The hash of the transaction that Polygon's nodes add to a block for its state sync:
 * https://github.com/maticnetwork/bor, `GetDerivedBorTxHash`. Undefined for a block without a valid
 * hash.
 */
export function stateSyncHash(number: bigint, blockHash: string | null): string | undefined {
  if (!isHash(blockHash)) return undefined
  const key = Buffer.alloc(8)
  key.writeBigUInt64BE(number)
  const hash = keccak256(Buffer.concat([PREFIX, key, Buffer.from(blockHash.slice(2), 'hex')]))
  return `0x${Buffer.from(hash).toString('hex')}`
}
