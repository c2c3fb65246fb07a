import type { Receipt } from '../eth/objects.ts'
import { address, bytes, hash, layout, listOf, quantity, record, writeItems } from './encode.ts'
import type { RlpWriter } from './rlp.ts'

const bloom = (writer: RlpWriter, value: unknown) => writer.hex(value, 256)
const logs = listOf(record(layout(['address', address], ['topics', listOf(hash)], ['data', bytes])))

const content = layout(['cumulativeGasUsed', quantity], ['logsBloom', bloom], ['logs', logs])
const withStatus = [...layout(['status', quantity]), ...content]
/** Before Byzantium, the state after the transaction (EIP-658 replaced it). */
const withRoot = [...layout(['root', hash]), ...content]
/** OP Stack, since Canyon: https://specs.optimism.io/protocol/deposits.html#deposit-receipt */
const ofDeposit = [...withStatus, ...layout(['depositNonce', quantity], ['depositReceiptVersion', quantity])]

/** Fields of a receipt, and of its logs, that the receipts root covers. */
export const receiptFields: ReadonlySet<string> = new Set([...ofDeposit.map(({ name }) => name), 'root', 'type'])

/** What the receipts root covers of a receipt. */
export type RootedReceipt = Pick<Receipt, 'type' | 'status' | 'root' | 'cumulativeGasUsed' | 'logsBloom' | 'logs' | 'depositNonce' | 'depositReceiptVersion'>

/** Whether the receipts root covers the state root in place of the status. */
export function hasRoot({ root }: Pick<Receipt, 'root'>): boolean {
  return typeof root === 'string' && root.length === 66
}

/**
 * Writes a receipt, as it stands in the trie of `receiptsRoot` (EIP-2718). Throws `CodecError` for
 * a field that is missing or wrong.
 */
export function writeReceipt(writer: RlpWriter, receipt: RootedReceipt, type: number): void {
  const size = writer.size
  const isDeposit = typeof receipt.depositReceiptVersion === 'number'
  writeItems(writer, isDeposit ? ofDeposit : hasRoot(receipt) ? withRoot : withStatus, receipt as unknown as Readonly<Record<string, unknown>>)
  writer.list(size)
  if (type !== 0) writer.byte(type)
}
