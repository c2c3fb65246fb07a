import type { Transaction } from '../eth/objects.ts'
import type { RlpWriter } from './rlp.ts'
import { writeUnsigned } from './transaction.ts'

/**
 * The sender of a transaction of types 0 to 4, in hex, by its signature. Throws for an invalid
 * signature.
 */
export type SenderOf = (transaction: Transaction, writer: RlpWriter) => string

/** Loads the curve, which nothing else needs. */
export async function loadSenderOf(): Promise<SenderOf> {
  const { secp256k1 } = await import('@noble/curves/secp256k1.js')
  return (transaction, writer) => {
    writer.clear()
    writeUnsigned(writer, transaction)
    const at = writer.hash()
    const digest = writer.bytes.slice(at, at + 32)
    const signature = new secp256k1.Signature(BigInt(transaction.r), BigInt(transaction.s), parityOf(transaction))
    const publicKey = signature.recoverPublicKey(digest).toBytes(false)
    writer.clear()
    writer.reserve(64)
    writer.position -= 64
    writer.bytes.set(publicKey.subarray(1), writer.position)
    writer.hash()
    return `0x${writer.digest().slice(-40)}`
  }
}

/** Whether the y of the signature's point is odd. */
function parityOf({ type, v, yParity }: Transaction): number {
  if (type !== 0) return Number(yParity ?? v)
  const value = v as bigint
  return Number(value >= 35n ? (value - 35n) % 2n : value - 27n)
}
