import { Command } from 'commander'
import type { ExportProgress, ForeignFailure, RangeFailure } from '../../adapters/bullmq/export-progress.ts'
import { type Io, widthOf } from './output/io.ts'
import { toJson } from './output/json.ts'
import { type MessageFlags, messagesFor } from './output/messages.ts'
import { printText } from './output/print.ts'
import { aligned, type Column, table } from './output/table.ts'
import { count, countOf, durationOf, sizeOf } from './output/units.ts'
import { openRedis, type RedisFlags, redisFlags } from './redis.ts'

interface Flags extends RedisFlags, MessageFlags {
  readonly retry: boolean
  readonly recheck: boolean
}

/** `hexline jobs`: what is in a queue, and why ranges failed. */
export function jobsCommand(io: Io): Command {
  const command = new Command('jobs')
    .summary('what workers have done, and what failed')
    .description('Shows the progress of the exports in a queue, and the ranges that were set aside because they kept failing, with the reason.')
  return redisFlags(command, 'where the queue is')
    .option('--retry', 'put the ranges that were set aside back into the queue', false)
    .option('--recheck', 'put finished ranges back: workers export again what is missing from their folders', false)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Examples:
  hexline jobs --redis redis://127.0.0.1:6379
  hexline jobs --redis redis://127.0.0.1:6379 --retry
  hexline jobs --redis redis://127.0.0.1:6379 --recheck`,
    )
    .action((flags: Flags) => showJobs(flags, io))
}

async function showJobs(flags: Flags, io: Io): Promise<void> {
  const messages = messagesFor(flags, io)
  const queueing = await openRedis(flags, io, messages)
  try {
    let fail = (_: Error) => {}
    const lost = new Promise<never>((_, reject) => {
      fail = reject
    })
    lost.catch(() => {})
    const queue = queueing.openQueue(({ message }) => fail(new Error(`Redis does not answer: ${message}`)))
    const progress = await Promise.race([queueing.exportProgress(queue), lost])
    const foreign = await Promise.race([queueing.foreignFailures(queue), lost])
    const retried = flags.retry ? await Promise.race([queueing.retryFailed(queue), lost]) : 0
    const rechecked = flags.recheck ? await Promise.race([queueing.recheckDone(queue), lost]) : 0
    await queue.close()
    const text =
      flags.json === true
        ? toJson({ ...progress, msLeft: progress.msLeft ?? null, foreign, retried, rechecked })
        : textOf(progress, foreign, widthOf(io.stdout))
    await printText(io.stdout, `${text}\n`)
    if (flags.retry) messages.tell(`${countOf(retried, 'range')} put back`, { type: 'retried', ranges: retried })
    if (flags.recheck) messages.tell(`${countOf(rechecked, 'range')} put back, to be checked`, { type: 'rechecked', ranges: rechecked })
  } finally {
    queueing.close()
  }
}

function textOf(progress: ExportProgress, foreign: readonly ForeignFailure[], width: number | undefined): string {
  const parts = [summaryOf(progress, width)]
  const { failures } = progress
  if (failures.length > 0) parts.push(table(failureColumns, failures, width))
  if (foreign.length > 0) parts.push(`failed jobs that are not hexline's\n${table(foreignColumns, foreign, width)}`)
  return parts.join('\n\n')
}

function summaryOf({ ranges, blocks, rows, bytes, blocksPerSecond, msLeft }: ExportProgress, width: number | undefined): string {
  // Without a worker, the rate is that of the past.
  const left = msLeft === undefined || ranges.active === 0 ? '' : `, ${durationOf(msLeft)} left`
  const lines = [
    [
      'ranges',
      `${count(ranges.done)} of ${count(ranges.total)} done, ${count(ranges.active)} active, ${count(ranges.waiting)} waiting, ${count(ranges.delayed)} to be retried, ${count(ranges.failed)} failed`,
    ],
    ['blocks', `${count(blocks.done)} of ${count(blocks.total)}, ${count(Math.round(blocksPerSecond))} blocks/s${left}`],
    ['files', `${countOf(rows, 'row')}, ${sizeOf(bytes)}`],
  ]
  return aligned(lines, [false, false], width)
}

const failureColumns: readonly Column<RangeFailure>[] = [
  { title: 'from', of: ({ from }) => from, right: true },
  { title: 'to', of: ({ to }) => to, right: true },
  { title: 'attempts', of: ({ attempts }) => attempts, right: true },
  { title: 'cause', of: ({ cause }) => cause },
]

const foreignColumns: readonly Column<ForeignFailure>[] = [
  { title: 'job', of: ({ id }) => id },
  { title: 'cause', of: ({ cause }) => cause },
]
