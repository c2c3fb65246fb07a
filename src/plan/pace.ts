import type { Client } from '../client/client.ts'
import { limitsOf } from '../client/internals.ts'
import type { Counts } from './counting-client.ts'
import { type Estimate, linear, mean, sum } from './estimate.ts'
import { type Calls, costOf } from './provider.ts'

/** How long a job takes, and why not less. */
export interface Duration {
  readonly seconds: Estimate
  /**
   * `rate`: the rate that was given, or learnt from throttling. `node`: what its replies took in
   * the sample.
   */
  readonly limitedBy: 'rate' | 'node'
  /** The rate, in calls or in units; null if there is none. */
  readonly rate: { readonly perSecond: number; readonly of: 'calls' | 'units' } | null
}

/** What a job takes in all. */
export interface Load {
  readonly calls: Calls
  readonly posts: Estimate
  readonly wireBytes: Estimate
}

/** Until an endpoint has shown otherwise, and for clients that `createClient` did not make. */
const USUAL = { maxCalls: 100, bodyBytes: 1.5 * 1024 * 1024, concurrency: 8, callsPerSecond: undefined, units: undefined }

/** Calls of a job, and how they are requested. */
interface Requests {
  readonly calls: Estimate
  /** Size of the bodies of all replies, in bytes. */
  readonly bytes: Estimate
  /** Calls that are made one after the other, before or after all others. */
  readonly single: number
  /** Calls that are requested together, ahead of the reader. */
  readonly ahead: number
}

/**
 * The POSTs of a job, and the calls in a full one: as many as the endpoint is known to take, or as
 * have replies of the size at which hexline begins another one. Between two bounds: all POSTs are
 * full, or each round of calls that are requested together ends with one that is not. The first is
 * so where replies come one by one, the second where they come faster than they are read.
 */
export function postsFor(client: Client, { calls, bytes, single, ahead }: Requests): { readonly posts: Estimate; readonly callsPerPost: number } {
  const limits = limitsOf(client)
  const { maxCalls, bodyBytes } = limits.reduce((a, b) => (b.maxCalls < a.maxCalls ? b : a), limits[0] ?? USUAL)
  // The last call of a POST passes the size, by half a reply on average.
  const callsPerPost = Math.max(1, Math.min(maxCalls, bodyBytes / (bytes.value / calls.value) + 0.5))
  const fewest = (all: number) => single + Math.ceil((all - single) / callsPerPost)
  const most = (all: number) => {
    const many = all - single
    return single + Math.floor(many / ahead) * Math.ceil(ahead / callsPerPost) + Math.ceil((many % ahead) / callsPerPost)
  }
  const posts = { value: (fewest(calls.value) + most(calls.value)) / 2, low: fewest(calls.low), high: most(calls.high) }
  return { posts, callsPerPost: Math.round(callsPerPost) }
}

/**
 * How long a job takes at the rate of the client, or, if that is longer, at the pace of the sample:
 *
 *     rate:  calls / calls per second, or units / units per second
 *     node:  POSTs * latency / POSTs in flight + bytes * time per byte
 *
 * Latency and time per byte are those of the sample's POSTs. Bytes are taken to arrive one after
 * another, as on a line that all POSTs share; where each has its own line, the job is quicker.
 */
export function durationOf(client: Client, load: Load, counts: Counts): Duration {
  const { latencyMs, msPerByte } = timesOf(counts)
  const limits = limitsOf(client)
  const inFlight = Math.max(1, (limits[0] ?? USUAL).concurrency - 1)
  const node = (each: keyof Estimate, share: number) => (load.posts[each] * latencyMs) / inFlight / 1000 + (load.wireBytes[each] * msPerByte) / share / 1000
  const ofNode: Estimate = { value: node('value', 1), low: node('low', inFlight), high: node('high', 1) }
  const { rate, seconds } = rateOf(limits, load)
  if (seconds !== undefined && seconds.value >= ofNode.value) return { seconds, limitedBy: 'rate', rate }
  return { seconds: ofNode, limitedBy: 'node', rate }
}

/** The rates of all endpoints together; none if one has none. */
function rateOf(limits: ReturnType<typeof limitsOf>, load: Load): { rate: Duration['rate']; seconds: Estimate | undefined } {
  const [ofMethod] = limits.flatMap(({ units }) => (units?.costOf === undefined ? [] : [units.costOf]))
  const perSecond = limits.map(({ units, callsPerSecond }) => (ofMethod === undefined ? callsPerSecond : units?.perSecond))
  if (perSecond.length === 0 || !perSecond.every((each) => each !== undefined)) return { rate: null, seconds: undefined }
  const all = sum(perSecond)
  return {
    rate: { perSecond: all, of: ofMethod === undefined ? 'calls' : 'units' },
    seconds: linear(costOf(load.calls, ofMethod ?? (() => 1)), 1 / all),
  }
}

/** A line through the times of the POSTs by their size. */
function timesOf({ posts }: Counts): { latencyMs: number; msPerByte: number } {
  const all = [...posts].map(([{ wireBytes }, ms]) => ({ wireBytes, ms }))
  const [meanMs, meanBytes] = [mean(all.map(({ ms }) => ms)), mean(all.map(({ wireBytes }) => wireBytes))]
  const deviations = sum(all.map(({ wireBytes }) => (wireBytes - meanBytes) ** 2))
  const slope = deviations === 0 ? 0 : sum(all.map(({ ms, wireBytes }) => (ms - meanMs) * (wireBytes - meanBytes))) / deviations
  // The time per byte is not negative, and not longer than it would be without latency.
  const msPerByte = meanBytes === 0 ? 0 : Math.min(Math.max(0, slope), meanMs / meanBytes)
  return { latencyMs: meanMs - msPerByte * meanBytes, msPerByte }
}
