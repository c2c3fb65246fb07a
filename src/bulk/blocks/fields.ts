import { OptionError } from '../../errors.ts'
import type { Hash } from '../../eth/codec/hex.ts'
import { type Decode, pick, UnknownPath } from '../../eth/codec/schema.ts'
import { type Block, blockDecoder, decodeReceipts, type MinedTransaction, type Receipt } from '../../eth/objects.ts'
import { didYouMean } from '../../nearest-name.ts'
import { show } from '../../text.ts'
import { receiptFields } from '../../verify/receipt.ts'
import type { LinkedRootedReceipt } from '../link.ts'
import type { TraceForm, TracesOf } from './block-traces.ts'

/** Path of a field of a block, of its transactions or of its receipts. */
export type BlockField = keyof Block | 'receipts' | `transactions.${keyof MinedTransaction}` | `receipts.${keyof Receipt}`

/**
 * A block of a range. With `F`, it has only these fields and those that link it to other blocks.
 */
export type RangeBlock<
  T extends 'full' | 'hashes' = 'full' | 'hashes',
  R extends boolean = boolean,
  F extends readonly BlockField[] | undefined = undefined,
  X extends TraceForm | undefined = undefined,
> = [X] extends [TraceForm] ? BlockWith<T, R, F> & { traces: TracesOf<X> } : BlockWith<T, R, F>

type BlockWith<T extends 'full' | 'hashes', R extends boolean, F extends readonly BlockField[] | undefined> = F extends readonly BlockField[]
  ? Picked<T, R, F[number]>
  : Whole<T, R>

type IsFull<T> = T extends 'full' ? true : false

/** A conditional type, so that editors show the resulting block instead of this name. */
type Whole<T, R> = [R] extends [true]
  ? Block<IsFull<T>> & { receipts: Receipt[] }
  : [R] extends [false]
    ? Block<IsFull<T>>
    : Block<IsFull<T>> & { receipts?: Receipt[] }

/** Spelled out, so that editors show its fields. */
type Picked<T, R, F extends string> = Parts<T, R, F> extends infer B ? { [K in keyof B]: B[K] } : never

type Parts<T, R, F extends string> = Pick<Whole<T, R>, (Exclude<F, 'transactions' | 'receipts'> & keyof Block) | 'number' | 'hash' | 'parentHash'> &
  PickedTransactions<T, Inner<'transactions', F> | (R extends true ? 'hash' : never), 'transactions' extends F ? true : false> &
  ([R] extends [true] ? { receipts: PickedReceipts<F> } : [R] extends [false] ? unknown : { receipts?: PickedReceipts<F> })

type PickedReceipts<F extends string> = 'receipts' extends F
  ? Receipt[]
  : Pick<Receipt, (Inner<'receipts', F> & keyof Receipt) | 'transactionHash' | 'blockHash'>[]

/** The rest of the paths that start with `Of.`. */
type Inner<Of extends string, F extends string> = F extends `${Of}.${infer Name}` ? Name : never

type PickedTransactions<T, Names extends string, IsWhole extends boolean> = [Names] extends [never]
  ? IsWhole extends true
    ? { transactions: Block<IsFull<T>>['transactions'] }
    : unknown
  : { transactions: T extends 'full' ? (IsWhole extends true ? MinedTransaction[] : Pick<MinedTransaction, Names & keyof MinedTransaction>[]) : Hash[] }

/**
 * Decoders for blocks and receipts with these fields. Throws `OptionError` for an unknown field.
 */
export function decodersOf(
  fields: readonly BlockField[] | undefined,
  { full, receipts, traces }: { readonly full: boolean; readonly receipts: boolean; readonly traces?: TraceForm | undefined },
): { readonly block: Decode<Block>; readonly receipts: Decode<Receipt[]> } {
  const block: Decode<Block> = blockDecoder(full)
  if (fields === undefined) return { block, receipts: decodeReceipts }
  if (!Array.isArray(fields) || fields.length === 0 || !fields.every((field) => typeof field === 'string'))
    throw new OptionError('fields', "an array of paths such as 'gasUsed', 'transactions.hash' or 'receipts.status'", show(fields))
  const odd = fields.find((field) => (isOfReceipts(field) && !receipts) || (field.startsWith('transactions.') && !full))
  if (odd !== undefined) {
    const expected = isOfReceipts(odd) ? 'receipts: true with fields of receipts' : "transactions: 'full' with fields of transactions"
    throw new OptionError('fields', expected, `${show(odd)} without it`)
  }
  const ofReceipts = fields.filter(isOfReceipts).map((field) => field.slice('receipts.'.length))
  const ofBlocks = fields.filter((field) => !isOfReceipts(field))
  return {
    block: picked(block, [
      ...ofBlocks,
      'number',
      'hash',
      'parentHash',
      ...(receipts || traces !== undefined ? [full ? 'transactions.hash' : 'transactions'] : []),
    ]),
    receipts: ofReceipts.includes('') ? decodeReceipts : picked(decodeReceipts, [...ofReceipts, 'transactionHash', 'blockHash'], 'receipts.'),
  }
}

/** What links receipts to their block, and what the receipts root covers. */
export const rootedFields: ReadonlySet<string> = new Set(['transactionHash', 'blockHash', ...receiptFields])

/** Decodes these fields of receipts. */
export const decodeRootedReceipts: Decode<LinkedRootedReceipt[]> = decodersOf(
  [...rootedFields].map((name) => `receipts.${name}` as BlockField),
  { full: false, receipts: true },
).receipts

function isOfReceipts(field: string): boolean {
  return field === 'receipts' || field.startsWith('receipts.')
}

function picked<T>(decode: Decode<T>, paths: readonly string[], before = ''): Decode<T> {
  try {
    return pick(decode, paths)
  } catch (error) {
    if (!(error instanceof UnknownPath)) throw error
    const wrong = before + error.path
    const known = error.known.map((path) => before + path)
    throw new OptionError('fields', `known field names${didYouMean(wrong, known)}; omit the option to get all that the node sends`, show(wrong))
  }
}
