import { figureOf, nameOf, type Results, ratioOf, type Spread } from '../results.ts'
import type { ClientName, WorkloadName } from '../workloads.ts'
import { markdown, ratioText } from './tables.ts'

/** A target. */
interface Target {
  readonly workload: WorkloadName
  readonly says: string
  readonly atMost: number
  readonly of: (results: Results) => Spread | undefined
}

const ratio =
  (workload: WorkloadName, mine: ClientName, theirs: ClientName, figure: 'cpu' | 'wall') =>
  ({ workloads }: Results): Spread | undefined =>
    ratioOf(workloads[workload]?.[mine], workloads[workload]?.[theirs], figure)

const target = (workload: WorkloadName, theirs: ClientName, atMost: number, figure: 'cpu' | 'wall' = 'cpu', mine: ClientName = 'hexline'): Target => ({
  workload,
  says: `${mine === 'hexline' ? '' : `${mine}: `}${figure === 'cpu' ? 'CPU' : 'wall'} vs. ${theirs}`,
  atMost,
  of: ratio(workload, mine, theirs, figure),
})

/**
 * The targets of the project: ratios of CPU time (or wall time, where stated) in the same run, and
 * memory in MB.
 */
const targets: readonly Target[] = [
  target('full blocks', 'undici + JSON.parse', 1),
  target('full blocks', 'viem, batched', 0.35),
  target('full blocks', 'ethers', 0.04),
  target('full blocks', 'viem, batched', 0.5, 'cpu', 'viem on hexline'),
  target('full blocks, gzip', 'viem, batched', 0.3),
  target('full blocks, https, gzip', 'viem, batched', 0.3),
  target('full blocks, 6 fields', 'undici + JSON.parse', 0.7),
  target('blocks with hashes', 'undici + JSON.parse', 1.1),
  target('blocks with hashes', 'viem, batched', 0.4),
  target('verify: link', 'undici + JSON.parse', 0.03),
  target('logs', 'viem, not batched', 0.5, 'wall'),
  target('logs', '@subsquid/rpc-client', 0.5, 'wall'),
  target('logs', 'viem, not batched', 0.5),
  target('NDJSON export', 'undici, bytes only', 1.6),
  target('small calls, 64 in parallel', 'undici + JSON.parse', 0.3),
  target('small calls, 64 in parallel', 'viem, batched', 0.4),
  target('small calls, gzip', 'viem, batched', 0.4),
  target('small calls, in sequence', 'undici + JSON.parse', 1.2, 'wall'),
  target('50 ms latency', 'undici + JSON.parse', 1, 'wall'),
  { workload: 'memory', says: 'peak, in MB', atMost: 300, of: ({ workloads }) => figureOf(workloads.memory?.hexline, 'peakMb') },
  { workload: 'memory', says: 'end vs. middle', atMost: 1.1, of: ({ workloads }) => flatness(workloads.memory?.hexline) },
  target('import', 'undici + JSON.parse', 1.3),
]

function flatness(measured: NonNullable<Results['workloads']['memory']>['hexline']): Spread | undefined {
  const [middle, end] = [figureOf(measured, 'middleMb'), figureOf(measured, 'endMb')]
  if (middle === undefined || end === undefined) return undefined
  const ratio = end.median / middle.median
  return { median: ratio, min: ratio, max: ratio }
}

/**
 * Compares each target with the measurements: on each Node.js the median, the spread, and whether
 * it is met.
 */
export function targetsTable(runs: readonly Results[]): string {
  return markdown(2, [
    ['workload', 'ratio or figure', 'at most', ...runs.flatMap((run) => [nameOf(run), ''])],
    ...targets.map((each) => [each.workload, each.says, `${each.atMost}`, ...runs.flatMap((run) => verdict(each, run))]),
  ])
}

function verdict({ atMost, of }: Target, run: Results): [string, string] {
  const spread = of(run)
  if (spread === undefined) return ['', 'not measured']
  return [ratioText(spread), spread.median <= atMost ? 'met' : '**not met**']
}
