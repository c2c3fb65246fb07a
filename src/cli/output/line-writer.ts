import { writevSync } from 'node:fs'

/** What an output's reader has of it. */
export interface Kept {
  /** Whole lines. */
  readonly lines: number
  /** True when a part of the next line stands behind them. */
  readonly isCut: boolean
}

/** Gathers lines, writes many with one system call, and counts those that the kernel has taken. */
export interface LineWriter {
  /** Bytes that are gathered. */
  readonly bytes: number
  readonly kept: Kept
  /** Takes the pieces of a line. */
  add(pieces: readonly Uint8Array[]): void
  /** Writes what is gathered. Throws what the system says; after that, nothing more is written. */
  flush(): void
}

/** For a file or device, not for a pipe: it waits in place until the kernel has taken all. */
export function createLineWriter(fd: number): LineWriter {
  let gathered: Uint8Array[] = []
  let lengths: number[] = []
  let bytes = 0
  let lines = 0
  // Bytes of the next line that the kernel has taken.
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
    // In place: a megabyte into the page cache takes less than handing it to another thread, which cost a quarter more CPU.
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
          // Only a part was taken, as on a disk that is getting full: the rest goes on, or tells why it cannot.
          if (left > 0) pieces = [Buffer.concat(pieces).subarray(taken)]
        }
      } catch (error) {
        failure = error
        throw error
      }
    },
  }
}
