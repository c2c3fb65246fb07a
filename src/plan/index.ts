import { checkBlockOptions } from '../bulk/get-blocks.ts'
import { checkLogOptions } from '../bulk/get-logs.ts'
import * as check from '../check.ts'
import { type Client, checkClient } from '../client/client.ts'
import { checkExportOptions } from '../dataset/export/export-options.ts'
import { OptionError } from '../errors.ts'
import { show } from '../text.ts'
import { checkPlanOptions } from './plan.ts'
import type { BlocksPlan, PlanBlocksOptions } from './plan-blocks.ts'
import type { ExportPlan, PlanExportOptions } from './plan-export.ts'
import type { LogsPlan, PlanLogsOptions } from './plan-logs.ts'

export type { AuditPlan } from './audits.ts'
export type { Estimate } from './estimate.ts'
export type { TablePlan } from './files.ts'
export type { Duration } from './pace.ts'
export type { Plan, PlanOptions } from './plan.ts'
export type { BlocksPlan, PlanBlocksOptions } from './plan-blocks.ts'
export type { ExportPlan, PlanExportOptions } from './plan-export.ts'
export type { LogsPlan, PlanLogsOptions } from './plan-logs.ts'
export type { Provider, Units } from './provider.ts'
export type { ReceiptsPlan, ReceiptsWay } from './receipts-ways.ts'
export type { Missing } from './sample.ts'

/* The code of each is loaded when it is first called. */

/**
 * Estimates what `getBlocks` and `hexline blocks` take with these options, in the same way as
 * `planExport`.
 *
 * Rejects with `OptionError` for invalid options, before any request, and otherwise with the same
 * errors as `getBlocks`.
 */
export async function planBlocks(client: Client, options: PlanBlocksOptions): Promise<BlocksPlan> {
  checkClient(client)
  check.anObject('options', options)
  const { sample, provider, ...job } = options
  const checked = checkBlockOptions(job)
  const how = checkPlanOptions({ sample, provider })
  return (await import('./plan-blocks.ts')).runBlocksPlan(client, checked, how)
}

/**
 * Estimates what an export into a new folder takes: calls, bytes over the wire and on disk, time,
 * and units of providers. Takes the options of `exportDataset`, and writes nothing but temporary
 * files, which it removes.
 *
 *     const { wireBytes, diskBytes, duration } = await planExport(client, { from: 0n, to: 'finalized', tables: ['logs'] })
 *
 * It fetches 20 blocks as the export would, and 200 headers, spread evenly over the range, so
 * that growth along the chain is counted. All figures come with a range that holds in 95 of 100
 * cases; docs/plan.md says what they do not know.
 *
 * Rejects with `OptionError` for invalid options, before any request, and otherwise with the same
 * errors as `exportDataset`.
 */
export async function planExport(client: Client, options: PlanExportOptions): Promise<ExportPlan> {
  checkClient(client)
  check.anObject('options', options)
  if ('shard' in options && options.shard !== undefined) throw new OptionError('shard', 'no shard (a plan covers the whole range)', show(options.shard))
  const { sample, provider, dir = '.', ...job } = options
  const checked = checkExportOptions({ ...job, dir })
  const how = checkPlanOptions({ sample, provider })
  return (await import('./plan-export.ts')).runExportPlan(client, checked, how)
}

/**
 * Estimates what `getLogs` and `hexline logs` take with these options. It fetches the logs of 20
 * or more parts of the range, and 200 headers and 20 blocks with their receipts for the audits.
 *
 * Rejects with `OptionError` for invalid options, before any request, and otherwise with the same
 * errors as `getLogs`.
 */
export async function planLogs(client: Client, options: PlanLogsOptions): Promise<LogsPlan> {
  checkClient(client)
  check.anObject('options', options)
  const { sample, provider, ...job } = options
  const checked = checkLogOptions(job)
  const how = checkPlanOptions({ sample, provider })
  return (await import('./plan-logs.ts')).runLogsPlan(client, checked, how)
}
