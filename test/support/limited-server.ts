import type { Clock } from '../../src/wait/clock.ts'
import { randomFrom } from './random.ts'
import { type Answer, answerTo } from './server.ts'

/** How a server limits its clients. */
export interface Limit {
  /** Entries per second, and the burst after an idle time. Default: no limit. */
  readonly perSecond?: number
  readonly burst?: number
  /** POSTs in flight. Default: no limit. */
  readonly concurrency?: number
  /**
   * What is refused: each entry over the limit with an error object, or a whole POST with HTTP 429
   * if any of its entries is.
   */
  readonly refuses: 'entries' | 'posts'
  /** `Retry-After` of HTTP 429, in seconds. */
  readonly retryAfter?: number
  /** Part of the POSTs that are turned away with HTTP 503, whatever the rate. Default: none. */
  readonly busy?: number
  /** Of this many taken calls, the last one has an error of its own. Default: none has. */
  readonly reverts?: number
  /** Latency of each reply, in ms, plus or minus a tenth. */
  readonly latencyMs: number
  /** Seed for the latencies. */
  readonly seed?: number
}

/** Outcomes of entries. */
export interface Tally {
  taken: number
  throttled: number
  /** Total time of all POSTs in flight, in ms. */
  busyMs: number
  /** Duration of the count, in ms. */
  ms: number
}

export interface Limiter {
  readonly answer: Answer
  /**
   * Changes the rate; 0 refuses everything from now on. `status` is that of refused POSTs, 429 by
   * default.
   */
  allow(perSecond: number, status?: number): void
  /** The outcomes since the last `count`, by time of arrival. */
  count(): Tally
}

/**
 * Answers of a server with a token bucket, as providers have them. It counts the calls it accepts.
 */
export function limiter(clock: Clock, limit: Limit): Limiter {
  const {
    perSecond = Number.POSITIVE_INFINITY,
    burst = 0,
    concurrency = Number.POSITIVE_INFINITY,
    refuses,
    retryAfter,
    busy = 0,
    reverts = Number.POSITIVE_INFINITY,
    latencyMs,
    seed = 1,
  } = limit
  const random = randomFrom(seed)
  const randomBusy = randomFrom(seed)
  let rate = perSecond
  let status = 429
  let tokens = burst
  let filledAt = clock.now()
  let inFlight = 0
  let tally = { taken: 0, throttled: 0, busyMs: 0 }
  let since = filledAt
  let answered = 0

  const take = (entries: number, all: boolean): number => {
    if (rate === Number.POSITIVE_INFINITY) return entries
    const now = clock.now()
    tokens = Math.min(burst, tokens + ((now - filledAt) / 1000) * rate)
    filledAt = now
    const taken = all && tokens < entries ? 0 : Math.min(entries, Math.floor(tokens))
    tokens -= taken
    return taken
  }

  const answer: Answer = async ({ entries, isBatch }, response) => {
    const isTooMany = ++inFlight > concurrency
    const isBusy = busy > 0 && randomBusy() < busy
    const taken = isTooMany || isBusy ? 0 : take(entries.length, refuses === 'posts')
    const at = clock.now()
    tally.taken += taken
    tally.throttled += entries.length - taken
    // A POST beyond the limit is refused at once.
    const ms = isTooMany ? 1 : latencyMs * (0.9 + 0.2 * random())
    await new Promise<void>((resolve) => void clock.wakeAt(at + ms, resolve))
    inFlight--
    if (!isTooMany) tally.busyMs += clock.now() - at
    if (isBusy) {
      response.writeHead(503, { 'content-type': 'text/plain' }).end('Busy')
      return
    }
    if (taken === 0 && refuses === 'posts') {
      const headers = { 'content-type': 'text/plain', ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }) }
      response.writeHead(status, headers).end(status === 429 ? 'Too many requests' : 'Busy')
      return
    }
    const replies = entries.map(({ id, params }, i) => {
      if (i >= taken) return { jsonrpc: '2.0', id, error: { code: -32005, message: 'rate limit exceeded' } }
      return ++answered % reverts === 0
        ? { jsonrpc: '2.0', id, error: { code: 3, message: 'execution reverted' } }
        : { jsonrpc: '2.0', id, result: answerTo(params) }
    })
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(isBatch ? replies : replies[0]))
  }

  return {
    answer,
    allow(next, statusOfRefusals = 429) {
      take(0, false)
      rate = next
      status = statusOfRefusals
      if (rate === 0) tokens = 0
    },
    count() {
      const now = clock.now()
      const counted = { ...tally, ms: now - since }
      tally = { taken: 0, throttled: 0, busyMs: 0 }
      since = now
      return counted
    },
  }
}
