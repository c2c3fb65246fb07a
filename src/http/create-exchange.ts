import { acceptEncoding, Decompressor } from './compression.ts'
import type { Exchange, ExchangeOptions } from './exchange.ts'
import { ExchangeInFlight } from './exchange-in-flight.ts'
import { BodyProgress } from './progress.ts'
import { readIntoOneBuffer } from './receiving.ts'
import { Pool } from './undici.ts'

/**
 * How long to keep an idle socket, in ms, even if the server offers more; less if it offers less.
 * This is enough for the usual polling interval of 4 s, and a program with hundreds of clients does
 * not hold the sockets of those it no longer uses.
 */
const IDLE_MS = 8000

/**
 * HTTP exchanges over undici: a request, then status, headers and body. The body is not
 * interpreted.
 */
export function createExchange(options: ExchangeOptions): Exchange {
  const { url, timeoutMs, connections } = options
  // undici's own timeouts are coarse, and none covers a whole exchange. They are off, and one alarm
  // does.
  const own = options.dispatcher
    ? undefined
    : new Pool(url.origin, {
        connections,
        pipelining: 1,
        headersTimeout: 0,
        bodyTimeout: 0,
        connect: { timeout: timeoutMs, ...readIntoOneBuffer },
        keepAliveTimeout: IDLE_MS,
        keepAliveMaxTimeout: IDLE_MS,
      })
  const dispatcher = options.dispatcher ?? (own as Pool)
  const progress = options.progress ?? new BodyProgress()
  const decompressor = new Decompressor()
  const headers: string[] = []
  for (const [name, value] of Object.entries({ ...(options.compression ? { 'accept-encoding': acceptEncoding } : {}), ...options.headers })) {
    headers.push(name, value)
  }

  return {
    send(request, signal) {
      return new Promise((resolve, reject) => {
        const exchange = new ExchangeInFlight(options, request, progress, decompressor, signal, resolve, reject)
        if (exchange.isSettled) return
        const body = request.body ?? null
        try {
          dispatcher.dispatch({ origin: url.origin, path: request.path, method: request.method, headers, body, headersTimeout: 0, bodyTimeout: 0 }, exchange)
        } catch (error) {
          exchange.onResponseError(undefined, error as Error)
        }
      })
    },
    async close() {
      await own?.destroy()
    },
  }
}
