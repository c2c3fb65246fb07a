import { CommanderError } from 'commander'
import { exitCodeOf } from './output/failure.ts'
import type { Io } from './output/io.ts'
import { type Messages, messagesFor } from './output/messages.ts'
import { printText } from './output/print.ts'
import { createProgram } from './program.ts'

/** Runs the command with `io.args`, and resolves with its exit code. */
export async function main(version: string, io: Io): Promise<number> {
  const messages = messagesFor({ json: io.args.includes('--json') }, io)
  // Where nobody reads the messages, the exit code still tells how it ended.
  io.stderr.on('error', () => {})
  let asked = ''
  try {
    const args = [...io.args]
    const program = await createProgram(version, messages, { ...io, args }, (text) => {
      asked += text
    })
    // `help plan export` as `plan help export`: commander's own help looks at one name only.
    const [first, group, name] = args
    const isGroup = program.commands.some((command) => command.name() === group && command.commands.length > 0)
    if (first === 'help' && name !== undefined && isGroup) args.splice(0, 2, group as string, first)
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has reported this usage error. 2 tells scripts that it is not a failed job.
    if (error instanceof CommanderError && error.exitCode !== 0) return 2
    return error instanceof CommanderError ? await printAsked(asked, messages, io) : failed(error, messages)
  }
}

/** Prints the help or the version. Returns the exit code. */
async function printAsked(text: string, messages: Messages, { stdout }: Io): Promise<number> {
  try {
    await printText(stdout, text)
    return 0
  } catch (error) {
    return failed(error, messages)
  }
}

function failed(error: unknown, messages: Messages): number {
  messages.fail(error)
  return exitCodeOf(error)
}
