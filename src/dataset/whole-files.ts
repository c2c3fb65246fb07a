import type { Stats } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { reasonOf } from '../system-error.ts'
import type { RangeEntry } from './manifest.ts'

/**
 * Whether all files of a range are there, each with its full length. Throws if the system cannot
 * tell, as for a network share that is gone for a moment: such a file is not missing.
 */
export async function hasFiles(dir: string, { files }: Pick<RangeEntry, 'files'>): Promise<boolean> {
  for (const { name, bytes } of files) {
    const path = join(dir, name)
    const there = await lstat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
      throw new Error(`${path} cannot be read: ${reasonOf(error)}`, { cause: error })
    })
    if (!isWhole(there, bytes)) return false
  }
  return true
}

/** Whether this is a file of this length, in bytes. */
export function isWhole(there: Stats | undefined, bytes: number): boolean {
  return there?.isFile() === true && there.size === bytes
}
