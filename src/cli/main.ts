import { CommanderError } from 'commander'
import { exitCodeOf } from './output/failure.ts'
import type { Io } from './output/io.ts'
import { messagesFor } from './output/messages.ts'
import { createProgram } from './program.ts'

/** Runs the command with `io.args`, and resolves with its exit code. */
export async function main(version: string, io: Io): Promise<number> {
  const messages = messagesFor({ json: io.args.includes('--json') }, io)
  // Where nobody reads the messages, the exit code still tells how it ended.
  io.stderr.on('error', () => {})
  try {
    await createProgram(version, messages, io).parseAsync(io.args, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has reported this usage error. 2 tells scripts that it is not a failed job.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    messages.fail(error)
    return exitCodeOf(error)
  }
}
