import { once } from 'node:events'
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { OptionError } from '../errors.ts'

/** Where lines go. */
export interface Output {
  /** Resolves when there is room for more. */
  write(line: Uint8Array): Promise<void>
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
export async function openOutput(path: string | undefined, stop: AbortController): Promise<Output> {
  return path === undefined ? stdout(stop) : await file(path)
}

async function file(path: string): Promise<Output> {
  const there = await stat(path).catch(() => undefined)
  if (there?.isFile() || there?.isDirectory()) throw new OptionError('--out', 'a file that does not exist yet', `${JSON.stringify(path)}, which does`)
  // Beside the file, so that renaming it moves nothing. A device or a pipe is written as it is.
  const aside = there === undefined ? `${path}.${process.pid}.partial` : path
  let handle: FileHandle
  try {
    handle = await open(aside, there === undefined ? 'wx' : 'w')
  } catch (error) {
    throw new OptionError(
      '--out',
      'a file that can be written',
      `${JSON.stringify(path)} in ${JSON.stringify(dirname(path))} (${(error as NodeJS.ErrnoException).code})`,
    )
  }
  let gathered: Uint8Array[] = []
  let bytes = 0
  const flush = async () => {
    const parts = gathered
    gathered = []
    bytes = 0
    if (parts.length > 0) await writeAll(handle, Buffer.concat(parts))
  }
  return {
    async write(line) {
      gathered.push(line)
      bytes += line.length
      if (bytes >= CHUNK) await flush()
    },
    async commit() {
      await flush()
      if (there === undefined) await handle.sync()
      await handle.close()
      if (there === undefined) await rename(aside, path)
    },
    async discard() {
      await handle.close().catch(() => {})
      if (there === undefined) await rm(aside, { force: true })
    },
    isClosedByReader: () => false,
  }
}

/** A write may take only a part, on a disk that is getting full. */
async function writeAll(handle: FileHandle, data: Buffer): Promise<void> {
  for (let done = 0; done < data.length; ) done += (await handle.write(data, done)).bytesWritten
}

function stdout(stop: AbortController): Output {
  const { stdout } = process
  const broken = (error: Error) => stop.abort(error)
  stdout.on('error', broken)
  return {
    async write(line) {
      if (!stdout.write(line)) await once(stdout, 'drain', { signal: stop.signal })
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
