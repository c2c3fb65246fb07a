import { CommanderError } from 'commander'
import { exitCodeOf } from './output/failure.ts'
import type { Io } from './output/io.ts'
import { messagesFor } from './output/messages.ts'
import { createProgram } from './program.ts'

/** Runs the command with `io.args` to its end; gives its exit code. */
export async function main(version: string, io: Io): Promise<number> {
  const messages = messagesFor({ json: io.args.includes('--json') }, io)
  try {
    await createProgram(version, messages, io).parseAsync(io.args, { from: 'user' })
    return 0
  } catch (error) {
    // Wrong usage, already told, ends with 2, so that scripts can tell it from a failed job.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    messages.fail(error)
    return exitCodeOf(error)
  }
}
