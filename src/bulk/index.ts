/** hexline/bulk: ranges of blocks and of logs, fast and in order. */

export type { BlockLevel, SkippedCheck, Verification, VerifyCheck } from '../verify/verification.ts'
export { type VerifyBlockOptions, verifyBlock } from '../verify/verify-block.ts'
export type { AuditEstimate, AuditLevel, AuditReport } from './audit.ts'
export type { BlockField, RangeBlock } from './fields.ts'
export { type GetBlocksOptions, getBlocks } from './get-blocks.ts'
export { type GetLogsOptions, getLogs, type LogPage, type Logs, type MinedLog } from './get-logs.ts'
export type { LogProgress } from './log-stream.ts'
export type { RangeEnd } from './range.ts'
export type { Progress } from './range-stream.ts'
export type { VerifyReport } from './verifying.ts'
