import fs, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

/**
 * What a disk does from a certain change on: `killed`: no change is made any more, as if the
 * process had been killed there, in the middle of what it was writing; `full`: there is no room
 * for more bytes or names; `once`: this change alone fails.
 */
export type DiskFault = 'killed' | 'full' | 'once'

export interface DiskRun {
  /** Changes that were asked for below the folder. */
  readonly changes: number
  /** The function that has failed first; undefined if none has. */
  readonly failed: string | undefined
  readonly error: unknown
}

const NAMED = ['mkdir', 'rm', 'rmdir', 'rename', 'link', 'writeFile', 'open'] as const
/** These need no room. */
const FREEING = ['rm', 'rmdir', 'rename']

/**
 * Runs `run` on a disk whose changes below `dir` fail from number `after` on, counted from 1. It
 * replaces functions of the whole process, so that one runs at a time. Reading never fails.
 * `isCounted` tells the paths whose changes count.
 */
export async function onFailingDisk(
  dir: string,
  fault: DiskFault,
  after: number,
  run: () => Promise<unknown>,
  isCounted: (path: string) => boolean = () => true,
): Promise<DiskRun> {
  let changes = 0
  let failed: string | undefined
  const fails = (name: string, path: string): boolean => {
    if (isCounted(path)) changes++
    else if (changes < after) return false
    const isFailing = fault === 'once' ? changes === after && failed === undefined : changes >= after && (fault === 'killed' || !FREEING.includes(name))
    if (isFailing) failed ??= name
    return isFailing
  }
  const failure = (name: string, path: string) => {
    const code = fault === 'full' ? 'ENOSPC' : 'EIO'
    return Object.assign(new Error(`${code}: ${name} '${path}'`), { code, syscall: name, path })
  }
  const isWithin = (path: unknown) => typeof path === 'string' && (path === dir || path.startsWith(`${dir}/`))

  const own = Object.fromEntries(NAMED.map((name) => [name, fs[name]])) as Record<string, (...args: unknown[]) => Promise<unknown>>
  const patched = fs as unknown as Record<string, unknown>
  for (const name of NAMED) {
    patched[name] = async (...args: unknown[]) => {
      const original = own[name] as (...args: unknown[]) => Promise<unknown>
      const changing = args.find(isWithin) as string | undefined
      if (changing === undefined || (name === 'open' && args[1] === 'r')) return await original(...args)
      if (fails(name, changing)) throw failure(name, changing)
      const made = await original(...args)
      if (name === 'open') failOn(made as FileHandle, changing)
      return made
    }
  }
  syncBuiltinESMExports()
  try {
    await run()
    return { changes, failed, error: undefined }
  } catch (error) {
    return { changes, failed, error }
  } finally {
    Object.assign(patched, own)
    syncBuiltinESMExports()
  }

  function failOn(handle: FileHandle, path: string): void {
    const write = handle.write.bind(handle) as (bytes: Buffer, at?: number) => Promise<unknown>
    const writeFile = handle.writeFile.bind(handle)
    Object.assign(handle, {
      async write(bytes: Buffer, at = 0) {
        if (!fails('write', path)) return await write(bytes, at)
        // Half of it, as a full disk or a killed process leaves it.
        await write(bytes.subarray(0, at + Math.floor((bytes.length - at) / 2)), at)
        throw failure('write', path)
      },
      async writeFile(bytes: string | Buffer) {
        if (!fails('write', path)) return await writeFile(bytes)
        const whole = Buffer.from(bytes as string)
        await writeFile(whole.subarray(0, Math.floor(whole.length / 2)))
        throw failure('write', path)
      },
    })
  }
}
