import { createHash } from 'node:crypto'
import { encodeQuantity } from '../eth/codec/quantity.ts'
import type { BlockWindow, WindowLimits } from './block-window.ts'
import { type Answer, type CallPlan, pruned, refuse } from './call-plan.ts'

/** What a limited node takes and leaves out in `eth_getLogs`. */
export interface LogLimits {
  /** Most blocks of a range, both ends counted. */
  readonly maxLogRange: number
  /** Most logs of a reply. More are refused, or left out silently. */
  readonly maxResults: { readonly most: number; readonly silently: boolean }
  /** Share of logs that are left out. */
  readonly dropLogs: number
}

/**
 * Plans an `eth_getLogs`. A range beyond the head ends at the head, and nothing says so, as on most
 * nodes.
 */
export async function planLogs(
  params: readonly unknown[],
  limits: LogLimits & WindowLimits,
  window: () => Promise<BlockWindow>,
): Promise<CallPlan | undefined> {
  const [filter] = params
  if (!hasLimits(limits) || typeof filter !== 'object' || filter === null) return undefined
  const { fromBlock, toBlock, blockHash } = filter as { fromBlock?: unknown; toBlock?: unknown; blockHash?: unknown }
  const { oldest, head, numberOf } = await window()
  const read = (result: unknown) => readLogs(result, limits)
  if (blockHash !== undefined) {
    const number = await numberOf(blockHash)
    if (number === undefined) return undefined
    if (number < oldest) return pruned
    return number > head ? unknownBlock : { read }
  }
  const [from, to] = await Promise.all([numberOf(fromBlock), numberOf(toBlock)])
  // The node refuses an invalid range.
  if (from === undefined || to === undefined) return undefined
  if (from > head) return { answer: { result: [] } }
  if (from > to) return undefined
  // In the words of reth.
  if (to - from >= limits.maxLogRange) return refuse(-32602, `query exceeds max block range ${limits.maxLogRange}`)
  if (from < oldest) return pruned
  const range = { fromBlock: encodeQuantity(from), toBlock: encodeQuantity(Math.min(to, head)) }
  return { params: [{ ...filter, ...range }, ...params.slice(1)], read }
}

function hasLimits({ maxLogRange, maxResults, dropLogs, lag, prunedBelow }: LogLimits & WindowLimits): boolean {
  return maxLogRange < Number.POSITIVE_INFINITY || maxResults.most < Number.POSITIVE_INFINITY || dropLogs > 0 || lag > 0 || prunedBelow > 0
}

/** The logs of a result that the node gives. */
function readLogs(result: unknown, { maxResults: { most, silently }, dropLogs }: LogLimits): Answer {
  if (!Array.isArray(result)) return { result }
  const logs = dropLogs === 0 ? result : result.filter((log) => chanceOf(log) >= dropLogs)
  // In the words of Infura.
  if (logs.length > most && !silently) return { error: { code: -32005, message: `query returned more than ${most} results` } }
  return { result: logs.slice(0, most) }
}

/** From 0 to 1, spread evenly, and the same for a log each time. */
function chanceOf({ transactionHash, logIndex }: { readonly transactionHash?: unknown; readonly logIndex?: unknown }): number {
  return createHash('sha256').update(`${transactionHash} ${logIndex}`).digest().readUInt32BE(0) / 2 ** 32
}

/** In the words of geth. */
const unknownBlock = refuse(-32000, 'unknown block')
