/** hexline/bullmq: exports by several machines, through a queue of BullMQ on Redis. */
export { type Enqueued, type EnqueueOptions, enqueueExport, type QueuedExport } from './export-jobs.ts'
export { type ExportProgress, exportProgress, type RangeFailure, recheckDone, retryFailed } from './export-progress.ts'
export { type ExportWorker, type ExportWorkerOptions, exportWorker } from './export-worker.ts'
export { type SharedBudget, shareBudget } from './share-budget.ts'
