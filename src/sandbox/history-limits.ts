import { encodeQuantity } from '../eth/codec/quantity.ts'
import type { BlockWindow, WindowLimits } from './block-window.ts'
import { type CallPlan, pruned, refuse } from './call-plan.ts'

/** What a method reads of its block. Headers are kept when the block's body is dropped. */
type Part = 'block' | 'state' | 'header'

/** Methods that name a block: the index of that param, and what they read. */
const methods: Readonly<Record<string, { readonly at: number; readonly reads: Part }>> = {
  eth_call: { at: 1, reads: 'state' },
  eth_createAccessList: { at: 1, reads: 'state' },
  eth_estimateGas: { at: 1, reads: 'state' },
  eth_feeHistory: { at: 1, reads: 'header' },
  eth_getBalance: { at: 1, reads: 'state' },
  eth_getBlockByHash: { at: 0, reads: 'block' },
  eth_getBlockByNumber: { at: 0, reads: 'block' },
  eth_getBlockReceipts: { at: 0, reads: 'block' },
  eth_getBlockTransactionCountByHash: { at: 0, reads: 'block' },
  eth_getBlockTransactionCountByNumber: { at: 0, reads: 'block' },
  eth_getCode: { at: 1, reads: 'state' },
  eth_getProof: { at: 2, reads: 'state' },
  eth_getStorageAt: { at: 2, reads: 'state' },
  eth_getTransactionByBlockHashAndIndex: { at: 0, reads: 'block' },
  eth_getTransactionByBlockNumberAndIndex: { at: 0, reads: 'block' },
  eth_getTransactionCount: { at: 1, reads: 'state' },
  eth_getUncleByBlockHashAndIndex: { at: 0, reads: 'block' },
  eth_getUncleByBlockNumberAndIndex: { at: 0, reads: 'block' },
  eth_getUncleCountByBlockHash: { at: 0, reads: 'block' },
  eth_getUncleCountByBlockNumber: { at: 0, reads: 'block' },
  debug_traceBlockByHash: { at: 0, reads: 'state' },
  debug_traceBlockByNumber: { at: 0, reads: 'state' },
  trace_block: { at: 0, reads: 'state' },
}

/** Methods whose result names the block. */
const ofTransaction = ['eth_getTransactionByHash', 'eth_getTransactionReceipt']

/**
 * Keeps a call within the window. A block beyond its end is unknown to the node, as it is to one
 * that lags; one before its start is refused. `pending` belongs to the pool, which does not lag.
 */
export async function planHistory(
  method: string,
  params: readonly unknown[],
  { lag, prunedBelow }: WindowLimits,
  window: () => Promise<BlockWindow>,
): Promise<CallPlan | undefined> {
  if (lag === 0 && prunedBelow === 0) return undefined
  if (method === 'eth_blockNumber') return { answer: { result: encodeQuantity((await window()).head) } }
  if (ofTransaction.includes(method)) return onlyWithin(await window())
  const row = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (row === undefined || params.length < row.at) return undefined
  const block = params[row.at]
  if (block === 'pending') return undefined
  const { oldest, head, numberOf } = await window()
  const number = await numberOf(block)
  if (number === undefined) return undefined
  if (number < oldest && row.reads !== 'header') return row.reads === 'state' ? missingState(number) : pruned
  if (number > head) return row.reads === 'block' ? { answer: { result: null } } : noHeader
  const isNamed = typeof block === 'object' ? block !== null : String(block).startsWith('0x')
  return isNamed ? undefined : { params: [...params.slice(0, row.at), encodeQuantity(number), ...params.slice(row.at + 1)] }
}

/** Null for a transaction of a block outside of the window, as from a node without its index. */
function onlyWithin({ oldest, head }: BlockWindow): CallPlan {
  return {
    read(result) {
      const { blockNumber } = (result ?? {}) as { blockNumber?: unknown }
      const isOutside = typeof blockNumber === 'string' && (Number(blockNumber) < oldest || Number(blockNumber) > head)
      return { result: isOutside ? null : result }
    },
  }
}

/** In the words of geth. */
const noHeader = refuse(-32000, 'header not found')

/** In the words of geth, with a made-up root. */
function missingState(number: number): CallPlan {
  const root = number.toString(16).padStart(64, '5a8c')
  return refuse(-32000, `missing trie node ${root} (path ) state 0x${root} is not available, not found`)
}
