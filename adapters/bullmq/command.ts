import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { isWrongDatabase } from './connection.ts'

/*
 * What the command uses of this adapter, of bullmq and of ioredis, in one module, which it loads
 * where Redis is used.
 */

export { enqueueExport } from './export-jobs.ts'
export { exportProgress, foreignFailures, ProgressReader, recheckDone, retryFailed } from './export-progress.ts'
export { exportWorker } from './export-worker.ts'

const PREFIX = 'hexline'

/** Redis counts as lost when it takes longer than this for an answer, or to connect, in ms. */
const LOST_MS = 10_000

/**
 * Connects. Rejects with the reason where that fails at first; later it connects again and again.
 */
export async function connectRedis(url: string): Promise<Redis> {
  let isOpen = false
  let reason: unknown
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: LOST_MS,
    socketTimeout: LOST_MS,
    maxRetriesPerRequest: null,
    retryStrategy: (times) => (isOpen ? Math.min(1000, 50 * times) : null),
  })
  redis.on('error', (error) => {
    // What follows is that the connection is closed.
    reason ??= error
    if (isWrongDatabase(error)) redis.disconnect(true)
  })
  try {
    await redis.connect()
  } catch (error) {
    redis.disconnect()
    throw reason ?? error
  }
  isOpen = true
  return redis
}

/** What is wrong with Redis is told to `onFailure`; without a listener, BullMQ prints it. */
export function openQueue(redis: Redis, name: string, onFailure: (error: Error) => void): Queue {
  const queue = new Queue(name, { connection: redis, prefix: PREFIX })
  queue.on('error', onFailure)
  return queue
}
