import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { setTimeout as after } from 'node:timers/promises'
import { HexlineError } from '../errors.ts'
import { deliver, type Fault, replyOf } from './faults.ts'
import { checkHost } from './host.ts'
import { failureOfNode } from './json-rpc.ts'
import { BadQuery } from './query.ts'
import { json, Refusal, type Reply } from './reply.ts'

/** Longest body of a request, in bytes. */
const LONGEST_BODY = 10 * 1024 * 1024

/** A request, before its body is read. */
export interface Incoming {
  readonly method: string
  /** Segments of the path, decoded. */
  readonly path: readonly string[]
  readonly search: URLSearchParams
  readonly headers: http.IncomingHttpHeaders
  /** The whole body. Throws `Refusal` with 413. */
  body(): Promise<Buffer>
  /** Aborted when the client has disconnected. */
  readonly signal: AbortSignal
}

/** Returns the reply to a request, or throws `Refusal`. */
export type Handler = (incoming: Incoming) => Reply | Promise<Reply>

/** How the server treats every request. */
export interface ServerSettings {
  readonly latencyMs: number
  readonly nextFault: () => Fault | undefined
  /** Host names to accept in addition to those of the loopback. */
  readonly allowedHosts: readonly string[]
}

/** Answers every request by the handler, after the latency, unless a fault is injected. */
export function createServer(handler: Handler, { latencyMs, nextFault, allowedHosts }: ServerSettings): http.Server {
  const server = http.createServer(async (request, response) => {
    const fault = nextFault()
    const gone = new AbortController()
    response.once('close', () => gone.abort(new Error('the client disconnected')))
    response.on('error', () => {})
    try {
      const reply = replyOf(fault) ?? (await answer(handler, request, allowedHosts, gone.signal))
      // An unread body is drained: a client that is still sending would not see the reply.
      request.resume()
      if (latencyMs > 0) await after(latencyMs, undefined, { signal: gone.signal })
      if (!gone.signal.aborted) deliver(response, reply, fault)
    } catch (error) {
      // Only a client that disconnects gets no reply.
      if (!gone.signal.aborted) fail(response, error)
    }
  })
  // Keeps connections open for clients that return a little later.
  server.keepAliveTimeout = 60_000
  return server
}

async function answer(handler: Handler, request: IncomingMessage, allowedHosts: readonly string[], signal: AbortSignal): Promise<Reply> {
  try {
    checkHost(request.headers.host, allowedHosts)
    const { pathname, searchParams } = new URL(`http://sandbox${request.url ?? '/'}`)
    const path = pathname.slice(1).split('/').map(decodeURIComponent)
    const { method = 'GET', headers } = request
    return await handler({ method, path, search: searchParams, headers, body: () => bodyOf(request), signal })
  } catch (error) {
    if (error instanceof Refusal) return error.reply
    if (error instanceof BadQuery) return json(400, { message: error.message, details: error.problems })
    if (error instanceof HexlineError) return failureOfNode(error)
    if (error instanceof URIError || (error as NodeJS.ErrnoException).code === 'ERR_INVALID_URL') return json(400, { message: 'invalid path' })
    throw error
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const tooLarge = () => new Refusal(413, `request body too large: the limit is ${LONGEST_BODY} bytes`)
  if (Number(request.headers['content-length'] ?? 0) > LONGEST_BODY) throw tooLarge()
  const chunks: Buffer[] = []
  let length = 0
  // By events, since leaving a `for await` over the request would close the connection before the
  // reply.
  return await new Promise((resolve, reject) => {
    const onData = (chunk: Buffer) => {
      length += chunk.length
      if (length <= LONGEST_BODY) chunks.push(chunk)
      else {
        request.off('data', onData)
        reject(tooLarge())
      }
    }
    request.on('data', onData)
    request.once('end', () => resolve(Buffer.concat(chunks)))
    request.once('close', () => reject(new Error('the client disconnected')))
  })
}

function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy()
  deliver(response, json(500, { message: `the sandbox failed: ${(error as Error).name}` }), undefined)
}
