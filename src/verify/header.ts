import type { Block } from '../eth/objects.ts'
import { address, bytes, hash, layout, quantity, quantityOrZero, writeItems } from './encode.ts'
import type { RlpWriter } from './rlp.ts'

const bloom = (writer: RlpWriter, value: unknown) => writer.hex(value, 256)
const nonce = (writer: RlpWriter, value: unknown) => writer.hex(value, 8)

/** Items of every header (Yellow Paper, 4.3). Some nodes leave out the difficulty of 0. */
const always = layout(
  ['parentHash', hash],
  ['sha3Uncles', hash],
  ['miner', address],
  ['stateRoot', hash],
  ['transactionsRoot', hash],
  ['receiptsRoot', hash],
  ['logsBloom', bloom],
  ['difficulty', quantityOrZero],
  ['number', quantity],
  ['gasLimit', quantity],
  ['gasUsed', quantity],
  ['timestamp', quantity],
  ['extraData', bytes],
  ['mixHash', hash],
  ['nonce', nonce],
)

/** Items of later forks, in their order. */
const later = layout(
  // London, EIP-1559.
  ['baseFeePerGas', quantity],
  // Shanghai, EIP-4895.
  ['withdrawalsRoot', hash],
  // Cancun, EIP-4844 and EIP-4788.
  ['blobGasUsed', quantity],
  ['excessBlobGas', quantity],
  ['parentBeaconBlockRoot', hash],
  // Prague, EIP-7685.
  ['requestsHash', hash],
  // Amsterdam, EIP-7928 and EIP-7843.
  ['blockAccessListHash', hash],
  ['slotNumber', quantity],
)

/** All fields that the hash of a block covers. */
export const headerFields: ReadonlySet<string> = new Set([...always, ...later].map(({ name }) => name))

/**
 * Writes the header of a block. Throws `CodecError` for a field that is missing or wrong. A field
 * of a later fork needs all before it: RLP has no names, and under the name of a later field, an
 * earlier one would have the same hash.
 */
export function writeHeader(writer: RlpWriter, block: Block): void {
  const record = block as unknown as Readonly<Record<string, unknown>>
  const size = writer.size
  writeItems(writer, later.slice(0, laterFieldsOf(record)), record)
  writeItems(writer, always, record)
  writer.list(size)
}

/** Whether the header has a field of a later fork, but not all before it. */
export function hasGap(block: Block): boolean {
  const record = block as unknown as Readonly<Record<string, unknown>>
  return later.slice(0, laterFieldsOf(record)).some(({ name }) => !isGiven(record[name]))
}

/** Number of items of later forks, up to the last one that the header has. */
function laterFieldsOf(record: Readonly<Record<string, unknown>>): number {
  let count = later.length
  while (count > 0 && !isGiven(record[(later[count - 1] as (typeof later)[number]).name])) count--
  return count
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
