import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerTo, type Entry } from './server.ts'

/** How a server that limits its callers does it. */
export interface Limit {
  /** Entries per second, and how many may come at once after a rest. Default: any number. */
  readonly perSecond?: number
  readonly burst?: number
  /** POSTs in flight. Default: any number. */
  readonly concurrency?: number
  /** An error object for each entry over the limit, or HTTP 429 for the whole POST when one of its entries is. */
  readonly refuses: 'entries' | 'posts'
  /** In seconds, with HTTP 429. */
  readonly retryAfter?: number
  /** Of each reply, give or take a tenth. */
  readonly latencyMs: number
  /** Of the latencies' chance. */
  readonly seed?: number
}

/** What became of entries. */
export interface Tally {
  taken: number
  throttled: number
  /** Time in which POSTs were in flight, added up, in ms. */
  busyMs: number
  /** How long it was counted for, in ms. */
  ms: number
}

export interface LimitedServer {
  readonly url: string
  /** Changes the rate. */
  allow(perSecond: number): void
  /** What came since the last `count`, by the time at which it came. */
  count(): Tally
  close(): Promise<void>
}

/** A server on the loopback with a token bucket, as providers have them. It counts what it takes. */
export async function startLimited(limit: Limit): Promise<LimitedServer> {
  const { perSecond = Number.POSITIVE_INFINITY, burst = 0, concurrency = Number.POSITIVE_INFINITY, refuses, retryAfter, latencyMs, seed = 1 } = limit
  const random = chance(seed)
  let rate = perSecond
  let tokens = burst
  let filledAt = performance.now()
  let inFlight = 0
  let tally = { taken: 0, throttled: 0, busyMs: 0 }
  let since = filledAt

  const take = (entries: number, all: boolean): number => {
    if (rate === Number.POSITIVE_INFINITY) return entries
    const now = performance.now()
    tokens = Math.min(burst, tokens + ((now - filledAt) / 1000) * rate)
    filledAt = now
    const taken = all && tokens < entries ? 0 : Math.min(entries, Math.floor(tokens))
    tokens -= taken
    return taken
  }

  const server = http.createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const body = JSON.parse(text) as Entry | Entry[]
    const entries = Array.isArray(body) ? body : [body]
    const isTooMany = ++inFlight > concurrency
    const taken = isTooMany ? 0 : take(entries.length, refuses === 'posts')
    const at = performance.now()
    tally.taken += taken
    tally.throttled += entries.length - taken
    const isRefused = taken === 0 && refuses === 'posts'
    const answer = () => {
      inFlight--
      if (!isTooMany) tally.busyMs += performance.now() - at
      if (isRefused) {
        const headers = { 'content-type': 'text/plain', ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }) }
        response.writeHead(429, headers).end('Too many requests')
        return
      }
      const replies = entries.map(({ id, params }, i) =>
        i < taken ? { jsonrpc: '2.0', id, result: answerTo(params) } : { jsonrpc: '2.0', id, error: { code: -32005, message: 'rate limit exceeded' } },
      )
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(Array.isArray(body) ? replies : replies[0]))
    }
    // Turned away at the door it gets its answer at once.
    setTimeout(answer, isTooMany ? 1 : latencyMs * (0.9 + 0.2 * random()))
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    allow(next) {
      take(0, false)
      rate = next
    },
    count() {
      const now = performance.now()
      const counted = { ...tally, ms: now - since }
      tally = { taken: 0, throttled: 0, busyMs: 0 }
      since = now
      return counted
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

/** Numbers from 0 to 1 that are the same for the same seed (mulberry32, public domain). */
function chance(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
