import { parentPort, workerData } from 'node:worker_threads'
import { createBytesVerifier } from './bytes-verifier.ts'
import type { VerifyJob, WorkerOptions } from './workers.ts'

/** Verifies the blocks that its parent sends. A wrong one is answered with nothing. */
const verifying = createBytesVerifier(workerData as WorkerOptions)

parentPort?.on('message', async ({ block, receipts }: VerifyJob) => {
  const verify = await verifying
  try {
    const { checks, skipped } = verify({ block: Buffer.from(block), receipts: receipts && Buffer.from(receipts) })
    parentPort?.postMessage({ checks, skipped })
  } catch {
    parentPort?.postMessage(undefined)
  }
})
