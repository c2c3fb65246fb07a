import type { ClientName, WorkloadName } from './workloads.ts'

/**
 * The measurements of one client in one round. Times are in microseconds per unit, for the client's
 * process.
 */
export interface Figures {
  readonly cpu: number
  readonly wall: number
  /** Peak resident memory of the process, in MB. */
  readonly peakMb: number
  /** Resident memory in the middle and at the end of the work, in MB. */
  readonly middleMb?: number
  readonly endMb?: number
  /** Number of calls that failed in spite of all retries, and of calls that the server refused. */
  readonly failures?: number
  readonly refused?: number
  /** POSTs, calls, and MB of replies, where the server counts them. */
  readonly posts?: number
  readonly calls?: number
  readonly receivedMb?: number
}

/** One run, as saved in `bench/results`. */
export interface Results {
  readonly date: string
  /** Whether this was a quick run, with fewer rounds and less work. */
  readonly isQuick: boolean
  readonly rounds: number
  readonly machine: { readonly cpu: string; readonly cores: number; readonly memoryGb: number; readonly platform: string }
  /** Versions of the packages, and of the Node.js that runs the clients. */
  readonly versions: Readonly<Record<string, string>>
  /** The blocks that the server replays, and the mean sizes of its replies in bytes. */
  readonly blocks: { readonly source: string; readonly full: number; readonly hashes: number; readonly receipts: number; readonly logs: number }
  readonly workloads: { readonly [Name in WorkloadName]?: { readonly [Client in ClientName]?: Measured } }
}

/** The rounds of a client in order, or the reason why there are none. */
export interface Measured {
  readonly amount: number
  readonly settings: string
  readonly rounds: readonly Figures[]
  readonly failure?: string
}

/** A median with minimum and maximum. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** Identifies a run by Node.js version and processor. */
export function nameOf({ versions, machine }: Results): string {
  return `Node ${versions.node?.slice(1)}, ${machine.cpu.replaceAll('(R)', '')}`
}

/**
 * The spread of these values. The median of an even number of values is the mean of the middle two.
 * Throws for an empty array.
 */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) throw new RangeError('a spread needs one value at least')
  const sorted = [...values].sort((a, b) => a - b)
  const at = (i: number) => sorted[i] as number
  const middle = sorted.length >> 1
  return { median: sorted.length % 2 === 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2, min: at(0), max: at(sorted.length - 1) }
}

/**
 * Ratios of each round, not of the medians, since a slow round slows both clients. Undefined if
 * either has no rounds.
 */
export function ratioOf(mine: Measured | undefined, theirs: Measured | undefined, figure: 'cpu' | 'wall' | 'peakMb'): Spread | undefined {
  const ratios = (mine?.rounds ?? []).flatMap((each, i) => {
    const other = theirs?.rounds[i]
    return other === undefined ? [] : [each[figure] / other[figure]]
  })
  return ratios.length === 0 ? undefined : spreadOf(ratios)
}

/** The spread of one figure; undefined if no round has it. */
export function figureOf(measured: Measured | undefined, figure: keyof Figures): Spread | undefined {
  const values = (measured?.rounds ?? []).map((each) => each[figure]).filter((value) => value !== undefined)
  return values.length === 0 ? undefined : spreadOf(values)
}
