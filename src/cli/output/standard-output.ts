import { once } from 'node:events'
import { fstatSync } from 'node:fs'
import { cannotWrite } from './cannot-write.ts'
import type { TextStream } from './io.ts'
import { createLineWriter } from './line-writer.ts'
import type { Output } from './output.ts'

const STDOUT = 1
/** Bytes that are gathered at most before they are written. */
const CHUNK = 1024 * 1024
/** A reader may take this long, in ms, before the user is told. */
const PATIENCE = 500

/** Standard output. `stop` is aborted when it cannot be written. */
export function standardOutput(stdout: TextStream, stop: AbortController): Output {
  return stdout === process.stdout && isFile() ? file(stop) : stream(stdout, stop)
}

/** Neither a pipe nor a terminal. */
function isFile(): boolean {
  const about = fstatSync(STDOUT)
  return !about.isFIFO() && !about.isSocket() && !process.stdout.isTTY
}

/** A pipe, or a terminal. All that was handed over is taken as long as there is a reader. */
function stream(stdout: TextStream, stop: AbortController): Output {
  let lines = 0
  stdout.on('error', (error) => stop.abort(error))
  return {
    isTerminal: stdout.isTTY === true,
    isKept: true,
    async write(pieces) {
      lines++
      stdout.cork()
      for (const piece of pieces) stdout.write(piece)
      process.nextTick(() => stdout.uncork())
      if (!stdout.writableNeedDrain) return
      // When the job ends meanwhile, the line is still written to its end: it counts, and the next one is not begun.
      await once(stdout, 'drain', { signal: stop.signal }).catch((error) => {
        if (!stop.signal.aborted) throw error
      })
    },
    async commit() {
      await new Promise<void>((resolve, reject) => stdout.write('', (error) => (error ? reject(error) : resolve())))
    },
    async abandon(onWait) {
      const timer = setTimeout(onWait, PATIENCE)
      // Behind all lines: when this has been taken, they have. One callback for each of them would cost 6 % of the whole job.
      const error = await new Promise<unknown>((resolve) => stdout.write('', resolve))
      clearTimeout(timer)
      return error ? undefined : { lines, isCut: false }
    },
    isClosedByReader: (error) => isBrokenPipe(error) || isBrokenPipe((error as Error).cause) || isBrokenPipe(stop.signal.reason),
  }
}

/** A file or a device that the shell has opened. Written by ourselves: a stream of Node takes what was written in part for written. */
function file(stop: AbortController): Output {
  const writer = createLineWriter(STDOUT)
  let scheduled: NodeJS.Immediate | undefined
  const flush = () => {
    clearImmediate(scheduled)
    scheduled = undefined
    try {
      writer.flush()
    } catch (error) {
      throw cannotWrite('standard output', error, writer.kept)
    }
  }
  return {
    isTerminal: false,
    isKept: true,
    async write(pieces) {
      writer.add(pieces)
      if (writer.bytes >= CHUNK) flush()
      // All lines of this turn go together.
      else
        scheduled ??= setImmediate(() => {
          try {
            flush()
          } catch (error) {
            stop.abort(error)
          }
        })
    },
    async commit() {
      flush()
    },
    async abandon() {
      try {
        flush()
      } catch {
        // The failure that led here is told already, and the resume hint says what is kept.
      }
      return writer.kept
    },
    isClosedByReader: () => false,
  }
}

function isBrokenPipe(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'EPIPE'
}
