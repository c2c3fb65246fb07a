import { once } from 'node:events'
import { exitCodeOf } from '../../src/cli/output/failure.ts'
import { messagesFor } from '../../src/cli/output/messages.ts'
import { createProgram } from '../../src/cli/program.ts'

/** Ends a usage, and not the process. */
class Exit extends Error {
  readonly exitCode: number
  constructor(exitCode: number) {
    super('exit')
    this.exitCode = exitCode
  }
}

// Runs the lists of arguments that come as JSON on standard input, one after the other, as the command does; in front of what
// each of them says stands its number. At the end come the exit codes.
process.exit = (code) => {
  throw new Exit(Number(code))
}
let input = ''
process.stdin.setEncoding('utf8').on('data', (text) => {
  input += text
})
await once(process.stdin, 'end')
const codes: number[] = []
for (const [i, args] of (JSON.parse(input) as string[][]).entries()) {
  process.stdout.write(`\n#${i}\n`)
  process.stderr.write(`\n#${i}\n`)
  process.argv = [process.execPath, 'hexline', ...args]
  const messages = messagesFor({ json: args.includes('--json') }, process.stderr)
  try {
    await createProgram('1.0.0', messages).parseAsync()
    codes.push(0)
  } catch (error) {
    if (!(error instanceof Exit)) messages.fail(error)
    codes.push(error instanceof Exit ? error.exitCode : exitCodeOf(error))
  }
}
process.stdout.write(`\n#end\n${JSON.stringify(codes)}`)
process.stderr.write('\n#end\n')
