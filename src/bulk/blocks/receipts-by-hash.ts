import type { IntegrityError } from '../../errors.ts'
import type { Reply } from '../../rpc/call.ts'
import type { CallRecord } from '../../rpc/call-record.ts'
import { takeBytes } from '../../rpc/reply.ts'
import { type Linked, type LinkedReceipt, receiptsFault } from '../link.ts'
import type { Fetcher } from './fetch.ts'

/** Number of requests by the hash of a block. */
const ATTEMPTS = 3

/** Receipts that do not fit the block that they came with. */
interface WrongReceipts {
  readonly block: Linked
  readonly fault: IntegrityError
  readonly origin: CallRecord | undefined
}

/**
 * The right receipts of a block, requested at most 3 times, by its hash. The first ones were
 * requested by its number: they may be of another block if the chain was reorganised in between, or
 * if they came from another endpoint. Throws the fault of the first ones if nothing better comes.
 */
export async function receiptsByHash<R extends { readonly linked: readonly LinkedReceipt[] }>(
  fetcher: Fetcher,
  { block, fault, origin }: WrongReceipts,
  read: (bytes: Buffer) => R,
  signal: AbortSignal | undefined,
): Promise<{ readonly reply: Reply; readonly receipts: R; readonly origin: CallRecord }> {
  const avoid: string[] = []
  let last = origin
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    if (last?.endpoint !== undefined) avoid.push(last.endpoint)
    const fetched = await fetcher.receiptsByHash(block, signal, avoid)
    if (fetched === undefined) break
    const receipts = readIfValid(fetched.receipts, read)
    if (receipts !== undefined && receiptsFault(block, receipts.linked) === undefined) return { reply: fetched.receipts, receipts, origin: fetched.origin }
    last = fetched.origin
  }
  throw fault
}

/** Undefined for bytes that cannot be read as receipts. */
function readIfValid<R>(reply: Reply, read: (bytes: Buffer) => R): R | undefined {
  try {
    return read(takeBytes(reply))
  } catch {
    return undefined
  }
}
