import { LEAST_CALLS } from '../../adapters/bullmq/budget-script.ts'
import { rangesOf } from '../../src/dataset/shard.ts'
import { HttpError } from '../../src/errors.ts'
import type { Call } from '../../src/rpc/call.ts'
import { type BatchInFlight, batchResult } from '../../src/rpc/limits/batch-result.ts'
import { EndpointLimits } from '../../src/rpc/limits/endpoint-limits.ts'
import { replyOf } from '../../src/rpc/reply.ts'
import { randomFrom } from './random.ts'

/*
 * A model of an export by many workers at many endpoints, in virtual time, in two steps:
 *
 * 1. one endpoint with a limit of calls per second and the workers that share it, POST by POST,
 *    with the client's own limits: how much of the limit is used, how much is refused, how often
 *    the shared budget is asked;
 * 2. the whole export, range by range, with shards as they are dealt out, or a queue: workers that
 *    share an endpoint get equal parts of what it answers, and die.
 */

export interface EndpointWorld {
  readonly workers: number
  /** Calls per second that the endpoint takes; it allows a burst of a tenth of a second. */
  readonly limit: number
  /** Whether the workers share one budget, or each learns for itself. */
  readonly isShared: boolean
  readonly latencyMs: number
  /**
   * With a shared budget: calls are granted for this long at a time, in ms. They go in two halves.
   */
  readonly leaseMs: number
  readonly untilMs: number
  readonly seed: number
}

export interface EndpointUse {
  /** Calls answered per second in the second half, as a part of the limit. */
  readonly used: number
  /** Part of the calls that was refused. */
  readonly refused: number
  /** Questions to the shared budget per second. */
  readonly asked: number
}

const CALL = { method: 'any', params: [], deadline: Number.POSITIVE_INFINITY, priority: 'interactive', safe: true } as unknown as Call
const WAITING = { size: 1000, first: CALL }
/** POSTs in flight of a worker, and calls in a POST, at most. */
const SLOTS = 8
const MOST_CALLS = 100

interface Flight {
  readonly worker: number
  readonly landsAt: number
  readonly batch: BatchInFlight
  readonly taken: number
}

/** What becomes of the limit of one endpoint, in steps of a ms. */
export function simulateEndpoint({ workers, limit, isShared, latencyMs, leaseMs, untilMs, seed }: EndpointWorld): EndpointUse {
  const random = randomFrom(seed)
  // All that share a budget learn together.
  const concurrency = isShared ? SLOTS * workers : SLOTS
  const options = {
    concurrency,
    singleConcurrency: concurrency,
    maxCalls: MOST_CALLS,
    backoff: { baseDelayMs: 100, maxDelayMs: 10_000, random },
    isHeavy: () => false,
  }
  const learnt = Array.from({ length: isShared ? 1 : workers }, () => new EndpointLimits(options, 0))
  const limitsOf = (worker: number) => learnt[isShared ? 0 : worker] as EndpointLimits
  const burst = limit / 10
  const open = new Array<number>(workers).fill(0)
  const notBefore = new Array<number>(workers).fill(0)
  /** The second half of each worker's lease. */
  const granted = new Array<number>(workers).fill(0)
  let flights: Flight[] = []
  let tokens = burst
  let [answered, refused, asked] = [0, 0, 0]

  for (let now = 1; now < untilMs; now++) {
    tokens = Math.min(burst, tokens + limit / 1000)
    const landed = flights.filter(({ landsAt }) => landsAt <= now)
    if (landed.length > 0) flights = flights.filter(({ landsAt }) => landsAt > now)
    for (const { worker, batch, taken } of landed) {
      open[worker] = (open[worker] as number) - 1
      notBefore[worker] = now
      const outcomes = batch.calls.map((_, i) =>
        i < taken ? replyOf('0x1', 10) : new HttpError({ status: 429, headers: {}, body: '' }, { kind: 'rate-limit' }),
      )
      limitsOf(worker).finished(batchResult(batch, outcomes), now, () => false)
    }
    // Another one is first each time.
    for (let i = 0; i < workers; i++) {
      const worker = (i + now) % workers
      const limits = limitsOf(worker)
      if ((open[worker] as number) >= Math.min(SLOTS, limits.concurrency) || (notBefore[worker] as number) > now) continue
      const plan = limits.plan(now, WAITING, false, 1)
      if ('waitMs' in plan) {
        if (!isShared) notBefore[worker] = now + Math.min(plan.waitMs, latencyMs)
        continue
      }
      const perSecond = limits.current.callsPerSecond ?? Number.POSITIVE_INFINITY
      let half = isShared ? (granted[worker] as number) : MOST_CALLS
      granted[worker] = 0
      if (half === 0) {
        const lease = Math.min(MOST_CALLS, Math.max(LEAST_CALLS, Math.floor((perSecond * leaseMs) / 1000 / workers)))
        half = Math.ceil(lease / 2)
        granted[worker] = lease - half
        if (now >= untilMs / 2) asked++
      }
      const calls = Math.min(half, plan.maxCalls)
      const batch = limits.started(new Array<Call>(calls).fill(CALL), now, false)
      const taken = Math.min(calls, Math.floor(tokens))
      tokens -= taken
      open[worker] = (open[worker] as number) + 1
      flights.push({ worker, batch, landsAt: now + latencyMs * (0.8 + 0.4 * random()), taken })
      if (now < untilMs / 2) continue
      answered += taken
      refused += calls - taken
    }
  }
  const seconds = untilMs / 2000
  return { used: answered / seconds / limit, refused: refused / (answered + refused), asked: asked / seconds }
}

export interface ExportWorld {
  readonly blocks: number
  readonly blocksPerFile: number
  readonly callsPerBlock: number
  readonly workers: number
  readonly endpoints: number
  /** Calls per second that each endpoint answers. */
  readonly callsPerSecond: number
  /** Part of the workers that dies in an hour. */
  readonly diesPerHour: number
  /** How long until a dead worker runs again, in s; infinite: never. */
  readonly restartS: number
  /**
   * Ranges are dealt out by number, or by a queue, where the range of a dead worker goes to another
   * one: after its lock of `lockS` has run out, and the next look for such ranges, as often.
   */
  readonly by: 'shards' | { readonly lockS: number }
  readonly seed: number
}

export interface ExportRun {
  /** Until the last range was committed, and until 99 of 100 were, in s. */
  readonly seconds: number
  readonly most: number
  /** With as many workers that never die, and the same endpoints. */
  readonly ideal: number
  /** Deaths while ranges were left, and ranges that were begun again. */
  readonly deaths: number
  readonly repeated: number
  /** How often each range was committed. */
  readonly commits: Uint8Array
}

interface Worker {
  readonly endpoint: number
  range: number | undefined
  /** The work that its endpoint will have done for each of its workers when the range is whole. */
  doneAt: number
  diesAt: number
}

/** Something that was put off. */
interface Later {
  readonly at: number
  readonly act: (now: number) => void
}

/** A whole export, from one event to the next. */
export function simulateExport(world: ExportWorld): ExportRun {
  const { blocks, blocksPerFile, callsPerBlock, workers, endpoints, callsPerSecond, diesPerHour, restartS, by, seed } = world
  const random = randomFrom(seed)
  const total = Math.ceil(blocks / blocksPerFile)
  const perSecond = -Math.log(1 - diesPerHour) / 3600
  const nextDeath = (now: number) => (perSecond === 0 ? Number.POSITIVE_INFINITY : now - Math.log(1 - random()) / perSecond)
  const callsOf = (range: number) => callsPerBlock * (Math.min(blocks, (range + 1) * blocksPerFile) - range * blocksPerFile)

  // What is left: of each shard, or of all.
  const isQueue = by !== 'shards'
  const dealt = (index: number, of: number) =>
    Array.from(rangesOf({ from: 0, to: blocks - 1 }, blocksPerFile, { index, of }), ({ from }) => from / blocksPerFile).reverse()
  const lines = isQueue ? [dealt(1, 1)] : Array.from({ length: workers }, (_, i) => dealt(i + 1, workers))
  const lineOf = (worker: number) => lines[isQueue ? 0 : worker] as number[]

  const all: Worker[] = Array.from({ length: workers }, (_, i) => ({ endpoint: i % endpoints, range: undefined, doneAt: 0, diesAt: nextDeath(0) }))
  /** For each endpoint: what it has done for each of its workers, in calls, and until when. */
  const service = Array.from({ length: endpoints }, () => ({ done: 0, at: 0, busy: new Set<number>() }))
  const later: Later[] = []
  const commits = new Uint8Array(total)
  let [committed, deaths, repeated, most] = [0, 0, 0, 0]

  const advance = (endpoint: number, now: number) => {
    const its = service[endpoint] as (typeof service)[number]
    if (its.busy.size > 0) its.done += ((now - its.at) * callsPerSecond) / its.busy.size
    its.at = now
  }
  const take = (index: number, now: number) => {
    const worker = all[index] as Worker
    const range = lineOf(index).pop()
    worker.range = range
    if (range === undefined) return
    advance(worker.endpoint, now)
    const its = service[worker.endpoint] as (typeof service)[number]
    its.busy.add(index)
    worker.doneAt = its.done + callsOf(range)
  }
  const leave = (index: number, now: number): number | undefined => {
    const worker = all[index] as Worker
    const { range } = worker
    if (range === undefined) return undefined
    advance(worker.endpoint, now)
    ;(service[worker.endpoint] as (typeof service)[number]).busy.delete(index)
    worker.range = undefined
    return range
  }
  /** Workers that wait for a range of the queue take it. */
  const wake = (now: number) => {
    for (const [index, { range, diesAt }] of all.entries()) if (isQueue && range === undefined && diesAt > now && lines[0]?.length !== 0) take(index, now)
  }
  const die = (index: number, now: number) => {
    const worker = all[index] as Worker
    deaths++
    worker.diesAt = Number.NEGATIVE_INFINITY
    const range = leave(index, now)
    if (range !== undefined) {
      repeated++
      const giveBack = (at: number) => {
        lineOf(index).push(range)
        wake(at)
      }
      if (by === 'shards') giveBack(now)
      else later.push({ at: now + by.lockS * (1 + random()), act: giveBack })
    }
    if (restartS === Number.POSITIVE_INFINITY) return
    later.push({
      at: now + restartS,
      act: (at) => {
        worker.diesAt = nextDeath(at)
        take(index, at)
      },
    })
  }

  for (let i = 0; i < workers; i++) take(i, 0)
  let now = 0
  while (committed < total) {
    // The next thing that happens: a range is whole, a worker dies, or something that was put off.
    let [next, act] = [Number.POSITIVE_INFINITY, (_: number) => {}]
    for (const its of service) {
      for (const index of its.busy) {
        const at = its.at + (Math.max(0, (all[index] as Worker).doneAt - its.done) * its.busy.size) / callsPerSecond
        if (at >= next) continue
        next = at
        act = (time) => {
          const range = leave(index, time) as number
          commits[range] = (commits[range] as number) + 1
          committed++
          if (committed === Math.ceil(0.99 * total)) most = time
          take(index, time)
        }
      }
    }
    for (const [index, { diesAt }] of all.entries()) {
      if (diesAt < now || diesAt >= next) continue
      next = diesAt
      act = (time) => die(index, time)
    }
    const put = later.reduce<Later | undefined>((first, each) => (each.at < (first?.at ?? next) ? each : first), undefined)
    if (put !== undefined) {
      later.splice(later.indexOf(put), 1)
      next = put.at
      act = put.act
    }
    if (next === Number.POSITIVE_INFINITY) throw new Error('ranges are left, and nobody works on them')
    now = next
    act(now)
  }
  return { seconds: now, most, ideal: (blocks * callsPerBlock) / (endpoints * callsPerSecond), deaths, repeated, commits }
}
