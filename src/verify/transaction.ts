import { transactionFields as ofEthereum, type Transaction } from '../eth/objects.ts'
import { address, addressOrNone, bytes, flag, hash, type Layout, layout, listOf, quantity, quantityOrZero, record, type Write, writeItems } from './encode.ts'
import { isSame } from './mismatch.ts'
import type { RlpWriter } from './rlp.ts'

const accessList = listOf(record(layout(['address', address], ['storageKeys', listOf(hash)])))
const authorizationList = listOf(
  record(layout(['chainId', quantity], ['address', address], ['nonce', quantity], ['yParity', quantity], ['r', quantity], ['s', quantity])),
)

const call = layout(['gas', quantity], ['to', addressOrNone], ['value', quantity], ['input', bytes])
const feeMarket = layout(['chainId', quantity], ['nonce', quantity], ['maxPriorityFeePerGas', quantity], ['maxFeePerGas', quantity])
const accesses = layout(['accessList', accessList])
// Some nodes give only `v`, which is the same for these types.
const signature = layout(['yParity', quantity, 'v'], ['r', quantity], ['s', quantity])

/** Of Arbitrum's own types, what a node calls `gasPrice` or `maxFeePerGas`. */
const feeCap = layout(['maxFeePerGas', quantity, 'gasPrice'])

/** What is signed and hashed, by type. */
const layouts: ReadonlyMap<number, Layout> = new Map([
  [0, [...layout(['nonce', quantity], ['gasPrice', quantity]), ...call, ...layout(['v', quantity], ['r', quantity], ['s', quantity])]],
  // EIP-2930.
  [1, [...layout(['chainId', quantity], ['nonce', quantity], ['gasPrice', quantity]), ...call, ...accesses, ...signature]],
  // EIP-1559.
  [2, [...feeMarket, ...call, ...accesses, ...signature]],
  // EIP-4844.
  [3, [...feeMarket, ...call, ...accesses, ...layout(['maxFeePerBlobGas', quantity], ['blobVersionedHashes', listOf(hash)]), ...signature]],
  // EIP-7702.
  [4, [...feeMarket, ...call, ...accesses, ...layout(['authorizationList', authorizationList]), ...signature]],
  // OP Stack, deposit: https://specs.optimism.io/protocol/deposits.html
  [
    0x7e,
    layout(
      ['sourceHash', hash],
      ['from', address],
      ['to', addressOrNone],
      ['mint', quantityOrZero],
      ['value', quantity],
      ['gas', quantity],
      ['isSystemTx', flag],
      ['input', bytes],
    ),
  ],
  // Arbitrum: https://github.com/OffchainLabs/go-ethereum, core/types/arb_types.go
  [0x64, layout(['chainId', quantity], ['requestId', hash], ['from', address], ['to', address], ['value', quantity])],
  [0x65, [...layout(['chainId', quantity], ['from', address], ['nonce', quantity]), ...feeCap, ...call]],
  [0x66, [...layout(['chainId', quantity], ['requestId', hash], ['from', address]), ...feeCap, ...call]],
  [
    0x68,
    [
      ...layout(['chainId', quantity], ['nonce', quantity], ['from', address]),
      ...[...feeCap, ...call],
      ...layout(['ticketId', hash], ['refundTo', address], ['maxRefund', quantity], ['submissionFeeRefund', quantity]),
    ],
  ],
  [
    0x69,
    [
      ...layout(['chainId', quantity], ['requestId', hash], ['from', address], ['l1BaseFee', quantity], ['depositValue', quantity]),
      ...[...feeCap, ...layout(['gas', quantity], ['retryTo', addressOrNone], ['retryValue', quantity], ['beneficiary', address])],
      ...layout(['maxSubmissionFee', quantity], ['refundTo', address], ['retryData', bytes]),
    ],
  ],
  [0x6a, layout(['chainId', quantity], ['input', bytes])],
])

/** Types that hexline can encode. */
export const transactionTypes: readonly number[] = [...layouts.keys()]

/**
 * The fields that the hash of a transaction of this type covers, by their usual names; undefined
 * for an unknown type.
 */
export function transactionFields(type: number): ReadonlySet<string> | undefined {
  return fieldsByType.get(type)
}

/** Fields that a transaction of any known type may have; op-geth adds the last one to a deposit. */
const knownFields: ReadonlySet<string> = new Set([
  ...Object.keys(ofEthereum),
  ...[...layouts.values()].flatMap((items) => items.map(({ name }) => name)),
  'depositReceiptVersion',
])

/** What may be absent from the layout of a chain's own type. */
const mayBeAbsent: ReadonlySet<Write> = new Set([addressOrNone, quantityOrZero, flag])

/**
 * Whether a transaction of a known type has a field that no known layout has, or lacks one that its
 * own layout has. Scroll has given 0x7e to other transactions than the OP Stack has, and Ronin 0x64
 * to others than Arbitrum.
 */
export function hasOtherFields(transaction: Transaction): boolean {
  const record = transaction as unknown as Readonly<Record<string, unknown>>
  const has = (name: string | undefined) => name !== undefined && record[name] !== undefined && record[name] !== null
  return (
    Object.keys(record).some((name) => has(name) && !knownFields.has(name)) ||
    (layouts.get(transaction.type) as Layout).some(({ name, write, orElse }) => !mayBeAbsent.has(write) && !has(name) && !has(orElse))
  )
}

/** Types of transactions, in words. */
export function typesInHex(types: Iterable<number>): string {
  return [...new Set(types)].map((type) => `0x${Number(type).toString(16)}`).join(', ')
}

const fieldsByType = new Map([...layouts].map(([type, items]) => [type, new Set(items.map(({ name }) => name))]))

/**
 * Writes the bytes of a transaction, whose hash is its own (EIP-2718), as one of the type given.
 * Throws `CodecError` for a field that is missing or wrong.
 */
export function writeTransaction(writer: RlpWriter, transaction: Transaction, type: number = transaction.type): void {
  const size = writer.size
  writeItems(writer, layouts.get(type) as Layout, transaction as unknown as Readonly<Record<string, unknown>>)
  writer.list(size)
  if (type !== 0) writer.byte(type)
}

/**
 * Whether the hash of a transaction is the one that it has as one of this type; false without the
 * fields that such a transaction has, and for a type that hexline does not know.
 */
export function hashesAs(writer: RlpWriter, transaction: Transaction, type: number): boolean {
  if (!layouts.has(type)) return false
  writer.clear()
  try {
    writeTransaction(writer, transaction, type)
  } catch {
    return false
  }
  writer.hash()
  return isSame(writer.digest(), transaction.hash)
}

/**
 * Writes what the sender of a transaction of types 0 to 4 signed. Throws `CodecError` for a field
 * that is missing or wrong.
 */
export function writeUnsigned(writer: RlpWriter, transaction: Transaction): void {
  const { type, v } = transaction
  const items = layouts.get(type) as Layout
  const size = writer.size
  if (type === 0 && typeof v === 'bigint' && v >= 35n) {
    // EIP-155: the chain takes the place of the signature.
    writer.quantity(0)
    writer.quantity(0)
    writer.quantity((v - 35n) / 2n)
  }
  writeItems(writer, items.slice(0, -3), transaction as unknown as Readonly<Record<string, unknown>>)
  writer.list(size)
  if (type !== 0) writer.byte(type)
}

/** Whether a transaction of types 0 to 4 has zeros in place of a signature. */
export function isUnsigned({ type, r, s }: Pick<Transaction, 'type' | 'r' | 's'>): boolean {
  return type <= 4 && ZERO.test(r) && ZERO.test(s)
}
const ZERO = /^0x0+$/

/** A field that contradicts another one of the same transaction. */
interface RepeatFault {
  readonly name: 'chainId' | 'v' | 'yParity'
  readonly expected: bigint | number
}

/**
 * What a transaction says twice and not in the same way: chain and parity of a legacy transaction
 * are in its `v`, and the parity of others is in both `v` and `yParity`.
 */
export function repeatFault({ type, v, yParity, chainId }: Transaction): RepeatFault | undefined {
  if (typeof v !== 'bigint') return undefined
  if (type !== 0) return type <= 4 && typeof yParity === 'number' && BigInt(yParity) !== v ? { name: 'v', expected: yParity } : undefined
  if (v < 27n) return undefined
  const isProtected = v >= 35n
  const parity = Number(isProtected ? (v - 35n) % 2n : v - 27n)
  if (typeof yParity === 'number' && yParity !== parity) return { name: 'yParity', expected: parity }
  const signedFor = Number((v - 35n) / 2n)
  return isProtected && typeof chainId === 'number' && chainId !== signedFor ? { name: 'chainId', expected: signedFor } : undefined
}

/** The chain that a transaction was signed for; undefined for one that is valid on any. */
export function signedChainId({ type, chainId, v }: Pick<Transaction, 'type' | 'chainId' | 'v'>): number | undefined {
  if (type === 0) return v !== undefined && v !== null && v >= 35n ? Number((v - 35n) / 2n) : undefined
  return chainId ?? undefined
}
