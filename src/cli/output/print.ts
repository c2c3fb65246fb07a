import type { TextStream } from './io.ts'
import { lineForTerminal } from './json.ts'
import { openOutput } from './open-output.ts'

/** Writes to `stdout`, waiting where its reader is slow. Ends quietly when the reader has had enough, such as `head`. */
export async function print(stdout: TextStream, job: (write: (text: string | Uint8Array) => Promise<void>) => Promise<void>): Promise<void> {
  const stop = new AbortController()
  const output = await openOutput(undefined, false, stdout, stop)
  try {
    await job((text) => {
      stop.signal.throwIfAborted()
      return output.write([typeof text === 'string' ? Buffer.from(text) : text])
    })
    await output.commit()
  } catch (error) {
    if (output.isClosedByReader(error)) return
    await output.abandon(() => {})
    throw error
  }
}

/** Writes a text to standard output. */
export function printText(stdout: TextStream, text: string): Promise<void> {
  return print(stdout, (write) => write(text))
}

/** Writes a server's own JSON to standard output as it is, or harmless where that is a terminal. */
export function printJson(stdout: TextStream, json: Uint8Array): Promise<void> {
  const pieces = [json, Buffer.from('\n')]
  return print(stdout, (write) => write(stdout.isTTY ? lineForTerminal(pieces) : Buffer.concat(pieces)))
}
