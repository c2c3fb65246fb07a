import type { Call } from '../../src/rpc/call.ts'
import { Pacer } from '../../src/rpc/limits/rate/pacer.ts'
import { randomFrom } from './random.ts'

/** A server with a token bucket, and a client with a constant supply of calls, in virtual time. */
export interface World {
  /** Calls per second that the bucket allows. Default: no limit. */
  readonly limitAt?: (now: number) => number
  readonly burst?: number
  /** Share of POSTs that are throttled for another reason. Default 0. */
  readonly byChance?: number
  /** Share of calls that are throttled for another reason, each by itself. Default 0. */
  readonly callsByChance?: number
  /** What is refused: whole POSTs with calls over the limit, or only the calls over it. */
  readonly refuses: 'entries' | 'posts'
  /** Latency of each reply, in ms, plus or minus a tenth. */
  readonly latencyMs: number
  /** Wait that each refusal asks for, in ms. Default 0. */
  readonly retryAfterMs?: number
  /** POSTs in flight, and calls per POST. Default 8 and 100. */
  readonly slots?: number
  readonly maxCalls?: number
  /** Calls per second that the client wants to make. Default: no limit. */
  readonly demand?: (now: number) => number
  readonly untilMs: number
  readonly seed?: number
}

interface Flight {
  readonly sentAt: number
  readonly landsAt: number
  readonly calls: number
  readonly answered: number
}

const ANY = { method: 'any' } as Call
/** How long a client pauses for a server that answers nothing, at first and at most, in ms. */
const FIRST_PAUSE = 62
const LONGEST_PAUSE = 2000

/**
 * What a `Pacer` makes of it, in steps of a ms. `between` two times in s: the calls answered per
 * second, and the part of calls that was refused.
 */
export function simulate(world: World) {
  const { limitAt = () => Number.POSITIVE_INFINITY, burst = 0, byChance = 0, callsByChance = 0, refuses, latencyMs, retryAfterMs = 0 } = world
  const { slots = 8, maxCalls = 100, demand = () => Number.POSITIVE_INFINITY, untilMs, seed = 1 } = world
  const random = randomFrom(seed)
  const pace = new Pacer(undefined, 0)
  const seconds = Array.from({ length: Math.ceil(untilMs / 1000) }, () => ({ answered: 0, refused: 0 }))
  let flights: Flight[] = []
  let tokens = burst
  let waiting = 0
  let pausedUntil = 0
  let pauses = 0
  let isAnswering = false

  const land = ({ sentAt, calls, answered }: Flight, now: number) => {
    if (answered > 0) {
      pace.answered(answered, now - sentAt, slots, answered === calls, now)
      isAnswering = true
    }
    if (answered === calls) {
      pauses = 0
      return
    }
    waiting += calls - answered
    pace.throttled({ sentAt, tookMs: now - sentAt, part: (calls - answered) / calls, pauseMs: retryAfterMs }, now)
    if (retryAfterMs > 0 || !isAnswering) {
      if (now >= pausedUntil) pauses++
      pausedUntil = Math.max(pausedUntil, now + (retryAfterMs || Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (pauses - 1))))
    }
    isAnswering = false
  }

  for (let now = 1; now < untilMs; now++) {
    const limit = limitAt(now)
    tokens = Math.min(burst, tokens + limit / 1000)
    waiting = Math.min(5000, waiting + demand(now) / 1000)
    for (const flight of flights) if (flight.landsAt <= now) land(flight, now)
    flights = flights.filter(({ landsAt }) => landsAt > now)
    while (flights.length < slots && waiting >= 1 && now >= pausedUntil) {
      const line = { size: Math.floor(waiting), first: ANY }
      // An alarm fires at the next ms.
      if (pace.msUntil(line, maxCalls, now) > 0.5) break
      const calls = Math.min(line.size, pace.room(maxCalls, now))
      if (calls < 1) break
      pace.started(
        Array.from({ length: calls }, () => ANY),
        now,
      )
      waiting -= calls
      const isLimited = limit !== Number.POSITIVE_INFINITY
      let answered = !isLimited ? calls : refuses === 'posts' ? (tokens >= calls ? calls : 0) : Math.min(calls, Math.floor(tokens))
      if (isLimited) tokens -= answered
      if (random() < byChance) answered = refuses === 'posts' ? 0 : Math.floor(answered / 2)
      if (callsByChance > 0) for (let left = answered; left > 0; left--) if (random() < callsByChance) answered--
      const second = seconds[Math.floor(now / 1000)] as { answered: number; refused: number }
      second.answered += answered
      second.refused += calls - answered
      flights.push({ sentAt: now, landsAt: now + latencyMs * (0.9 + 0.2 * random()), calls, answered })
    }
  }
  return {
    between(from: number, to: number): { used: number; refused: number } {
      const those = seconds.slice(from, to)
      const answered = those.reduce((sum, each) => sum + each.answered, 0)
      const refused = those.reduce((sum, each) => sum + each.refused, 0)
      return { used: answered / (to - from), refused: refused / (answered + refused) }
    },
  }
}
