import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'

/** A process that holds a folder, or writes to it beside others. */
export interface Holder {
  readonly pid: number
  readonly host: string
  /** When the process started, so that a later process with its number is not taken for it. */
  readonly start: string | null
  /** Tells two holds of one process apart. */
  readonly id: string
}

export async function thisProcess(): Promise<Holder> {
  return { pid: process.pid, host: hostname(), start: await startOf(process.pid), id: randomUUID() }
}

/** Undefined for a text that names no process, or is not whole. */
export function holderOf(text: string): Holder | undefined {
  try {
    const { pid, host, start, id } = JSON.parse(text) as Holder
    return Number.isSafeInteger(pid) && typeof host === 'string' ? { pid, host, start, id } : undefined
  } catch {
    return undefined
  }
}

/** A process of another machine counts as alive, since that cannot be found out here. */
export async function isAlive({ pid, host, start }: Holder): Promise<boolean> {
  if (host !== hostname()) return true
  try {
    process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
  const now = await startOf(pid)
  return now === null || start === null || now === start
}

/**
 * When a process started: the boot and the clock ticks since then, which no change of the clock
 * affects. Null where the system does not say.
 */
async function startOf(pid: number): Promise<string | null> {
  try {
    const [boot, stat] = await Promise.all([readFile('/proc/sys/kernel/random/boot_id', 'utf8'), readFile(`/proc/${pid}/stat`, 'utf8')])
    // The name of the program, in brackets, may contain spaces.
    const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    return ticks === undefined ? null : `${boot.trim()} ${ticks}`
  } catch {
    return null
  }
}

/** Names a process, and what to delete if it is of another machine and no longer runs. */
export function processOf({ pid, host }: Holder, path: string): string {
  return `process ${pid}${host === hostname() ? '' : ` on ${JSON.stringify(host)}; if it no longer runs, delete ${path}`}`
}
