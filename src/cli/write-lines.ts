import type { Client } from '../client/client.ts'
import type { Meter } from './meter.ts'
import { Interrupted } from './output/failure.ts'
import type { Io } from './output/io.ts'
import type { Kept } from './output/line-writer.ts'
import type { Messages } from './output/messages.ts'
import { openOutput, outFile } from './output/open-output.ts'
import type { Output } from './output/output.ts'
import { type RangeFlags, startFlag } from './range.ts'
import { onSignals } from './signals.ts'

export interface OutFlags {
  readonly out?: string
  readonly force: boolean
}

/** A command that writes lines. */
export interface LineJob {
  readonly client: Client
  /** Aborted by a signal of the process. */
  readonly stop: AbortController
  readonly messages: Messages
  readonly meter: Pick<Meter, 'start' | 'finish' | 'clear'>
  write(output: Output): Promise<void>
  /** The error that says where to start again after the lines that were kept. */
  unfinished(error: unknown, kept: Kept): unknown
}

/** Whether the lines of a command share the terminal with its progress. */
export function sharesTerminal(flags: OutFlags, io: Io): boolean {
  return outFile(flags.out) === undefined && io.stdout.isTTY === true
}

/**
 * Writes the lines of a job to a file or to stdout, shows its progress, and closes its client.
 * Rejects if it fails or is ended by a signal. Returns false if the reader of a pipe, such as
 * `head`, has closed it.
 */
export async function writeLines(flags: OutFlags & RangeFlags, io: Io, job: LineJob): Promise<boolean> {
  const { client, stop, messages, meter } = job
  const out = outFile(flags.out)
  let output: Output | undefined
  const release = onSignals((name, code) => {
    const isLost = out !== undefined && !output?.isKept
    stop.abort(new Interrupted(`ended by ${name}${isLost ? `; ${out} was not written: start again with ${startFlag(flags)}` : ''}`, code))
  })
  try {
    output = await openOutput(out, flags.force, io.stdout, stop)
    meter.start()
    try {
      await job.write(output)
      await output.commit()
    } catch (error) {
      if (output.isClosedByReader) return false
      meter.clear()
      const kept = await output.abandon(() => messages.tell('waiting for the reader of the output', { type: 'waiting-for-reader' }))
      const isWorthSaying = kept !== undefined && (kept.lines > 0 || kept.isCut || error instanceof Interrupted)
      throw isWorthSaying ? job.unfinished(error, kept) : error
    }
    meter.finish()
    return true
  } finally {
    meter.clear()
    release()
    await client.close()
  }
}
