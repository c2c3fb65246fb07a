import { stat } from 'node:fs/promises'
import { OptionError } from '../errors.ts'

/** Throws `OptionError` unless the folder that a command is given is there. */
export async function checkIsFolder(path: string): Promise<void> {
  const there = await stat(path).catch(() => undefined)
  if (there?.isDirectory()) return
  throw new OptionError('<folder>', 'a folder', `${JSON.stringify(path)}, which ${there === undefined ? 'does not exist' : 'is a file'}`)
}
