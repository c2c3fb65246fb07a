import { once } from 'node:events'
import { fstatSync } from 'node:fs'
import { cannotWrite, isBrokenPipe } from './cannot-write.ts'
import type { TextStream } from './io.ts'
import { createLineWriter } from './line-writer.ts'
import type { Output } from './output.ts'

const STDOUT = 1
/** How long a reader may block the output before the user is told, in ms. */
const PATIENCE = 500

/** Standard output. `stop` is aborted when it cannot be written. */
export function standardOutput(stdout: TextStream, stop: AbortController): Output {
  return stdout === process.stdout && isFile() ? file(stop) : stream(stdout, stop)
}

/** True for a file or device: neither a pipe nor a terminal. */
function isFile(): boolean {
  const about = fstatSync(STDOUT)
  return !about.isFIFO() && !about.isSocket() && !process.stdout.isTTY
}

/** A pipe or a terminal. Everything written is delivered as long as there is a reader. */
function stream(stdout: TextStream, stop: AbortController): Output {
  let lines = 0
  let isClosedByReader = false
  const onError = (error: Error) => {
    isClosedByReader ||= isBrokenPipe(error)
    stop.abort(error)
  }
  stdout.on('error', onError)
  return {
    isTerminal: stdout.isTTY === true,
    isKept: true,
    get lines() {
      return lines
    },
    async write(pieces) {
      lines++
      const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
      stdout.cork()
      // A line after which the stream still has room is copied: it may wait there when the next one
      // comes.
      if (length < stdout.writableHighWaterMark) stdout.write(Buffer.concat(pieces, length))
      else for (const piece of pieces) stdout.write(piece)
      process.nextTick(() => stdout.uncork())
      if (!stdout.writableNeedDrain) return
      // When the job ends in the meantime, this line is still written whole, and counts; the next
      // one is not begun.
      await once(stdout, 'drain', { signal: stop.signal }).catch((error) => {
        if (!stop.signal.aborted) throw error
      })
    },
    async commit() {
      // After a write that failed, this one says only that the stream is destroyed: the reason is
      // in `stop`.
      await new Promise<void>((resolve, reject) =>
        stdout.write('', (error) => {
          isClosedByReader ||= isBrokenPipe(error)
          if (error) reject(stop.signal.aborted ? stop.signal.reason : error)
          else resolve()
        }),
      )
    },
    async abandon(onWait) {
      const timer = setTimeout(onWait, PATIENCE)
      // An empty write after all lines: when it is done, they are. A callback for each line would
      // cost 6 % of the job.
      const error = await new Promise<unknown>((resolve) => stdout.write('', resolve))
      clearTimeout(timer)
      return error ? undefined : { lines, isCut: false }
    },
    get isClosedByReader() {
      return isClosedByReader
    },
  }
}

/**
 * A file or device that the shell has opened. Not through a stream of Node.js, which takes a
 * partial write for a whole one.
 */
function file(stop: AbortController): Output {
  const writer = createLineWriter(STDOUT)
  let scheduled: NodeJS.Immediate | undefined
  const writing = (act: () => void) => {
    try {
      act()
    } catch (error) {
      throw cannotWrite('standard output', error, writer.kept)
    }
  }
  const flush = () => {
    clearImmediate(scheduled)
    scheduled = undefined
    writing(writer.flush)
  }
  return {
    isTerminal: false,
    isKept: true,
    get lines() {
      return writer.kept.lines
    },
    async write(pieces) {
      writing(() => writer.add(pieces))
      // All short lines of this turn are written together.
      if (writer.hasCollected)
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
        // The error that ended the job is reported, and its hint says what is kept.
      }
      return writer.kept
    },
    isClosedByReader: false,
  }
}
