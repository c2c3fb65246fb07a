import type { Progress } from '../../bulk/blocks/range-stream.ts'
import type { Client } from '../../client/client.ts'
import type { BlockRange } from '../aligned-range.ts'
import { addRange, NOTHING_WRITTEN, type Written } from '../folder/written.ts'
import { rangesOf, type Shard } from '../shard.ts'
import type { ExportJob } from './export-options.ts'
import { openParts } from './open-parts.ts'

/**
 * Ranges that are exported at a time: while one ends, the next one keeps the node busy. They share
 * `maxBytes`.
 */
const AT_ONCE = 2

/** What the export of a shard has done: the blocks of all shards, and what this run added. */
export interface ShardSummary extends Written {
  readonly from: number
  readonly to: number
}

/** Exports all ranges of a shard that the folder does not have yet. */
export async function exportShard(client: Client, job: ExportJob, shard: Shard): Promise<ShardSummary> {
  const { signal, onProgress } = job.stream
  const stop = new AbortController()
  const onAbort = () => stop.abort(signal?.reason)
  const parts = await openParts(client, job, shard.of)
  const { header, to } = parts
  try {
    signal?.addEventListener('abort', onAbort)
    signal?.throwIfAborted()
    const missing: BlockRange[] = []
    for (const range of rangesOf({ from: header.from, to }, header.blocksPerFile, shard)) {
      const last = await parts.lastDone(range)
      if (last < range.to) missing.push({ from: last + 1, to: range.to })
    }
    const progress = onProgress && progressOf(missing, onProgress)
    const maxBytes = job.stream.bounds.maxBytes / AT_ONCE
    let added = NOTHING_WRITTEN
    let next = 0
    const lane = async () => {
      for (let range = missing[next++]; range !== undefined; range = missing[next++]) {
        const { added: part } = await parts.exportRange(range, { signal: stop.signal, onProgress: progress?.(), maxBytes })
        if (part !== null) added = addRange(added, part)
      }
    }
    const lanes = Array.from({ length: AT_ONCE }, () =>
      lane().catch((error: unknown) => {
        stop.abort(error)
        throw error
      }),
    )
    // The others end, too, before the folder is left.
    for (const { reason } of (await Promise.allSettled(lanes)).filter((result) => result.status === 'rejected')) throw stop.signal.reason ?? reason
    return { from: header.from, to, ...added }
  } finally {
    signal?.removeEventListener('abort', onAbort)
    await parts.close()
  }
}

/** Adds up the progress of ranges that are exported at a time. Each needs its own listener. */
function progressOf(missing: readonly BlockRange[], onProgress: (progress: Progress) => void): () => (progress: Progress) => void {
  const total = missing.reduce((sum, { from, to }) => sum + to - from + 1, 0)
  let done = 0
  let bytes = 0
  return () => {
    let before = 0
    return (progress) => {
      bytes += progress.bytes - before
      before = progress.bytes
      onProgress({ number: progress.number, done: ++done, total, bytes })
    }
  }
}
