import { lstat, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { IntegrityError } from '../../errors.ts'
import { reasonOf } from '../../system-error.ts'
import { shellWord } from '../../text.ts'
import { digitsOf } from '../aligned-range.ts'
import { kindOf } from '../falsehood.ts'
import { readCheckedManifest } from './check-manifest.ts'
import { lookAt, namesIn, syncFolder, writing } from './disk.ts'
import { LOCK } from './lock.ts'
import { type DatasetHeader, headerOf, MANIFEST, type Manifest, ManifestFile, type RangeEntry } from './manifest.ts'
import { checkNoWriters } from './part-writers.ts'
import { hasFiles } from './whole-files.ts'

/*
 * The folder `parts` of a dataset that several processes fill:
 *
 *     parts/dataset/manifest.json                        what all of them write: no range
 *     parts/000001000/manifest.json, blocks/…, logs/…    a part: a dataset of one range
 *     parts/to-000007999-of-8                            the last block that someone wants, of 8 shards
 *     parts/writer-…/                                    what one process is writing
 *
 * A part is written elsewhere and becomes one by the renaming of its folder, which fails where
 * there is one already: it is there whole or not at all, and never changes. One that somebody has
 * deleted files from is removed, and written anew.
 */

export const PARTS = 'parts'

const DATASET = 'dataset'

/** A part: a range, and the folder that holds its files. */
export interface Part {
  readonly dir: string
  readonly header: DatasetHeader
  readonly range: RangeEntry
}

/** The last block that a run wants. */
export interface Goal {
  readonly to: number
  /** How many shards share the work; undefined where ranges are dealt out otherwise. */
  readonly of: number | undefined
}

/** Whether a folder has what is to be merged. */
export async function hasParts(dir: string): Promise<boolean> {
  return (await hasPartsFolder(dir)) && (await lookAt(join(dir, PARTS, DATASET, MANIFEST))) !== undefined
}

/**
 * Makes sure that a single export is alone in a folder, which it has locked. Throws if others add
 * parts to it, or have added some that are not merged.
 */
export async function checkNoParts(dir: string): Promise<void> {
  if (!(await hasPartsFolder(dir))) return
  await checkNoWriters(join(dir, PARTS), join(dir, LOCK), 'any')
  if (await hasParts(dir))
    throw new Error(`${dir} has parts of shards: run \`hexline merge ${shellWord(dir)}\` first, and then this again; nothing was changed`)
  await removeParts(dir)
}

/** Removes all that is in `parts`. */
export async function removeParts(dir: string): Promise<void> {
  const path = join(dir, PARTS)
  await writing(path, () => rm(path, { recursive: true, force: true }))
}

/** Whether there is a folder `parts`. Throws if it is anything else. */
export async function hasPartsFolder(dir: string): Promise<boolean> {
  const there = await lookAt(join(dir, PARTS))
  if (there === undefined) return false
  if (there.isDirectory()) return true
  throw new Error(`${join(dir, PARTS)} is not a folder; nothing was changed`)
}

/** What the parts of a folder have in common; undefined if no process has said so yet. */
export async function readCommon(dir: string): Promise<DatasetHeader | undefined> {
  // A merge that was killed may have left the folder without it.
  if (!(await hasParts(dir))) return undefined
  const manifest = await readIn(dir, DATASET)
  return manifest && headerOf(manifest)
}

/** Says what all parts have in common, if no process has; `aside` is a folder that is not there. */
export async function commitCommon(dir: string, header: DatasetHeader, aside: string): Promise<void> {
  await writing(aside, () => mkdir(aside))
  await new ManifestFile(aside, { ...header, ranges: [] }).write()
  if (!(await commit(aside, dir, DATASET))) await rm(aside, { recursive: true, force: true })
}

/** The part that begins with this block; undefined if there is none. */
export async function readPart(dir: string, from: number): Promise<Part | undefined> {
  const name = digitsOf(from)
  const manifest = await readIn(dir, name)
  if (manifest === undefined) return undefined
  const {
    ranges: [range, ...others],
    ...header
  } = manifest
  if (range === undefined || others.length > 0 || range.from !== from)
    throw new IntegrityError(`${join(dir, PARTS, name, MANIFEST)} is not that of one range from block ${from}`, { file: `${PARTS}/${name}/${MANIFEST}` })
  return { dir: join(dir, PARTS, name), header, range }
}

/** Makes a folder the part that begins with this block. False if there is one. */
export function commitPart(dir: string, from: number, aside: string): Promise<boolean> {
  return commit(aside, dir, digitsOf(from))
}

/**
 * Removes a part of which a file is missing or cut; `aside` is a folder that is not there. Throws
 * where it cannot be removed: a new one could not take its place.
 */
export async function removeDamaged({ dir }: Part, aside: string): Promise<void> {
  try {
    // As a whole: nobody is to see half of it.
    await rename(dir, aside)
  } catch (error) {
    // Another process was first.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw new Error(`${dir} lacks a file, and cannot be removed: ${reasonOf(error)}; delete that folder`, { cause: error })
  }
  // Another process may have been first, and have written it anew.
  if ((await isWholePart(aside)) && (await commitAs(aside, dir))) return
  await writing(aside, () => rm(aside, { recursive: true, force: true }))
}

async function isWholePart(dir: string): Promise<boolean> {
  const manifest = await readCheckedManifest(dir).catch(() => undefined)
  const range = manifest?.ranges[0]
  return range !== undefined && (await hasFiles(dir, range).catch(() => true))
}

/** The first blocks of all parts, in order. */
export async function partsIn(dir: string): Promise<number[]> {
  const names = await namesIn(join(dir, PARTS))
  return names
    .filter((name) => /^\d{9,}$/.test(name))
    .map(Number)
    .sort((a, b) => a - b)
}

export async function addGoal(dir: string, { to, of }: Goal): Promise<void> {
  const path = join(dir, PARTS, `to-${digitsOf(to)}${of === undefined ? '' : `-of-${of}`}`)
  await writing(path, () => writeFile(path, '', { flag: 'a' }))
}

export async function goalsIn(dir: string): Promise<Goal[]> {
  const names = await namesIn(join(dir, PARTS))
  return names.flatMap((name) => {
    const [, to, of] = /^to-(\d{9,})(?:-of-(\d+))?$/.exec(name) ?? []
    return to === undefined ? [] : [{ to: Number(to), of: of === undefined ? undefined : Number(of) }]
  })
}

function commit(aside: string, dir: string, name: string): Promise<boolean> {
  return commitAs(aside, join(dir, PARTS, name))
}

async function commitAs(aside: string, path: string): Promise<boolean> {
  try {
    await rename(aside, path)
  } catch (error) {
    if ((await lstat(path).catch(() => undefined)) !== undefined) return false
    throw new Error(`${path} cannot be written: ${reasonOf(error)}`, { cause: error })
  }
  await syncFolder(dirname(path))
  return true
}

/**
 * The manifest of a folder in `parts`; undefined if there is no such folder. Throws if it is
 * anything else, such as a link to where other files may be.
 */
async function readIn(dir: string, name: string): Promise<Manifest | undefined> {
  const path = join(dir, PARTS, name)
  const there = await lookAt(path)
  if (there === undefined) return undefined
  if (!there.isDirectory()) throw new Error(`${path} is ${kindOf(there)}, not a folder; nothing was changed`)
  try {
    return await readCheckedManifest(path)
  } catch (error) {
    // Another process has removed it meanwhile, and may have written it anew.
    if ((await lstat(path).catch(() => undefined))?.ino !== there.ino) return readIn(dir, name)
    if (!(error instanceof IntegrityError)) throw error
    const { file, field = '', expected = '', found = '' } = error
    throw new IntegrityError(join(path, error.message), { file: `${PARTS}/${name}/${file}`, field, expected, found })
  }
}
