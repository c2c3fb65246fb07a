import type { Block } from '../eth/objects.ts'
import { address, bytes, hash, type Item, layout, quantity, quantityOrZero, writeItems } from './encode.ts'
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

/** Writes the header of a block. Throws `CodecError` for a field that is missing or wrong. */
export function writeHeader(writer: RlpWriter, block: Block): void {
  const record = block as unknown as Readonly<Record<string, unknown>>
  const size = writer.size
  writeItems(writer, later.filter(isIn, record), record)
  writeItems(writer, always, record)
  writer.list(size)
}

function isIn(this: Readonly<Record<string, unknown>>, { name }: Item): boolean {
  return this[name] !== undefined && this[name] !== null
}
