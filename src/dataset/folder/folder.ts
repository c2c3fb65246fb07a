import { mkdir, readdir, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { OptionError } from '../../errors.ts'
import { reasonOf } from '../../system-error.ts'
import { type DatasetTable, tableNames } from '../tables.ts'
import { lookAt, reading, writing } from './disk.ts'
import { LOCK } from './lock.ts'
import { MANIFEST, type Manifest } from './manifest.ts'
import { PARTS } from './parts.ts'
import { isWhole } from './whole-files.ts'

/** Throws `OptionError` unless the folder is there. */
export async function checkIsFolder(dir: string, option = 'dir'): Promise<void> {
  const there = await lookAt(dir, stat)
  if (there?.isDirectory()) return
  throw new OptionError(option, 'a folder', `${JSON.stringify(dir)}, which ${there === undefined ? 'does not exist' : 'is a file'}`)
}

/**
 * Makes the folder, if it is not there. Returns the uppermost folder that it has made, undefined if
 * all were there. Throws `OptionError` for a path that cannot be one, which `option` has given.
 */
export async function makeFolder(dir: string, option = 'dir'): Promise<string | undefined> {
  const there = await stat(dir).catch(() => undefined)
  if (there?.isDirectory()) return undefined
  const name = JSON.stringify(dir)
  if (there !== undefined) throw new OptionError(option, 'a folder', `${name}, which is ${there.isFile() ? 'a file' : 'something else'}`)
  try {
    return await makePath(dir)
  } catch (error) {
    throw new OptionError(option, 'a folder that can be made', `${name} (${reasonOf(error)})`)
  }
}

/**
 * Makes a folder and those above it. Node's own `recursive` never ends where none can be made, as
 * below /proc.
 */
async function makePath(path: string): Promise<string | undefined> {
  try {
    await mkdir(path)
    return path
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return undefined
    if (code !== 'ENOENT' || dirname(path) === path) throw error
    const top = await makePath(dirname(path))
    await makeFolderIn(path)
    return top ?? path
  }
}

/** Removes the folder and those above it up to `top`, as far as they are empty. */
export async function removeEmpty(dir: string, top: string): Promise<void> {
  for (let path = dir; path.length >= top.length; path = dirname(path)) {
    try {
      await rmdir(path)
    } catch {
      return
    }
  }
}

/** Makes a folder, if it is not there. */
async function makeFolderIn(path: string): Promise<void> {
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
}

/**
 * Throws unless a folder without a manifest is empty, so that nothing is mixed with other files.
 */
export async function checkEmpty(dir: string): Promise<void> {
  const other = (await reading(dir, () => readdir(dir))).find((name) => !isOurs(name))
  if (other !== undefined) throw new Error(`${dir} is neither empty nor a dataset: it has ${JSON.stringify(other)}, but no ${MANIFEST}; nothing was changed`)
}

/** The lock, and what a killed process leaves of it or of a manifest; and parts. */
function isOurs(name: string): boolean {
  return name === PARTS || name === LOCK || name.startsWith(`${LOCK}.`) || isManifestPart(name)
}

function isManifestPart(name: string): boolean {
  return name.startsWith(`${MANIFEST}.`) && isPartial(name)
}

/** Whether the name is that of a file which was being written. */
export function isPartial(name: string): boolean {
  return /\.\d+\.partial$/.test(name)
}

/** The name of a file of a range, and of one that is not whole. */
const OF_RANGE = /^\d{9,}-\d{9,}\.(?:parquet|ndjson(?:\.gz|\.zst)?)(?:\.\d+\.partial)?$/

/**
 * Removes what killed processes left behind: temporary files, and files that the manifest does not
 * name. Other files stay.
 */
export async function removeLeftovers(dir: string, { ranges }: Pick<Manifest, 'ranges'>): Promise<void> {
  const known = new Set(ranges.flatMap(({ files }) => files.map(({ name }) => name)))
  for (const name of await reading(dir, () => readdir(dir)))
    if (name.startsWith(`${LOCK}.`) || isManifestPart(name)) await writing(join(dir, name), () => rm(join(dir, name), { force: true }))
  for (const table of tableNames) {
    for (const name of await filesOf(dir, table)) {
      const path = join(dir, table, name)
      if (OF_RANGE.test(name) && !known.has(`${table}/${name}`)) await writing(path, () => rm(path, { force: true }))
    }
  }
}

/** A file depends on its blocks and options alone. */
export const MENDING = 'The same options export the blocks of this file to another folder: copy the file from there'

/**
 * Throws if a file of the manifest is missing or has another size, or is not in the folder but
 * elsewhere, behind a symbolic link.
 */
export async function checkFiles(dir: string, { ranges }: Pick<Manifest, 'ranges'>): Promise<void> {
  await checkTableFolders(dir)
  for (const { files } of ranges) {
    for (const { name, bytes } of files) {
      const there = await lookAt(join(dir, name))
      if (isWhole(there, bytes)) continue
      const found = there === undefined ? 'is missing' : there.isFile() ? `has ${there.size} bytes, not ${bytes}` : 'is not a file'
      throw new Error(`${join(dir, name)} ${found}: the dataset is damaged; nothing was changed. ${MENDING}`)
    }
  }
}

/** Makes the folders of the tables. */
export async function makeTableFolders(dir: string, tables: readonly DatasetTable[]): Promise<void> {
  for (const table of tables) await writing(join(dir, table), () => makeFolderIn(join(dir, table)))
  await checkTableFolders(dir)
}

/** Throws if the folder of a table is anything else, such as a link to where other files may be. */
async function checkTableFolders(dir: string): Promise<void> {
  for (const table of tableNames) {
    const there = await lookAt(join(dir, table))
    if (there === undefined || there.isDirectory()) continue
    throw new Error(`${join(dir, table)} is ${there.isSymbolicLink() ? 'a symbolic link' : 'a file'}, not a folder; nothing was changed`)
  }
}

async function filesOf(dir: string, table: DatasetTable): Promise<string[]> {
  return await readdir(join(dir, table)).catch(() => [])
}
