import { CodecError, IntegrityError } from '../../errors.ts'
import { moved, under } from '../../eth/codec/codec-path.ts'
import type { CallRecord } from '../../rpc/call-record.ts'
import { takeBytes } from '../../rpc/reply.ts'
import type { BlockJson, WholeBlock } from '../../verify/bytes-verifier.ts'
import type { Linked, LinkedReceipt } from '../link.ts'
import { type TraceForm, tracesFault } from './block-traces.ts'
import type { Fetched } from './fetch.ts'

/**
 * Makes the items of a stream. `block` and `receipts` get the bytes of a whole result, and read
 * them with `readUnread`, as `createReader`, `createCopier` and `parseResult` do: they throw
 * `SyntaxError` for invalid JSON, and `CodecError` for an invalid block.
 */
export interface BlockReader<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }, T> {
  block(bytes: Buffer): B
  receipts(bytes: Buffer): R
  /** For a stream with traces. */
  readonly traces?: TracesReader | undefined
  /**
   * Makes the item of a block that follows the previous one, with its own receipts. The item may
   * refer to the bytes of both, which stay valid until the next item is requested.
   */
  item(block: B, receipts: R | undefined, traces?: ReadTraces): T
  /** The whole objects, where `block` and `receipts` have decoded all of their fields. */
  whole?: ((block: B, receipts: R | undefined) => WholeBlock) | undefined
}

/** How traces are read. */
export interface TracesReader {
  readonly form: TraceForm
  read(bytes: Buffer): ReadTraces
}

/** The traces of a block. */
export interface ReadTraces {
  readonly linked: readonly unknown[]
  /** Their JSON, where the item is made of it. */
  readonly json?: Buffer
}

/**
 * A block that does not count: its bytes, or those of its receipts, are invalid JSON or something
 * else, or it has no place in the chain.
 */
export interface UnusableBlock {
  readonly isUnusable: true
  readonly why: SyntaxError | CodecError | IntegrityError
  readonly origin: CallRecord | undefined
}

/** A block that does not count, for this reason. */
export function unusableBlock(why: UnusableBlock['why'], origin: CallRecord | undefined): UnusableBlock {
  return { isUnusable: true, why, origin }
}

/** A block that was read, with the receipts that came with it. */
export interface ReadBlock<B, R> {
  readonly block: B
  readonly receipts: R | undefined
  /** What both were read from. */
  readonly json: BlockJson
}

/** Reads a block with its receipts. */
export function readBlock<B, R>(
  { number, block, receipts, origins }: Fetched,
  reader: { block(bytes: Buffer): B; receipts(bytes: Buffer): R },
): ReadBlock<B, R> | UnusableBlock {
  const json: BlockJson = { block: takeBytes(block), receipts: receipts && takeBytes(receipts) }
  let origin: CallRecord | undefined = origins.block
  try {
    const read = inBlock(number, 'eth_getBlockByNumber', () => reader.block(json.block))
    origin = origins.receipts
    return {
      json,
      block: read,
      receipts: json.receipts && inBlock(number, 'eth_getBlockReceipts', () => reader.receipts(json.receipts as Buffer), 'receipts'),
    }
  } catch (error) {
    if (isUnreadable(error)) return unusableBlock(error, origin)
    throw error
  }
}

/** The traces of a block, or why others are needed. */
export function readTraces(number: bigint, { form, read }: TracesReader, block: Linked, bytes: Buffer): ReadTraces | IntegrityError | CodecError {
  try {
    const traces = inBlock(number, form === 'parity' ? 'trace_block' : 'debug_traceBlockByNumber', () => read(bytes), 'traces')
    return tracesFault(form, block, traces.linked) ?? traces
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return error instanceof CodecError ? error : new IntegrityError(`block ${number}: the traces are invalid JSON`)
  }
}

/** Another attempt, or another endpoint, may give what can be read. */
function isUnreadable(error: unknown): error is SyntaxError | CodecError {
  return error instanceof SyntaxError || (error instanceof CodecError && error.kind === 'malformed')
}

/**
 * Adds the method and the block to a `CodecError` of `read`, as in the path `blocks[42].gasUsed`.
 */
export function inBlock<T>(number: bigint | number, method: string, read: () => T, field?: string): T {
  try {
    return read()
  } catch (caught) {
    if (!(caught instanceof CodecError)) throw caught
    const malformed = moved(caught, caught.path, { method, kind: 'malformed' })
    throw under(under(field === undefined ? malformed : under(malformed, field), Number(number)), 'blocks')
  }
}
