import { once } from 'node:events'
import { writevSync } from 'node:fs'
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { OptionError } from '../errors.ts'

/** Where lines go. */
export interface Output {
  /** Writes the pieces of a line. Resolves when there is room for more. */
  write(pieces: readonly Uint8Array[]): Promise<void>
  /** All lines are written: the file appears under its name. */
  commit(): Promise<void>
  /** Nothing is left behind. */
  discard(): Promise<void>
  /** True when the failure only means that nobody reads on. */
  isClosedByReader(error: unknown): boolean
}

/** Bytes that are gathered before they are written. */
const CHUNK = 1024 * 1024

/** Standard output, or a file that is written aside and renamed when it is whole. Throws `OptionError` when it cannot be. */
export async function openOutput(path: string | undefined, force: boolean, stop: AbortController): Promise<Output> {
  return path === undefined ? stdout(stop) : await file(path, force)
}

async function file(path: string, force: boolean): Promise<Output> {
  const name = JSON.stringify(path)
  const there = await stat(path).catch(() => undefined)
  if (there?.isDirectory()) throw new OptionError('--out', 'a file', `${name}, which is a folder`)
  if (there?.isFile() && !force) throw new OptionError('--out', 'a file that does not exist yet, or --force', `${name}, which exists`)
  // Beside the file, so that renaming it moves nothing. A device or a pipe is written as it is.
  const isAside = there === undefined || there.isFile()
  if (isAside) await removeAbandoned(path)
  const aside = isAside ? `${path}.${process.pid}.partial` : path
  let handle: FileHandle
  try {
    handle = await open(aside, isAside ? 'wx' : 'w')
  } catch (error) {
    throw new OptionError('--out', 'a file that can be written', `${name} (${reasonOf(error)})`)
  }
  const writing = async (act: () => Promise<void>) => {
    try {
      await act()
    } catch (error) {
      throw new Error(`${path} cannot be written: ${reasonOf(error)}; nothing of it is kept`)
    }
  }
  let gathered: Uint8Array[] = []
  let bytes = 0
  // Written in place: a megabyte into the page cache takes less than handing it to another thread, which cost a quarter more CPU.
  const flush = async () => {
    let pieces = gathered
    let left = bytes
    gathered = []
    bytes = 0
    for (;;) {
      const taken = writevSync(handle.fd, pieces)
      left -= taken
      if (left === 0) return
      // Only a part was taken, as on a disk that is getting full: the rest goes on, or tells why it cannot.
      pieces = [Buffer.concat(pieces).subarray(taken)]
    }
  }
  return {
    async write(pieces) {
      for (const piece of pieces) {
        gathered.push(piece)
        bytes += piece.length
      }
      if (bytes >= CHUNK) await writing(flush)
    },
    commit: () =>
      writing(async () => {
        if (bytes > 0) await flush()
        if (isAside) await handle.sync()
        await handle.close()
        if (isAside) await rename(aside, path)
      }),
    async discard() {
      await handle.close().catch(() => {})
      if (isAside) await rm(aside, { force: true })
    },
    isClosedByReader: () => false,
  }
}

/** What processes that were killed have left of files of this name. */
async function removeAbandoned(path: string): Promise<void> {
  const names = await readdir(dirname(path)).catch(() => [])
  const prefix = `${basename(path)}.`
  for (const name of names) {
    const pid = name.startsWith(prefix) ? /^(\d+)\.partial$/.exec(name.slice(prefix.length))?.[1] : undefined
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(dirname(path), name), { force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'no space is left on the disk',
  EDQUOT: 'no space is left in the quota',
  EFBIG: 'it would be larger than allowed',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the disk is read-only',
  ENOENT: 'no such folder',
  ENOTDIR: 'no such folder',
}

function reasonOf(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return reasons[code] ?? message
}

function stdout(stop: AbortController): Output {
  const { stdout } = process
  stdout.on('error', (error) => stop.abort(error))
  return {
    async write(pieces) {
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
    async discard() {},
    isClosedByReader: (error) => isBrokenPipe(error) || isBrokenPipe((error as Error).cause) || isBrokenPipe(stop.signal.reason),
  }
}

function isBrokenPipe(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'EPIPE'
}
