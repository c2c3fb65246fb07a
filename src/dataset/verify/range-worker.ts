import { parentPort, workerData } from 'node:worker_threads'
import { loadSenderOf } from '../../verify/sender.ts'
import { CheckCounts } from './check-counts.ts'
import type { RangeNews, RangeTask, RangeWorkerOptions } from './range-workers.ts'
import { verifyRange } from './verify-range.ts'

/*
 * Verifies the ranges that its parent sends, one at a time, and reports its progress. A range with
 * a fault is left to the parent, which verifies it itself.
 */

const { dir, header, senders } = workerData as RangeWorkerOptions

/** Blocks that are reported at once. */
const AT_ONCE = 32

const tell = (news: RangeNews): void => parentPort?.postMessage(news)
const loading = senders ? loadSenderOf() : Promise.resolve(undefined)
let goOn = () => {}

parentPort?.on('message', (task: RangeTask | 'go on') => {
  if (task === 'go on') goOn()
  else void verify(task)
})

async function verify({ range, chosen }: RangeTask): Promise<void> {
  const counts = new CheckCounts()
  let blocks = 0
  const tellBlocks = () => {
    if (blocks > 0) tell({ blocks })
    blocks = 0
  }
  try {
    const onBlock = (_: bigint, block: object | undefined): Promise<void> | undefined => {
      if (block === undefined) {
        if (++blocks >= AT_ONCE) tellBlocks()
        return undefined
      }
      tellBlocks()
      // One at a time, so that few are in memory.
      return new Promise((resolve) => {
        goOn = resolve
        tell({ chosen: block } as RangeNews)
      })
    }
    await verifyRange({ dir, header, senderOf: await loading, signal: undefined, chosen: new Set(chosen), onBlock }, range, counts)
    tellBlocks()
    const { checks, skipped, uncovered } = counts
    tell({ counts: { checks, skipped, uncovered } })
  } catch {
    tellBlocks()
    tell({ failed: true })
  }
}
