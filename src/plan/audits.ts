import type { AuditLevel } from '../bulk/logs/audit.ts'
import { ESTIMATE_HEADERS } from '../bulk/logs/audit-estimate.ts'
import type { CostTable } from '../eth/costs.ts'
import { unusableBlooms } from '../eth/unusable-blooms.ts'
import { added, type Estimate, estimator, known, linear, mean, whole } from './estimate.ts'
import { type LogWindow, windowEstimator } from './log-windows.ts'
import { bodiesOf, onceOf, type Part, partOf } from './plan.ts'
import { type Units, unitsOf } from './provider.ts'
import { estimatorFor, type Header, type Sample } from './sample.ts'

/** What an audit takes in addition to the logs. */
export interface AuditPlan {
  readonly level: AuditLevel
  readonly calls: Estimate
  /** Size of the bodies of its replies over the wire, in bytes. */
  readonly wireBytes: Estimate
  /** Blocks whose receipts are fetched. */
  readonly receipts: Estimate
  readonly units: readonly Units[]
}

/** An audit, and the parts of the job that it is. */
export interface Audit {
  readonly level: AuditLevel
  readonly parts: readonly Part[]
  readonly receipts: Estimate
}

interface AuditOptions {
  readonly blocks: number
  /** Undefined if the node does not say. */
  readonly chainId: number | undefined
  readonly sample: Sample
  readonly windows: readonly LogWindow[]
  /** The calls for the logs, which an audit by a peer makes again. */
  readonly logs: Part
  /** Whether a block with this bloom may have logs that the filter selects. */
  readonly mayMatch: (bloom: string) => boolean
}

/** What each audit takes. */
export function auditsOf({ blocks, chainId, sample, windows, logs, mayMatch }: AuditOptions): Audit[] {
  const { counts, headerCounts } = sample
  const estimate = estimatorFor(blocks, sample)
  const once = onceOf({ eth_chainId: 1, eth_blockNumber: 1 }, headerCounts)
  const everything = partOf(estimate, sample.blocks, counts)
  const headers: Part = {
    calls: { eth_getBlockByNumber: known(blocks + Math.min(ESTIMATE_HEADERS, blocks)) },
    bytes: linear(estimate(sample.blocks.map(({ block }) => block.length)), 1 + Math.min(ESTIMATE_HEADERS, blocks) / blocks),
    counts: headerCounts,
  }
  const suspects = suspectsIn(blocks, sample.headers, windows, isSuspectOf(chainId, mayMatch))
  const share = (values: readonly number[]) => linear(suspects, mean(values))
  const ofSuspects: Part = {
    calls: Object.fromEntries(Object.keys(everything.calls).map((method) => [method, share(sample.blocks.map(({ calls }) => calls[method] ?? 0))])),
    bytes: share(sample.blocks.map(({ bytes }) => bytes)),
    counts,
  }
  const nothing = known(0)
  return [
    { level: 'none', parts: [], receipts: nothing },
    { level: 'bloom', parts: [headers, ofSuspects, once], receipts: suspects },
    { level: 'receipts', parts: [everything, once], receipts: known(blocks) },
    { level: 'peer', parts: [logs], receipts: nothing },
  ]
}

export function auditPlan({ level, parts, receipts }: Audit, tables: readonly CostTable[]): AuditPlan {
  const calls = added(parts.flatMap((part) => Object.values(part.calls)))
  const units = parts.map((part) => unitsOf(tables, part.calls))
  return {
    level,
    calls: whole(calls),
    wireBytes: whole(added(parts.map((part) => bodiesOf(part).wireBytes))),
    receipts: whole(receipts),
    units: unitsOf(tables, {}).map(({ provider }, i) => ({
      provider,
      billed: added(units.map((each) => (each[i] as Units).billed)),
      throttled: added(units.map((each) => (each[i] as Units).throttled)),
    })),
  }
}

/** Blocks whose bloom may match although they have no log. */
function suspectsIn(blocks: number, headers: readonly Header[], windows: readonly LogWindow[], isSuspect: (header: Header) => boolean): Estimate {
  const none = headers.map(() => [])
  const matching = estimator(blocks, none, none)(headers.map((header) => (isSuspect(header) ? 1 : 0)))
  const withLogs = windowEstimator(windows)(windows.map(({ blocksWithLogs }) => blocksWithLogs))
  const least = (value: number) => Math.max(0, value)
  return { value: least(matching.value - withLogs.value), low: least(matching.low - withLogs.high), high: least(matching.high - withLogs.low) }
}

function isSuspectOf(chainId: number | undefined, mayMatch: (bloom: string) => boolean): (header: Header) => boolean {
  const unusable = chainId === undefined ? undefined : unusableBlooms(chainId)
  return ({ number, logsBloom }) => logsBloom !== undefined && unusable?.(number) === undefined && mayMatch(logsBloom)
}
