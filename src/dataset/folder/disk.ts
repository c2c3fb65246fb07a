import type { Stats } from 'node:fs'
import { type FileHandle, lstat, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { reasonOf } from '../../system-error.ts'

/** Runs `write`. Throws an error that names the path and, in plain words, the reason. */
export async function writing<T>(path: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    throw new Error(`${path} cannot be written: ${reasonOf(error)}`, { cause: error })
  }
}

/** Runs `read`. Throws an error that names the path and, in plain words, the reason. */
export async function reading<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw cannotRead(path, error)
  }
}

/** The same error in plain words, if it is one of the system. */
export function cannotRead(path: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (syscall === undefined) return error
  return new Error(`${path} cannot be read: ${code === 'ENOENT' ? 'it does not exist' : reasonOf(error)}`, { cause: error })
}

/**
 * What is at a path, which may be a link; undefined if there is nothing. Throws if the system
 * cannot tell, as for a folder of another user, or a network share that is gone for a moment.
 */
export async function lookAt(path: string, look: (path: string) => Promise<Stats> = lstat): Promise<Stats | undefined> {
  try {
    return await look(path)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw cannotRead(path, error)
  }
}

/** The names in a folder; none if there is no such folder, or no longer. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw cannotRead(folder, error)
  }
}

/** The suffix of files that are not whole. */
export const PARTIAL = 'partial'

/**
 * Opens a file that is not there: what is left at its path is removed, and never written through.
 */
export async function openNew(path: string): Promise<FileHandle> {
  await rm(path, { force: true })
  return await open(path, 'wx')
}

/** Replaces a file at once: after a crash it is either the old one or the new one. */
export async function replaceFile(path: string, bytes: string | Buffer): Promise<void> {
  const aside = `${path}.${process.pid}.${PARTIAL}`
  await writing(path, async () => {
    try {
      const handle = await openNew(aside)
      try {
        await handle.writeFile(bytes)
        await handle.sync()
      } finally {
        await handle.close()
      }
      await rename(aside, path)
    } catch (error) {
      await rm(aside, { force: true }).catch(() => {})
      throw error
    }
  })
  await syncFolder(dirname(path))
}

/** Makes renames in a folder durable, where the system can. */
export async function syncFolder(folder: string): Promise<void> {
  let handle: FileHandle | undefined
  try {
    handle = await open(folder, 'r')
    await handle.sync()
  } catch {
    // Windows opens no folders, and some file systems sync none.
  } finally {
    await handle?.close()
  }
}
