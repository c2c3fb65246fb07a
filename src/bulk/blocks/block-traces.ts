import { IntegrityError } from '../../errors.ts'
import type { Decode } from '../../eth/codec/schema.ts'
import { decodeTraces, type Trace } from '../../eth/parity-traces.ts'
import { type BlockTrace, blockTracesDecoder, type CallFrame } from '../../eth/trace-objects.ts'
import { hashOfTransaction } from '../../eth/transaction-hash.ts'
import { type Linked, shown } from '../link.ts'

/**
 * The form of a block's traces: `callTracer` gives a call frame for each transaction
 * (`debug_traceBlockByNumber`), `parity` a list of calls (`trace_block`).
 */
export type TraceForm = 'callTracer' | 'parity'

/** Traces of a block in this form. */
export type TracesOf<X> = X extends 'callTracer' ? BlockTrace<CallFrame>[] : X extends 'parity' ? Trace[] : never

const options = { tracer: 'callTracer' }

/** The call for the traces of a block, by its number. */
export function tracesCall(form: TraceForm, tag: string): { readonly method: string; readonly params: readonly unknown[] } {
  return form === 'parity' ? { method: 'trace_block', params: [tag] } : { method: 'debug_traceBlockByNumber', params: [tag, options] }
}

/** The call for the traces of a block, by its hash if the method takes one. */
export function tracesCallByHash(form: TraceForm, { number, hash }: Linked): { readonly method: string; readonly params: readonly unknown[] } {
  if (form === 'parity') return tracesCall(form, `0x${number.toString(16)}`)
  return { method: 'debug_traceBlockByHash', params: [hash, options] }
}

/** Decoder of the traces of a block in this form. */
export function tracesDecoder(form: TraceForm): Decode<readonly unknown[]> {
  return form === 'parity' ? decodeTraces : blockTracesDecoder(options)
}

/**
 * The error for traces that are not those of this block's transactions, in the same order;
 * undefined if they are. A call frame may lack the hash of its transaction.
 */
export function tracesFault(form: TraceForm, block: Linked, traces: readonly unknown[]): IntegrityError | undefined {
  const { transactions, number, hash } = block
  const whole = form === 'parity' ? (traces as readonly Trace[]).filter(isOfTransaction) : traces
  if (form === 'parity') {
    const odd = (traces as readonly Trace[]).find(({ blockHash }) => typeof blockHash === 'string' && blockHash !== hash)
    if (odd !== undefined) return new IntegrityError(`block ${number}: a trace is of block ${shown(odd.blockHash)}, not of ${shown(hash)}`)
  }
  if (whole.length !== transactions.length) return new IntegrityError(`block ${number} has ${transactions.length} transactions, but traces of ${whole.length}`)
  for (const [i, transaction] of transactions.entries()) {
    const { txHash, transactionHash = txHash } = whole[i] as { readonly txHash?: unknown; readonly transactionHash?: unknown }
    if (typeof transactionHash === 'string' && transactionHash !== hashOfTransaction(transaction))
      return new IntegrityError(`block ${number}: trace ${i} is not of transaction ${i}`)
  }
  return form === 'parity' ? strayFault(block, traces as readonly Trace[]) : undefined
}

/** The error for a call that does not stand among those of its transaction. */
function strayFault({ transactions, number }: Linked, traces: readonly Trace[]): IntegrityError | undefined {
  let i = -1
  for (const trace of traces) {
    if (isOfTransaction(trace)) i++
    const { transactionHash } = trace
    if (typeof transactionHash !== 'string') continue
    const transaction = transactions[i]
    if (transaction === undefined || transactionHash !== hashOfTransaction(transaction))
      return new IntegrityError(`block ${number}: a trace of transaction ${shown(transactionHash)} is not beside the others of that transaction`)
  }
  return undefined
}

/** A trace whose address is wrong is of no transaction. */
function isOfTransaction({ type, traceAddress }: Trace): boolean {
  return type !== 'reward' && Array.isArray(traceAddress) && traceAddress.length === 0
}
