import { writevSync } from 'node:fs'

/** How much of the output has been written. */
export interface Kept {
  /** Complete lines. */
  readonly lines: number
  /** True when part of the next line follows them. */
  readonly isCut: boolean
}

/**
 * Collects lines, writes many with one system call, and counts those that the kernel has accepted.
 */
export interface LineWriter {
  /** Bytes collected so far. */
  readonly bytes: number
  readonly kept: Kept
  /** Adds a line, in pieces. */
  add(pieces: readonly Uint8Array[]): void
  /** Writes what was collected. Throws the system's error; nothing is written after that. */
  flush(): void
}

/**
 * For a file or device, not for a pipe: `flush` blocks until the kernel has accepted everything.
 */
export function createLineWriter(fd: number): LineWriter {
  let gathered: Uint8Array[] = []
  let lengths: number[] = []
  let bytes = 0
  let lines = 0
  // Bytes of the next line that the kernel has accepted.
  let begun = 0
  let failure: unknown
  return {
    get bytes() {
      return bytes
    },
    get kept() {
      return { lines, isCut: begun > 0 }
    },
    add(pieces) {
      let length = 0
      for (const piece of pieces) {
        gathered.push(piece)
        length += piece.length
      }
      lengths.push(length)
      bytes += length
    },
    // Synchronous: copying a megabyte into the page cache is cheaper than passing it to another
    // thread, which took a quarter more CPU.
    flush() {
      if (failure !== undefined) throw failure
      let pieces = gathered
      let left = bytes
      const ends = lengths
      gathered = []
      lengths = []
      bytes = 0
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
    },
  }
}
