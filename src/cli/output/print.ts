import type { TextStream } from './io.ts'
import { lineForTerminal } from './json.ts'
import { openOutput } from './open-output.ts'

/**
 * Writes to `stdout`, waiting for a slow reader. Resolves to what `job` returns, once all has been
 * written. Ends quietly, with undefined, when the reader closes it, such as `head`.
 */
export async function print<T>(stdout: TextStream, job: (write: (text: string | Uint8Array) => Promise<void>) => Promise<T>): Promise<T | undefined> {
  const stop = new AbortController()
  const output = await openOutput(undefined, false, stdout, stop)
  try {
    const result = await job((text) => {
      stop.signal.throwIfAborted()
      return output.write([typeof text === 'string' ? Buffer.from(text) : text])
    })
    await output.commit()
    return result
  } catch (error) {
    if (output.isClosedByReader) return undefined
    await output.abandon(() => {})
    throw error
  }
}

/** Writes a text to standard output. */
export function printText(stdout: TextStream, text: string): Promise<void> {
  return print(stdout, (write) => write(text))
}

/**
 * Writes a server's JSON to standard output: unchanged, or on a terminal with control characters
 * escaped.
 */
export function printJson(stdout: TextStream, json: Uint8Array): Promise<void> {
  const pieces = [json, Buffer.from('\n')]
  return print(stdout, (write) => write(stdout.isTTY ? lineForTerminal(pieces) : Buffer.concat(pieces)))
}
