import type { Stats } from 'node:fs'
import { join } from 'node:path'
import { lookAt } from './disk.ts'
import type { RangeEntry } from './manifest.ts'

/**
 * Whether all files of a range are there, each with its full length. Throws if the system cannot
 * tell, as for a network share that is gone for a moment: such a file is not missing.
 */
export async function hasFiles(dir: string, { files }: Pick<RangeEntry, 'files'>): Promise<boolean> {
  for (const { name, bytes } of files) if (!isWhole(await lookAt(join(dir, name)), bytes)) return false
  return true
}

/** Whether this is a file of this length, in bytes. */
export function isWhole(there: Stats | undefined, bytes: number): boolean {
  return there?.isFile() === true && there.size === bytes
}
