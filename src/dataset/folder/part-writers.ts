import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, systemClock, type Timer } from '../../wait/clock.ts'
import { namesIn, writing } from './disk.ts'
import { type Holder, holderOf, isAlive, isHere, processOf, thisProcess } from './holder.ts'

/*
 * Several processes and machines add parts to a folder at a time. Each has a folder of its own in
 * `parts`, where its files are until they are whole, so that what one leaves behind when it is
 * killed is told from what another is writing.
 */

/** A process that adds parts to a folder. */
export interface PartWriter {
  /** Its own folder, on the file system of the parts. */
  readonly dir: string
  /** Throws if another process has taken this one for dead. */
  check(): Promise<void>
  /** Removes its folder, with all that is in it. */
  close(): Promise<void>
}

const PREFIX = 'writer-'
/** The file in a writer's folder that names its process. */
export const HOLDER = 'process.json'

/** How often a writer shows that it runs, in ms. */
const REFRESH_MS = 60_000
/**
 * A writer of another machine or container that has not shown itself for this time, in ms, is dead:
 * longer than any pause of a machine that is meant to go on.
 */
const DEAD_MS = 15 * 60_000

/** Makes the folder of a writer in `parts`. */
export async function joinWriters(parts: string, clock: Clock = systemClock): Promise<PartWriter> {
  const mine = await thisProcess()
  const dir = join(parts, PREFIX + mine.id)
  const path = join(dir, HOLDER)
  const text = `${JSON.stringify(mine)}\n`
  await writing(dir, () => mkdir(dir))
  try {
    await writing(path, () => writeFile(path, text))
  } catch (error) {
    await removeWriter(dir).catch(() => {})
    throw error
  }
  let timer = later()
  return {
    dir,
    async check() {
      const there = await stat(path).catch(() => undefined)
      if (there === undefined) throw new Error(`${dir} was removed while this process was writing: it had stopped for too long, and what it wrote is not used`)
    },
    async close() {
      clock.cancel(timer)
      await writing(dir, () => removeWriter(dir))
    },
  }

  // The time of a file is that of the file system, which is the same for all machines.
  function later(): Timer {
    const next = clock.wakeAt(clock.now() + REFRESH_MS, () => {
      timer = later()
      writeFile(path, text, { flag: 'r+' }).catch(() => {})
    })
    next.unref()
    return next
  }
}

/** Removes what dead writers left behind. `fresh` is a file that was written just now. */
export async function removeDeadWriters(parts: string, fresh: string): Promise<void> {
  for (const { dir, isDead } of await writersIn(parts, fresh)) if (isDead) await writing(dir, () => removeWriter(dir))
}

/**
 * Throws if a process adds parts to the folder, and says which: `any`, or a `busy` one that is
 * writing some. `fresh`: see above.
 */
export async function checkNoWriters(parts: string, fresh: string, which: 'any' | 'busy'): Promise<void> {
  for (const { dir, isDead, holder } of await writersIn(parts, fresh)) {
    // One that is only beginning looks for the lock when its name is written.
    if (isDead || holder === undefined) continue
    if (which === 'any' || (await filesIn(dir)).length > 0) throw new Error(`${parts} is in use by ${await processOf(holder, dir)}`)
  }
}

interface Writer {
  readonly dir: string
  readonly holder: Holder | undefined
  readonly isDead: boolean
}

async function writersIn(parts: string, fresh: string): Promise<Writer[]> {
  const now = (await stat(fresh)).mtimeMs
  const writers: Writer[] = []
  for (const name of await namesIn(parts)) {
    if (!name.startsWith(PREFIX)) continue
    const dir = join(parts, name)
    const path = join(dir, HOLDER)
    const text = await readFile(path, 'utf8').catch(() => '')
    const shown = await stat(path).catch(() => stat(dir).catch(() => undefined))
    // It has just ended.
    if (shown === undefined) continue
    const holder = holderOf(text)
    const isDead = holder !== undefined && (await isHere(holder)) ? !(await isAlive(holder)) : now - shown.mtimeMs > DEAD_MS
    writers.push({ dir, holder, isDead })
  }
  return writers
}

/** First its files, and then what says whose they were. */
async function removeWriter(dir: string): Promise<void> {
  for (const name of await filesIn(dir)) await rm(join(dir, name), { recursive: true, force: true })
  await rm(dir, { recursive: true, force: true })
}

/** What a writer is writing. */
async function filesIn(dir: string): Promise<string[]> {
  return (await readdir(dir).catch(() => [])).filter((name) => name !== HOLDER)
}
