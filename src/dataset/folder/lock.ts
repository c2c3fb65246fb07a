import { link, lstat, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { reasonOf } from '../../system-error.ts'
import { writing } from './disk.ts'
import { type Holder, holderOf, isAlive, isHere, processOf, thisProcess } from './holder.ts'

/** A folder or a file that is held by this process. */
export interface Lock {
  /** Throws if another process has taken it. */
  check(): Promise<void>
  release(): Promise<void>
}

export const LOCK = '.lock'

/**
 * Takes a folder for this process. A lock of a process that no longer runs on this machine is
 * replaced. Throws an error that says who holds it.
 */
export async function lockFolder(dir: string): Promise<Lock> {
  return await take({ name: dir, path: join(dir, LOCK), isHeldBy: mayBeAlive })
}

/**
 * Takes a file for this process, by a lock beside it. Only a process that surely runs, in this
 * container, holds it: one that was killed in another container must not keep its successor out.
 */
export async function lockFile(file: string): Promise<Lock> {
  return await take({
    name: file,
    path: `${file}${LOCK}`,
    isHeldBy: async (holder) => holder !== undefined && (await isHere(holder)) && (await isAlive(holder)),
  })
}

/** What to lock. Errors call it by its `name`; the lock itself is at `path`. */
interface LockTarget {
  readonly name: string
  readonly path: string
  /**
   * Whether the process that the lock names may still use the target. `holder` is undefined for a
   * damaged lock.
   */
  isHeldBy(holder: Holder | undefined): Promise<boolean>
}

async function mayBeAlive(holder: Holder | undefined): Promise<boolean> {
  return holder === undefined || (await isAlive(holder))
}

async function take(target: LockTarget): Promise<Lock> {
  const { path } = target
  const mine = await thisProcess()
  const text = `${JSON.stringify(mine)}\n`
  for (;;) {
    if (await create(path, mine, text)) break
    const found = await readLock(target.name, path)
    // Released in the meantime.
    if (found === undefined) continue
    await checkFree(target, found)
    if (await takeOver(target, { found, mine, text })) break
  }
  return {
    async check() {
      if ((await readFile(path, 'utf8').catch(() => undefined)) !== text)
        throw new Error(`${path} was removed or replaced while this process was writing: another process may use ${target.name}`)
    },
    async release() {
      if ((await readFile(path, 'utf8').catch(() => undefined)) === text) await rm(path, { force: true }).catch(() => {})
    },
  }
}

/**
 * Creates the file whole, so that no crash leaves part of a lock. False if it exists, or if the
 * holder has just removed what was to become it.
 */
async function create(path: string, { id }: Holder, text: string): Promise<boolean> {
  const aside = `${path}.${id}`
  return await writing(path, async () => {
    try {
      // Fails where there is no folder, which has to be reported: another attempt would fail, too.
      await writeFile(aside, text)
      return await linkOrCreate(aside, path, text)
    } finally {
      await rm(aside, { force: true }).catch(() => {})
    }
  })
}

async function linkOrCreate(aside: string, path: string, text: string): Promise<boolean> {
  try {
    await link(aside, path)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' || code === 'ENOENT') return false
    if (!NO_LINKS.includes(code)) throw error
    return await createWithoutLinks(path, text)
  }
}

/** The errors of `link` on file systems without hard links. */
const NO_LINKS: readonly unknown[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']

/**
 * Creates the file on a file system without hard links, where a crash may leave it empty. False if
 * it exists.
 */
async function createWithoutLinks(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/**
 * Replaces the lock that was found, of a process that no longer runs. Only one process at a time
 * may do so, and only if it still is that lock. False if it is not.
 */
async function takeOver(target: LockTarget, { found, mine, text }: { found: string; mine: Holder; text: string }): Promise<boolean> {
  const { name, path } = target
  const turn = `${path}.turn`
  if (!(await create(turn, mine, text))) {
    const other = await readLock(name, turn)
    if (other === undefined) return false
    const holder = holderOf(other)
    if (holder !== undefined && (await target.isHeldBy(holder))) throw new Error(await heldBy(name, path, holder))
    await writing(turn, () => rm(turn, { force: true }))
    return false
  }
  try {
    if ((await readFile(path, 'utf8').catch(() => undefined)) !== found) return false
    const aside = `${path}.${mine.id}`
    await writing(path, async () => {
      await writeFile(aside, text)
      await rename(aside, path)
    })
    return true
  } finally {
    // One that stays keeps nobody out once this process has ended.
    await rm(turn, { force: true }).catch(() => {})
  }
}

/**
 * The text of a lock; undefined if it is gone. Throws if what is there is not a file or cannot be
 * read.
 */
async function readLock(name: string, path: string): Promise<string | undefined> {
  try {
    const there = await lstat(path)
    if (there.isFile()) return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new Error(`${path} cannot be read: ${reasonOf(error)}`, { cause: error })
  }
  throw new Error(`${name} cannot be locked: ${path} is not a file; delete it if no process writes there`)
}

/** Throws if a process that may be alive holds the folder, and says who. */
export async function checkUnlocked(dir: string): Promise<void> {
  const path = join(dir, LOCK)
  const found = await readLock(dir, path)
  if (found !== undefined) await checkFree({ name: dir, path, isHeldBy: mayBeAlive }, found)
}

async function checkFree({ name, path, isHeldBy }: LockTarget, found: string): Promise<void> {
  const holder = holderOf(found)
  if (await isHeldBy(holder)) throw new Error(await heldBy(name, path, holder))
}

async function heldBy(name: string, path: string, holder: Holder | undefined): Promise<string> {
  if (holder === undefined) return `${name} is in use: another process has just made ${path}, or left it damaged; delete that file if no process writes there`
  return `${name} is in use by ${await processOf(holder, path)}`
}
