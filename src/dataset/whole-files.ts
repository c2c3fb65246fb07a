import type { Stats } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { reasonOf } from '../system-error.ts'
import type { RangeEntry } from './manifest.ts'

/**
 * Are the files of a range there, in full length? Throws where the system does not say, as of a
 * network share that is gone for a moment: that is no reason to take a file for missing.
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

/** Is this a file of this length? */
export function isWhole(there: Stats | undefined, bytes: number): boolean {
  return there?.isFile() === true && there.size === bytes
}
