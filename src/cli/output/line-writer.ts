import { writevSync } from 'node:fs'

/** How much of the output has been written. */
export interface Kept {
  /** Complete lines. */
  readonly lines: number
  /** True when part of the next line follows them. */
  readonly isCut: boolean
}

/**
 * Writes lines, several short ones with one system call, and counts those that the kernel has
 * accepted.
 */
export interface LineWriter {
  /** False when nothing is left for `flush` to write. */
  readonly hasCollected: boolean
  readonly kept: Kept
  /**
   * Adds a line, in pieces, which are not read after that. Throws the system's error; nothing is
   * written after that.
   */
  add(pieces: readonly Uint8Array[]): void
  /** Writes what was collected. Throws as `add` does. */
  flush(): void
}

/** Size of the buffer that collects short lines, in bytes. */
const ROOM = 256 * 1024
/** Copying a line of this length, in bytes, costs more than a system call for it. */
const LONG = 32 * 1024

/**
 * For a file or device, not for a pipe: writing blocks until the kernel has accepted everything.
 */
export function createLineWriter(fd: number): LineWriter {
  const room = Buffer.allocUnsafeSlow(ROOM)
  let used = 0
  // Of the lines collected, and of the long one that is written with them.
  let lengths: number[] = []
  let lines = 0
  // Bytes of the next line that the kernel has accepted.
  let begun = 0
  let failure: unknown

  // Synchronous: copying a megabyte into the page cache is cheaper than passing it to another
  // thread, which took a quarter more CPU.
  const write = (long: readonly Uint8Array[]) => {
    if (failure !== undefined) throw failure
    const ends = lengths
    let pieces: readonly Uint8Array[] = used === 0 ? long : [room.subarray(0, used), ...long]
    let left = ends.reduce((sum, length) => sum + length, 0)
    lengths = []
    used = 0
    let next = 0
    try {
      while (left > 0) {
        const taken = writevSync(fd, pieces)
        left -= taken
        begun += taken
        for (let length = ends[next]; length !== undefined && begun >= length; length = ends[++next]) {
          begun -= length
          lines++
        }
        // A partial write, as on a disk that is filling up. Writing the rest succeeds, or fails
        // with the reason.
        if (left > 0) pieces = [Buffer.concat(pieces).subarray(taken)]
      }
    } catch (error) {
      failure = error
      throw error
    }
  }

  return {
    get hasCollected() {
      return used > 0
    },
    get kept() {
      return { lines, isCut: begun > 0 }
    },
    add(pieces) {
      let length = 0
      for (const piece of pieces) length += piece.length
      if (length < LONG) {
        if (used + length > ROOM) write([])
        for (const piece of pieces) {
          room.set(piece, used)
          used += piece.length
        }
        lengths.push(length)
      } else {
        lengths.push(length)
        write(pieces)
      }
    },
    flush: () => write([]),
  }
}
