import type { ClientName, WorkloadName } from './workloads.ts'

/** What one client measured in one round. Times in microseconds per unit, of the process that asks. */
export interface Figures {
  readonly cpu: number
  readonly wall: number
  /** Most resident memory of the process, in MB. */
  readonly peakMb: number
  /** Resident memory around the middle and the end of the work, in MB. */
  readonly middleMb?: number
  readonly endMb?: number
  /** Calls that failed in spite of all retries, and calls that the server refused. */
  readonly failures?: number
  readonly refused?: number
}

/** One run, as it is kept in `bench/results`. */
export interface Results {
  readonly date: string
  /** A quick run: fewer rounds, and less in each. */
  readonly isQuick: boolean
  readonly rounds: number
  readonly machine: { readonly cpu: string; readonly cores: number; readonly memoryGb: number; readonly platform: string }
  /** Of Node.js the one that the clients run on. */
  readonly versions: Readonly<Record<string, string>>
  /** What the server replays, and the mean sizes of its replies in bytes. */
  readonly blocks: { readonly source: string; readonly full: number; readonly hashes: number; readonly receipts: number; readonly logs: number }
  readonly workloads: { readonly [Name in WorkloadName]?: { readonly [Client in ClientName]?: Measured } }
}

/** A client's rounds, in their order, or why there are none. */
export interface Measured {
  readonly amount: number
  readonly settings: string
  readonly rounds: readonly Figures[]
  readonly failure?: string
}

/** A median with the least and the greatest value. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** What tells one run from another: Node.js and the processor. */
export function nameOf({ versions, machine }: Results): string {
  return `Node ${versions.node?.slice(1)}, ${machine.cpu.replaceAll('(R)', '')}`
}

/** Of an even number of values the mean of the middle two. Throws for none. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) throw new RangeError('a spread needs one value at least')
  const sorted = [...values].sort((a, b) => a - b)
  const at = (i: number) => sorted[i] as number
  const middle = sorted.length >> 1
  return { median: sorted.length % 2 === 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2, min: at(0), max: at(sorted.length - 1) }
}

/** The ratios of each round, and not of the medians: what slows a whole round slows both. Undefined where either has no round. */
export function ratioOf(mine: Measured | undefined, theirs: Measured | undefined, figure: 'cpu' | 'wall' | 'peakMb'): Spread | undefined {
  const ratios = (mine?.rounds ?? []).flatMap((each, i) => {
    const other = theirs?.rounds[i]
    return other === undefined ? [] : [each[figure] / other[figure]]
  })
  return ratios.length === 0 ? undefined : spreadOf(ratios)
}

/** The spread of one figure; undefined where no round has it. */
export function figureOf(measured: Measured | undefined, figure: keyof Figures): Spread | undefined {
  const values = (measured?.rounds ?? []).map((each) => each[figure]).filter((value) => value !== undefined)
  return values.length === 0 ? undefined : spreadOf(values)
}
