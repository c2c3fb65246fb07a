import { chainIdOf, isFinal } from '../bulk/chain.ts'
import type { LogRange, LogsOptions } from '../bulk/get-logs.ts'
import type { AuditLevel } from '../bulk/logs/audit.ts'
import { BlockLogsFetcher } from '../bulk/logs/block-logs.ts'
import { LogFetcher } from '../bulk/logs/log-fetch.ts'
import { copiedLogs } from '../bulk/logs/log-lines.ts'
import type { LogSpan } from '../bulk/logs/log-span.ts'
import type { LogStreamOptions } from '../bulk/logs/log-stream.ts'
import { rangeLimitsOf } from '../bulk/logs/range-limits.ts'
import { firstRangeSize } from '../bulk/logs/range-size.ts'
import { resolveRange } from '../bulk/range.ts'
import type { Client } from '../client/client.ts'
import { OptionError } from '../errors.ts'
import { type AuditPlan, auditPlan, auditsOf } from './audits.ts'
import { Counts, countingClient } from './counting-client.ts'
import { type Estimate, mean, whole } from './estimate.ts'
import { RANGES_AHEAD, rangesFor } from './log-ranges.ts'
import { sampleWindows, windowEstimator } from './log-windows.ts'
import { type CheckedPlanOptions, onceOf, type Part, type Plan, type PlanOptions, planOf } from './plan.ts'
import { tablesFor } from './provider.ts'
import { ATTEMPTS, takeSample, until } from './sample.ts'

/** The options of `getLogs` for a range, and how to plan. */
export interface PlanLogsOptions extends LogsOptions, LogRange, PlanOptions {}

/** What the logs of a range will take, with the audit that was asked for. */
export interface LogsPlan extends Plan {
  readonly logs: Estimate
  /** Size of the logs as NDJSON, as `hexline logs` writes them, in bytes. */
  readonly diskBytes: Estimate
  /** Blocks in a range of `eth_getLogs`, on average. */
  readonly blocksPerCall: number
  /** The audit that the figures include. */
  readonly audit: AuditLevel
  /** What each audit takes in addition to the logs; `peer` only where there are two endpoints. */
  readonly audits: readonly AuditPlan[]
}

/** Plans a job whose options were checked. */
export async function runLogsPlan(client: Client, job: LogStreamOptions, { sample: size, provider }: CheckedPlanOptions): Promise<LogsPlan> {
  const { filter, signal, range: wanted } = job
  if (wanted === undefined) throw new OptionError('blockHash', 'a range, by from and to', 'the hash of a block')
  const asking = client.with(signal ? { signal } : {})
  const range = await resolveRange(asking, wanted)
  const [from, blocks] = [Number(range.from), Number(range.to - range.from) + 1]
  const asksFinal = job.audit === undefined && wanted.to !== 'finalized'
  const level = job.audit ?? (!asksFinal || (await isFinal(asking, range.to)) ? 'bloom' : 'none')
  const chainId = await chainIdOf(asking)

  const counts = new Counts()
  const counting = countingClient(client.with({ attempts: ATTEMPTS }), counts)
  const limits = rangeLimitsOf(client)
  const { windows, missing } = await until(signal, (stop) => {
    const reader = copiedLogs()
    const receipts = new BlockLogsFetcher(counting, reader.receipts)
    const ofBlock = async (number: number, each: AbortSignal) => (await receipts.fetch(number, each)).items
    const fetcher = new LogFetcher(counting, filter, reader, firstRangeSize(client, filter), limits, ofBlock)
    const fetch = async (span: LogSpan) => fetcher.read(await fetcher.fetch(span, { signal: stop, urgent: false, avoid: [] }), stop)
    return sampleWindows({ fetch, splits: () => fetcher.splits }, from, blocks, size)
  })
  const sample = await takeSample(client, from, blocks, size, { full: false, receipts: true, signal })

  const estimate = windowEstimator(windows)
  const logs = estimate(windows.map((each) => each.logs))
  const ranges = (each: keyof Estimate) =>
    filter.groups.length * rangesFor(from, blocks, windows, logs.value === 0 ? 1 : logs[each] / logs.value, firstRangeSize(client, filter))
  const logPart: Part = {
    calls: { eth_getLogs: { value: ranges('value'), low: ranges('low'), high: ranges('high') } },
    bytes: estimate(windows.map((each) => each.bytes)),
    counts,
  }
  const audits = auditsOf({ blocks, chainId, sample, windows, logs: logPart, mayMatch: (bloom) => filter.bloom.mayMatch(bloom) })
  // The end of the range is compared at the start and at the end, and may be asked for by a tag.
  const headers = 2 + (typeof wanted.to === 'bigint' ? 0 : 1) + (asksFinal ? 1 : 0)
  const once = [
    onceOf({ eth_getBlockByNumber: headers }, sample.headerCounts, headers * mean(sample.blocks.map(({ block }) => block.length))),
    ...(typeof wanted.to === 'bigint' ? [onceOf({ eth_blockNumber: 1 }, sample.headerCounts)] : []),
  ]
  const tables = tablesFor(client, provider)
  const audit = audits.find((each) => each.level === level)
  return {
    ...planOf({
      client,
      range,
      parts: [logPart, ...(audit?.parts ?? []), ...once],
      others: sample.counts,
      ahead: { items: RANGES_AHEAD, of: ranges('value') },
      tables,
      missing: sample.missing ?? missing,
    }),
    logs: whole(logs),
    diskBytes: whole(estimate(windows.map((each) => each.lineBytes))),
    blocksPerCall: Math.round((filter.groups.length * blocks) / ranges('value')),
    audit: level,
    audits: audits.filter((each) => each.level !== 'peer' || client.endpoints.length > 1).map((each) => auditPlan(each, tables)),
  }
}
