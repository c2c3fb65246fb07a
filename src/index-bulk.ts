/**
 * hexline/bulk: ranges of blocks and of logs, fast and in order, datasets of them on disk, and what
 * each will take.
 */

export type { TraceForm, TracesOf } from './bulk/blocks/block-traces.ts'
export type { BlockField, RangeBlock } from './bulk/blocks/fields.ts'
export type { Progress } from './bulk/blocks/range-stream.ts'
export type { VerifyReport } from './bulk/blocks/verifying.ts'
export { type GetBlocksOptions, getBlocks } from './bulk/get-blocks.ts'
export { type GetLogsOptions, getLogs, type LogPage, type Logs } from './bulk/get-logs.ts'
export type { AuditLevel, AuditReport } from './bulk/logs/audit.ts'
export type { AuditEstimate } from './bulk/logs/audit-estimate.ts'
export type { LogProgress } from './bulk/logs/log-stream.ts'
export type { RangeEnd } from './bulk/range.ts'
export {
  type DatasetFormat,
  type DatasetReport,
  type DatasetTable,
  type ExportDatasetOptions,
  type ExportSummary,
  exportDataset,
  type MergeDatasetOptions,
  type MergeProgress,
  type MergeSummary,
  mergeDataset,
  type Shard,
  type VerifyDatasetOptions,
  type VerifyLevel,
  verifyDataset,
} from './dataset/index.ts'
export type { MinedLog } from './eth/objects.ts'
export type { FollowCursor } from './follow/cursor.ts'
export { type FollowBlock, type FollowItem, type FollowLogs, type FollowOptions, type FollowRollback, follow } from './follow/follow.ts'
export type { FollowProgress } from './follow/job.ts'
export {
  type AuditPlan,
  type BlocksPlan,
  type Duration,
  type Estimate,
  type ExportPlan,
  type LogsPlan,
  type Missing,
  type Plan,
  type PlanBlocksOptions,
  type PlanExportOptions,
  type PlanLogsOptions,
  type PlanOptions,
  type Provider,
  planBlocks,
  planExport,
  planLogs,
  type ReceiptsPlan,
  type ReceiptsWay,
  type TablePlan,
  type Units,
} from './plan/index.ts'
export type { BlockLevel, SkippedCheck, Verification, VerifyCheck } from './verify/verification.ts'
export { type VerifyBlockOptions, verifyBlock } from './verify/verify-block.ts'
