import { type FileHandle, link, lstat, open, readdir, readlink, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { isatty } from 'node:tty'
import { OptionError } from '../../errors.ts'
import { reasonOf } from '../../system-error.ts'
import { cannotWrite, isBrokenPipe } from './cannot-write.ts'
import { createLineWriter } from './line-writer.ts'
import type { Output } from './output.ts'
import { redactPath } from './redact.ts'

/**
 * A file that is written under a temporary name, beside its place, and renamed when it is complete;
 * without `force`, only if nothing has its name by then. A device or a pipe is written directly.
 * Throws `OptionError` when it cannot be written.
 */
export async function fileOutput(path: string, force: boolean): Promise<Output> {
  const { target, isAside } = await placeOf(path, force)
  if (isAside) await removeAbandoned(target)
  const aside = isAside ? `${target}.${process.pid}.partial` : target
  let handle: FileHandle
  try {
    handle = await open(aside, isAside ? 'wx' : 'w')
  } catch (error) {
    throw new OptionError('--out', 'a file that can be written', `${redactPath(path)} (${reasonOf(error)})`)
  }
  const writer = createLineWriter(handle.fd)
  let isClosedByReader = false
  const writing = async (act: () => void | Promise<void>) => {
    try {
      await act()
    } catch (error) {
      isClosedByReader ||= isBrokenPipe(error)
      throw cannotWrite(path, error, isAside ? undefined : writer.kept)
    }
  }
  const isTerminal = isatty(handle.fd)
  return {
    isTerminal,
    isKept: !isAside,
    get lines() {
      return isAside ? 0 : writer.kept.lines
    },
    async write(pieces) {
      await writing(() => {
        writer.add(pieces)
        if (isTerminal) writer.flush()
      })
    },
    async commit() {
      await writing(async () => {
        writer.flush()
        if (isAside) await handle.sync()
        await handle.close()
      })
      if (!isAside) return
      let isTaken = false
      await writing(async () => {
        if (force) await rename(aside, target)
        else isTaken = !(await nameIfFree(aside, target))
      })
      if (isTaken) throw new Error(`another program created ${path} in the meantime, and it was not replaced: the output is in ${await nextTo(aside, path)}`)
    },
    async abandon() {
      if (isAside) {
        await handle.close().catch(() => {})
        await rm(aside, { force: true })
        return undefined
      }
      await writing(writer.flush).catch(() => {})
      await handle.close().catch(() => {})
      return writer.kept
    },
    get isClosedByReader() {
      return isClosedByReader
    },
  }
}

/** Where the file is written. Throws `OptionError`. */
async function placeOf(path: string, force: boolean): Promise<{ target: string; isAside: boolean }> {
  const name = JSON.stringify(path)
  // As from `--out "$FILE"` where the variable is not set.
  if (path === '') throw new OptionError('--out', 'the path of a file', name)
  const there = await stat(path).catch(() => undefined)
  if (there?.isDirectory()) throw new OptionError('--out', 'a file', `${name}, which is a folder`)
  if (there !== undefined && !there.isFile()) return { target: path, isAside: false }
  const itself = await lstat(path).catch(() => undefined)
  if (itself !== undefined && !force) {
    const what = there === undefined ? 'which is a broken link' : 'which exists'
    throw new OptionError('--out', 'a file that does not exist yet, or --force', `${name}, ${what}`)
  }
  // The target of a link is replaced, and the link stays. The temporary file is beside the target,
  // so that renaming it copies nothing.
  return { target: itself?.isSymbolicLink() ? await behind(path) : path, isAside: true }
}

/** Linux follows this many links, too. */
const MOST_LINKS = 40

/** The final target of a link, whether or not it exists. */
async function behind(path: string): Promise<string> {
  let at = path
  for (let links = 0; links <= MOST_LINKS; links++) {
    const to = await readlink(at).catch(() => undefined)
    if (to === undefined) return at
    at = resolve(await realpath(dirname(at)), to)
  }
  throw new OptionError('--out', 'a file that can be written', `${JSON.stringify(path)} (${reasonOf({ code: 'ELOOP' })})`)
}

/** The errors of `link` on file systems without hard links. */
const NO_LINKS: readonly unknown[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']

/** Renames a file. False when something already has the new name. */
async function nameIfFree(from: string, to: string): Promise<boolean> {
  try {
    // Unlike `rename`, it replaces nothing, not even a broken link.
    await link(from, to)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    if (!NO_LINKS.includes(code)) throw error
    return nameWithoutLinks(from, to)
  }
  // If this fails, the file has its new name anyway, and the next run removes the old one.
  await rm(from, { force: true }).catch(() => {})
  return true
}

/**
 * The same on a file system without hard links: an empty file takes the name, which fails when
 * something has it, and is replaced at once. A crash in between leaves the empty file, and the
 * complete one under its temporary name.
 */
export async function nameWithoutLinks(from: string, to: string): Promise<boolean> {
  try {
    await (await open(to, 'wx')).close()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
  await rename(from, to)
  return true
}

/** Renames it to `path.2`, or the next free number, so that a long export is not lost. */
async function nextTo(from: string, path: string): Promise<string> {
  for (let n = 2; ; n++) if (await nameIfFree(from, `${path}.${n}`)) return `${path}.${n}`
}

/**
 * Removes the temporary files of processes that were killed, one of this process's number among
 * them: in a container, a program that is started again mostly has the same number.
 */
async function removeAbandoned(path: string): Promise<void> {
  const names = await readdir(dirname(path)).catch(() => [])
  const prefix = `${basename(path)}.`
  for (const name of names) {
    const pid = name.startsWith(prefix) ? /^(\d+)\.partial$/.exec(name.slice(prefix.length))?.[1] : undefined
    if (pid !== undefined && (Number(pid) === process.pid || !isRunning(Number(pid)))) await rm(join(dirname(path), name), { force: true })
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
