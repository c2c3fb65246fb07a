import { setTimeout as sleep } from 'node:timers/promises'
import type { ExportProgress } from '../../adapters/bullmq/export-progress.ts'
import * as check from '../check.ts'
import { createClient } from '../client/create-client.ts'
import { checkExportOptions, type ExportDatasetOptions, resolveJob } from '../dataset/export/export-options.ts'
import { checkBegun } from '../dataset/export/open-parts.ts'
import { OptionError } from '../errors.ts'
import { shellWord } from '../text.ts'
import { type LimitFlags, limitsFrom } from './blocks.ts'
import { FailureCount } from './failure-count.ts'
import { Meter } from './meter.ts'
import { endpointFrom, numberFrom } from './node.ts'
import { Interrupted } from './output/failure.ts'
import type { Io } from './output/io.ts'
import { type MessageFlags, type Messages, messagesFor } from './output/messages.ts'
import { count, countOf } from './output/units.ts'
import { openRedis, type RedisFlags } from './redis.ts'
import { onSignals } from './signals.ts'

interface Flags extends LimitFlags, MessageFlags, RedisFlags {
  readonly to: string
  readonly out: string
  readonly attempts?: string
  readonly shard?: string
}

/** How often Redis is asked for the progress, in ms. */
const LOOK_MS = 500

/**
 * `hexline export --redis`: adds the ranges to a queue, and shows how far all workers together are
 * with them, until nothing is left to do.
 */
export async function exportByWorkers(flags: Flags, options: Omit<ExportDatasetOptions, 'dir'>, io: Io): Promise<void> {
  const messages = messagesFor(flags, io)
  if (flags.to === 'follow') throw new OptionError('--to', 'a block number, latest, safe or finalized with --redis', 'follow')
  if (flags.shard !== undefined) throw new OptionError('--shard', 'either --shard or --redis', 'both')
  const job = checkExportOptions({ ...options, dir: flags.out })
  const attempts = flags.attempts === undefined ? {} : { attempts: check.attempts('--attempts', numberFrom('--attempts', flags.attempts)) }
  const client = createClient(endpointFrom(flags, io.env, messages), limitsFrom(flags))
  const stop = new AbortController()
  const release = onSignals((name, code) =>
    stop.abort(new Interrupted(`ended by ${name}; the workers continue, and the same command shows their progress again`, code)),
  )
  const meter = new Meter(io, messages, flags, new FailureCount(), detailOf)
  try {
    const queueing = await openRedis(flags, io, messages)
    try {
      // The node is asked only for its chain and the end of the range.
      const { header, to } = await resolveJob(client, { ...job, stream: { ...job.stream, signal: stop.signal } })
      // Each worker would refuse each range, again and again.
      await checkBegun(job.dir, header)
      let isLost = false
      const queue = queueing.openQueue(({ message }) => {
        if (!isLost) messages.warn(`Redis does not answer, trying again: ${message}`)
        isLost = true
      })
      // A question waits until Redis is back: the user does not have to.
      const stopped = new Promise<never>((_, reject) => stop.signal.addEventListener('abort', () => reject(stop.signal.reason)))
      stopped.catch(() => {})
      const enqueue = () => Promise.race([queueing.enqueueExport(queue, { ...options, dir: job.dir, to, chainId: header.chainId }, attempts), stopped])
      const { id, ranges, added } = await enqueue()
      messages.tell(`${countOf(ranges, 'range')} in the queue, ${count(added)} of them new; hexline worker exports them`, {
        type: 'enqueued',
        ranges,
        added,
      })
      const { first, last } = await watch({
        ranges,
        enqueue,
        openReader: () => {
          const reader = new queueing.ProgressReader(queue, id)
          return () => Promise.race([reader.read(), stopped])
        },
        answered: () => {
          isLost = false
        },
        meter,
        messages,
        signal: stop.signal,
      })
      // Where nothing was left to do, there is no rate to sum up.
      if (last.blocks.done > first.blocks.done) meter.finish()
      await queue.close()
      // Their files may have been deleted since: the queue does not know.
      tellEnd(messages, last, added === 0 && last.blocks.done === first.blocks.done, flags.out)
    } finally {
      queueing.close()
    }
  } finally {
    meter.clear()
    release()
    await client.close()
  }
}

/** An export whose ranges are in the queue. */
interface Watched {
  /** How many there are. */
  readonly ranges: number
  /** Adds those that the queue has not, or has lost. */
  readonly enqueue: () => Promise<unknown>
  /** Gives a function that reads the progress of all ranges that are in the queue now. */
  readonly openReader: () => () => Promise<ExportProgress>
  /** Redis has answered. */
  readonly answered: () => void
  readonly meter: Meter<Figures>
  readonly messages: Messages
  readonly signal: AbortSignal
}

/** Shows the progress until nothing is left to do. Resolves to the first and the last one. */
async function watch(watched: Watched): Promise<{ readonly first: ExportProgress; readonly last: ExportProgress }> {
  const { ranges, enqueue, openReader, answered, meter, messages, signal } = watched
  let read = openReader()
  let first = await read()
  let progress = first
  let known = ranges
  meter.start()
  for (;;) {
    const { total, done, failed } = progress.ranges
    const isWhole = total >= known
    if (isWhole) {
      meter.update(figuresOf(progress, first))
      if (done + failed === total) return { first, last: progress }
    }
    await sleep(LOOK_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
    if (isWhole) {
      known = total
      progress = await read()
    } else {
      // Those that were exported are in the folder, where a worker finds them.
      await enqueue()
      meter.start()
      messages.warn(`Redis has lost ${countOf(known - total, 'range')} of this export: they have been queued again`)
      read = openReader()
      first = progress = await read()
      known = ranges
    }
    answered()
  }
}

/** Says that all ranges are done, and what to do next. Throws if some have failed. */
function tellEnd(messages: Messages, { ranges, rows, bytes }: ExportProgress, wasDone: boolean, out: string): void {
  const { done, failed } = ranges
  if (failed > 0)
    throw new Error(
      `${countOf(failed, 'range')} failed and ${failed === 1 ? 'was' : 'were'} set aside: hexline jobs shows why, and puts them back with --retry`,
    )
  const merging = `hexline merge ${shellWord(out)} makes a dataset of them`
  const sentence = wasDone
    ? `all ranges were done before: ${merging}; hexline jobs --recheck has workers export what the folder lacks`
    : `all ranges are done: ${merging}`
  messages.tell(sentence, { type: 'exported', ranges: done, rows, bytes })
}

interface Figures {
  readonly done: number
  readonly total: number
  readonly number: bigint
  readonly bytes: number
  /** Blocks that were done before. */
  readonly before: number
  readonly ranges: ExportProgress['ranges']
}

/** `first` is what was done when this command began to look: it says nothing of the rate. */
function figuresOf({ blocks, bytes, ranges }: ExportProgress, first: ExportProgress): Figures {
  const { done, total } = blocks
  return { done, total, number: BigInt(done), bytes: bytes - first.bytes, before: first.blocks.done, ranges }
}

function detailOf({ ranges: { active, failed, delayed } }: Figures): { readonly text: string; readonly json: object } {
  const parts = [
    ...(active === 0 ? [] : [`${countOf(active, 'range')} at a time`]),
    ...(failed === 0 ? [] : [`${count(failed)} failed`]),
    ...(delayed === 0 ? [] : [`${count(delayed)} to be retried`]),
  ]
  return { text: parts.join(', '), json: { active, failed, delayed } }
}
