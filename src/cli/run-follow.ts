import { fstatSync } from 'node:fs'
import { createClient } from '../client/create-client.ts'
import type { ClientOptions } from '../client/options.ts'
import { OptionError } from '../errors.ts'
import { checkFollowOptions, type FollowOptions } from '../follow/follow.ts'
import { followLines } from '../follow/follow-lines.ts'
import type { FollowJob, FollowProgress } from '../follow/job.ts'
import { holdCursorFile, openCursorFile } from './cursor-file.ts'
import { FailureCount } from './failure-count.ts'
import { FollowMeter } from './follow-meter.ts'
import { endpointFrom, type NodeFlags } from './node.ts'
import { Interrupted } from './output/failure.ts'
import type { Io } from './output/io.ts'
import { lineForTerminal } from './output/json.ts'
import { type MessageFlags, type Messages, messagesFor } from './output/messages.ts'
import { standardOutput } from './output/standard-output.ts'
import { count } from './output/units.ts'
import { onSignals } from './signals.ts'

/** What to follow, and where to. */
export interface FollowRun {
  readonly flags: NodeFlags & MessageFlags
  readonly limits: ClientOptions
  /** Where there is a cursor, it comes before `from`. */
  readonly options: FollowOptions
  /** The file that says where to resume. */
  readonly cursor: string | undefined
}

/** Writes lines until it is ended. */
export async function runFollow(run: FollowRun, io: Io): Promise<void> {
  const messages = messagesFor(run.flags, io)
  // Before anything is read or written.
  checkFollowOptions(run.options)
  const endpoint = endpointFrom(run.flags, io.env, messages)
  const lock = run.cursor === undefined ? undefined : await holdCursorFile(run.cursor)
  try {
    await writeLines(run, endpoint, messages, io)
  } finally {
    await lock?.release()
  }
}

async function writeLines(run: FollowRun, endpoint: ReturnType<typeof endpointFrom>, messages: Messages, io: Io): Promise<void> {
  const { flags, limits, options, cursor: path } = run
  const stop = new AbortController()
  const file = path === undefined ? undefined : openCursorFile(path, fileOf(io))
  const failures = new FailureCount()
  const meter = new FollowMeter(io, messages, { ...flags, sharesTerminal: io.stdout.isTTY === true }, failures)
  const onProgress = (progress: FollowProgress) => {
    const { failure, blocks, rollbacks } = progress
    meter.update(progress)
    if (failure === undefined && blocks + rollbacks === 0) meter.tell(...waitingFor(job, progress))
  }
  const job = checkFollowOptions({ ...options, ...(file?.cursor && { from: file.cursor }), signal: stop.signal, onProgress })
  const client = createClient(endpoint, { ...limits, layers: (defaults) => [...defaults, failures.layer] })
  const release = onSignals((name, code) =>
    stop.abort(
      new Interrupted(
        `ended by ${name}; ${path === undefined ? 'with --cursor, hexline follow continues where it ended' : 'run the same command again to continue'}`,
        code,
      ),
    ),
  )
  const output = standardOutput(io.stdout, stop)
  meter.start()
  try {
    for await (const { line, cursor, rolledBack } of followLines(client, job)) {
      file?.prepare(cursor, line)
      meter.writing()
      await output.write([output.isTerminal ? lineForTerminal([line]) : line])
      await output.commit()
      meter.written()
      file?.commit()
      if (rolledBack > 0)
        meter.tell(`${count(rolledBack)} ${rolledBack === 1 ? 'block was' : 'blocks were'} rolled back`, { type: 'rollback', blocks: rolledBack })
    }
  } catch (error) {
    // The reader has closed our output, such as `head`.
    if (output.isClosedByReader) return
    // A cursor of another chain.
    throw file?.cursor && error instanceof OptionError && error.option === 'from' ? new OptionError('--cursor', error.expected, error.received) : error
  } finally {
    meter.stop()
    release()
    await client.close()
  }
}

/** Why the first block is not there yet, as a sentence and as JSON. */
function waitingFor({ from, confirmations }: FollowJob, { head }: FollowProgress): [text: string, json: Record<string, unknown>] {
  const block = typeof from === 'object' ? from.number + 1 : from
  const which =
    typeof confirmations === 'string'
      ? `${confirmations} block`
      : confirmations > 0
        ? `block with ${confirmations} ${confirmations === 1 ? 'confirmation' : 'confirmations'}`
        : 'block'
  const newest = head === undefined ? `there is no ${which} yet` : `the newest ${which} is ${head}`
  return [
    block === 'latest' ? `waiting for the first ${which}` : `waiting for block ${block}: ${newest}`,
    { type: 'waiting', block: String(block), head: head?.toString() ?? null },
  ]
}

/** The descriptor of standard output, where that is a file. */
function fileOf({ stdout }: Io): number | undefined {
  const { fd } = process.stdout
  return stdout === process.stdout && fstatSync(fd).isFile() ? fd : undefined
}
