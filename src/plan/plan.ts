import type { Range } from '../bulk/range.ts'
import * as check from '../check.ts'
import type { Client } from '../client/client.ts'
import type { CostTable } from '../eth/costs.ts'
import { Counts } from './counting-client.ts'
import { added, type Estimate, type Estimator, known, linear, sum, whole } from './estimate.ts'
import { type Duration, durationOf, postsFor } from './pace.ts'
import { type Calls, checkProvider, type Provider, type Units, unitsOf } from './provider.ts'
import type { Missing, SampledBlock } from './sample.ts'

/** Options of a plan. */
export interface PlanOptions {
  /** Number of blocks to fetch whole. Default 20. Ten headers are fetched for each. */
  readonly sample?: number | undefined
  /** The provider whose units to count. Default: those of the client's endpoints, or all. */
  readonly provider?: Provider | undefined
}

/** What a job will take, estimated from a sample. */
export interface Plan {
  /** The blocks of the job. */
  readonly from: bigint
  readonly to: bigint
  readonly blocks: number
  /** Calls in all, and by method. */
  readonly calls: Estimate
  readonly callsByMethod: Readonly<Record<string, Estimate>>
  /** POSTs, and the calls in one that is full. */
  readonly posts: Estimate
  readonly callsPerPost: number
  /** Size of the bodies of all replies, in bytes: over the wire, and after decompression. */
  readonly wireBytes: Estimate
  readonly bytes: Estimate
  readonly duration: Duration
  /** One for each provider. */
  readonly units: readonly Units[]
  /** Sampled blocks that the node does not have; null if it has all. */
  readonly missing: Missing | null
  /** What the plan itself took. */
  readonly cost: { readonly calls: number; readonly posts: number; readonly wireBytes: number }
}

/** Plan options with the defaults. */
export interface CheckedPlanOptions {
  readonly sample: number
  readonly provider: Provider | undefined
}

/** Checks the options. Throws `OptionError`. */
export function checkPlanOptions({
  sample = 20,
  provider,
}: {
  readonly sample: number | undefined
  readonly provider: Provider | undefined
}): CheckedPlanOptions {
  return { sample: check.whole('sample', sample, 2, 10_000), provider: provider === undefined ? undefined : checkProvider(provider) }
}

/** A part of a job, and the calls of the sample that are like its own. */
export interface Part {
  readonly calls: Calls
  /** Size of the results, in bytes. */
  readonly bytes: Estimate
  readonly counts: Counts
  /** Its calls are made one after the other, whatever the range. */
  readonly isSingle?: boolean
}

/** What is known of a job. */
export interface Findings {
  readonly client: Client
  readonly range: Range
  readonly parts: readonly Part[]
  /** Of all other calls of the sample. */
  readonly others: Counts
  /** Blocks, or ranges of them, that are requested ahead of the reader, and how many there are. */
  readonly ahead: { readonly items: number; readonly of: number }
  readonly tables: readonly CostTable[]
  readonly missing: Missing | null
}

/** What is the same for all jobs. */
export function planOf({ client, range, parts, others, ahead, tables, missing }: Findings): Plan {
  const calls = callsIn(parts)
  const total = added(Object.values(calls))
  const bodies = parts.map(bodiesOf)
  const bytes = added(bodies.map((each) => each.bytes))
  const wireBytes = added(bodies.map((each) => each.wireBytes))
  const single = added(Object.values(callsIn(parts.filter((part) => part.isSingle)))).value
  const { posts, callsPerPost } = postsFor(client, { calls: total, bytes, single, ahead: (ahead.items * (total.value - single)) / ahead.of })
  const counts = [...new Set([...parts.map((part) => part.counts), others])].reduce((all, each) => all.add(each), new Counts())
  return {
    ...range,
    blocks: Number(range.to - range.from) + 1,
    calls: whole(total),
    callsByMethod: Object.fromEntries(Object.entries(calls).map(([method, number]) => [method, whole(number)])),
    posts: whole(posts),
    callsPerPost,
    wireBytes: whole(wireBytes),
    bytes: whole(bytes),
    duration: durationOf(client, { calls, posts, wireBytes }, counts),
    units: unitsOf(tables, calls),
    missing,
    cost: { calls: counts.calls, posts: counts.posts.size, wireBytes: sum([...counts.posts.keys()].map((post) => post.wireBytes)) },
  }
}

/** The calls of all parts, by method. */
function callsIn(parts: readonly Part[]): Calls {
  const methods = [...new Set(parts.flatMap(({ calls }) => Object.keys(calls)))]
  return Object.fromEntries(methods.map((method) => [method, added(parts.flatMap(({ calls }) => calls[method] ?? []))]))
}

/**
 * The bodies of a part: its results, what is around each of them, and how well they compress. An
 * endpoint that is a function has results only.
 */
export function bodiesOf({ calls, bytes, counts }: Part): { readonly bytes: Estimate; readonly wireBytes: Estimate } {
  const { posts, results, resultBytes } = counts
  const all = sum([...posts.keys()].map((post) => post.bytes))
  const overWire = sum([...posts.keys()].map((post) => post.wireBytes))
  const envelope = results === 0 ? 0 : Math.max(0, all - resultBytes) / results
  const bodies = added([bytes, linear(added(Object.values(calls)), envelope)])
  return { bytes: bodies, wireBytes: all === 0 ? bodies : linear(bodies, overWire / all) }
}

/** Size of a result that is a number, in bytes. */
const SMALL_RESULT = 16

/** Calls that are made once, whatever the range. Without other sizes, their results are small. */
export function onceOf(calls: Readonly<Record<string, number>>, counts: Counts, bytes?: number): Part {
  return {
    calls: Object.fromEntries(Object.entries(calls).map(([method, number]) => [method, known(number)])),
    bytes: known(bytes ?? SMALL_RESULT * sum(Object.values(calls))),
    counts,
    isSingle: true,
  }
}

/** The calls for all blocks, from those for the blocks of a sample. */
export function partOf(estimate: Estimator, perBlock: readonly Pick<SampledBlock, 'calls' | 'bytes'>[], counts: Counts): Part {
  const methods = [...new Set(perBlock.flatMap(({ calls }) => Object.keys(calls)))]
  return {
    calls: Object.fromEntries(methods.map((method) => [method, estimate(perBlock.map(({ calls }) => calls[method] ?? 0))])),
    bytes: estimate(perBlock.map(({ bytes }) => bytes)),
    counts,
  }
}
