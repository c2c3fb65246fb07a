import { randomUUID } from 'node:crypto'
import { readFile, readlink } from 'node:fs/promises'
import { hostname } from 'node:os'

/** A process that holds a folder, or writes to it beside others. */
export interface Holder {
  readonly pid: number
  readonly host: string
  /** The namespace of the process number, as of a container; null where there is none. */
  readonly namespace?: string | null
  /** When the process started, so that a later process with its number is not taken for it. */
  readonly start: string | null
  /** Tells two holds of one process apart. */
  readonly id: string
}

export async function thisProcess(): Promise<Holder> {
  return { pid: process.pid, host: hostname(), namespace: await ownNamespace(), start: (await statOf(process.pid)).start, id: randomUUID() }
}

/**
 * Whether the process is of this machine and container, so that its number tells whether it runs.
 */
export async function isHere({ host, namespace }: Holder): Promise<boolean> {
  return host === hostname() && (namespace === undefined || namespace === (await ownNamespace()))
}

/** Undefined for a text that names no process, or is not whole. */
export function holderOf(text: string): Holder | undefined {
  try {
    const { pid, host, namespace, start, id } = JSON.parse(text) as Holder
    return Number.isSafeInteger(pid) && typeof host === 'string' ? { pid, host, ...(namespace !== undefined && { namespace }), start, id } : undefined
  } catch {
    return undefined
  }
}

/**
 * Whether the process runs. One of another machine or container counts as alive, since it cannot be
 * looked up here.
 */
export async function isAlive(holder: Holder): Promise<boolean> {
  if (!(await isHere(holder))) return true
  const { pid, start } = holder
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it runs, but as another user. The number may have been given to it since.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  const { start: now, state } = await statOf(pid)
  // One that was killed stays in the table of processes until its parent asks how it ended.
  if (state === 'Z' || state === 'X') return false
  return now === null || start === null || now === start
}

/** What the system says of a process; null where it does not say. */
interface Stat {
  /**
   * When it started: the boot and the clock ticks since then, which no change of the clock affects.
   */
  readonly start: string | null
  /** A letter, as in `ps`. */
  readonly state: string | null
}

async function statOf(pid: number): Promise<Stat> {
  try {
    const [boot, stat] = await Promise.all([readFile('/proc/sys/kernel/random/boot_id', 'utf8'), readFile(`/proc/${pid}/stat`, 'utf8')])
    // The name of the program, in brackets, may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state = null, ticks] = [fields[0], fields[19]]
    return { start: ticks === undefined ? null : `${boot.trim()} ${ticks}`, state }
  } catch {
    return { start: null, state: null }
  }
}

/**
 * Names a process, and what to delete if it is of another machine or container and no longer runs,
 * or if a later process may have its number.
 */
export async function processOf(holder: Holder, path: string): Promise<string> {
  const { pid, host, start } = holder
  if (await isHere(holder)) {
    if (pid === process.pid) return `this process (${pid})`
    return `process ${pid}${start === null ? `; if that is another program, delete ${path}` : ''}`
  }
  const where = host === hostname() ? 'in another container' : `on ${JSON.stringify(host)}`
  return `process ${pid} ${where}; if it no longer runs, delete ${path}`
}

/** Two containers of one host name have process numbers of their own. */
async function ownNamespace(): Promise<string | null> {
  return readlink('/proc/self/ns/pid').catch(() => null)
}
