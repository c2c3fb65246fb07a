import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { type Client, type ClientOptions, createClient, type Endpoint } from '../../src/index.ts'

/** One call as it came over the wire. */
export interface Entry {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** One POST as it came over the wire. */
export interface Received {
  readonly entries: readonly Entry[]
  /** Whether the body was an array. */
  readonly isBatch: boolean
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  /** When its body had arrived, on the clock of `performance.now()`. */
  readonly at: number
  readonly socket: Socket
  /** Resolves if the client cuts the connection before the answer is complete. */
  readonly hungUp: Promise<void>
}

/** The answer to one POST. */
export type Answer = (request: Received, response: http.ServerResponse) => unknown

export interface TestServer {
  /** Without a path. */
  readonly url: string
  readonly port: number
  readonly requests: readonly Received[]
  /** The open sockets. */
  readonly sockets: ReadonlySet<Socket>
  /** Number of sockets opened so far. */
  readonly opened: number
  /** The `n`th POST (from 1), as soon as it has arrived. */
  received(n: number): Promise<Received>
  /** Sets the answers to the next POSTs. The last one repeats. */
  script(...answers: [Answer, ...Answer[]]): void
  close(): Promise<void>
}

/**
 * A server on the loopback interface with scripted answers, one for each POST. The last one
 * repeats.
 */
export function serve(...answers: [Answer, ...Answer[]]): Promise<TestServer> {
  return serveAt(0, ...answers)
}

/** The same on a given port. */
async function serveAt(at: number, ...answers: [Answer, ...Answer[]]): Promise<TestServer> {
  const requests: Received[] = []
  const sockets = new Set<Socket>()
  const awaited: { n: number; resolve: (request: Received) => void }[] = []
  let script = answers
  let served = 0
  let opened = 0

  const server = http.createServer(async (incoming, response) => {
    const hungUp = new Promise<void>((resolve) => response.on('close', () => response.writableFinished || resolve()))
    let text = ''
    try {
      for await (const chunk of incoming.setEncoding('utf8')) text += chunk
    } catch {
      return
    }
    const body = JSON.parse(text)
    const isBatch = Array.isArray(body)
    const { socket, headers, url = '' } = incoming
    const request: Received = { entries: isBatch ? body : [body], isBatch, path: url, headers, at: performance.now(), socket, hungUp }
    requests.push(request)
    for (const { n, resolve } of awaited) if (n === requests.length) resolve(request)
    const answer = script[Math.min(served++, script.length - 1)] as Answer
    await answer(request, response)
  })
  server.keepAliveTimeout = 60_000
  server.on('connection', (socket) => {
    opened++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  const made: TestServer = {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    sockets,
    get opened() {
      return opened
    },
    received: (n) =>
      new Promise((resolve) => {
        const already = requests[n - 1]
        if (already !== undefined) resolve(already)
        else awaited.push({ n, resolve })
      }),
    script(...next) {
      script = next
      served = 0
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
  onTestFinished(() => made.close())
  return made
}

/**
 * A client that is closed when the test ends. Its waits are short, so that retries take no time.
 */
export function clientOf(endpoint: Endpoint | readonly [Endpoint, ...Endpoint[]], options: ClientOptions = {}): Client {
  const client = createClient(endpoint, { retry: { baseDelayMs: 2, maxDelayMs: 10 }, ...options })
  onTestFinished(() => client.close())
  return client
}

/** A read that may share a batch, and whose right answer is `answerTo(params)`. */
export function read(client: Client, ...params: unknown[]): Promise<unknown> {
  return client.request({ method: 'eth_getBalance', params })
}

/** The right answer to a call, which identifies the call. */
export function answerTo(params: readonly unknown[]): { asked: readonly unknown[] } {
  return { asked: params }
}

/** The right reply object for an entry. */
export function right({ id, params }: Entry): { jsonrpc: string; id: number; result: unknown } {
  return { jsonrpc: '2.0', id, result: answerTo(params) }
}

/** The reply object of a failed call. */
export function failed({ id }: Pick<Entry, 'id'>, code: number, message: string, data?: unknown): object {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } }
}

/**
 * Answers with the JSON that `make` returns for each entry: an object for a single call, an array
 * for a batch.
 */
export function each(make: (entry: Entry) => unknown, how: { status?: number; headers?: Record<string, string> } = {}): Answer {
  return (request, response) => {
    const replies = request.entries.map(make)
    send(response, JSON.stringify(request.isBatch ? replies : replies[0]), how)
  }
}

/** Answers every call correctly. */
export const honest: Answer = each(right)

/** Answers every request with this text, or with this value as JSON. */
export function always(body: unknown, how: { status?: number; headers?: Record<string, string> } = {}): Answer {
  return (_, response) => send(response, typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body), how)
}

/** Refuses every call with this error. */
export function refuse(code: number, message: string, how: { status?: number; headers?: Record<string, string> } = {}): Answer {
  return each((entry) => failed(entry, code, message), how)
}

/** Accepts the request and never answers while the client waits. */
export const silent: Answer = (request) => request.hungUp

/** Accepts the request and cuts the connection. */
export const cut: Answer = ({ socket }) => void socket.destroy()

/** Answers only after the gate has been opened. */
export function gate(answer: Answer = honest): { open(): void; answer: Answer } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return {
    open,
    answer: async (request, response) => {
      await Promise.race([opened, request.hungUp])
      if (!request.socket.destroyed) await answer(request, response)
    },
  }
}

export function send(
  response: http.ServerResponse,
  body: string | Buffer,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(body)
}

/** The error of a rejected promise. */
export async function errorOf<E = Error & Record<string, unknown>>(promise: Promise<unknown>): Promise<E> {
  try {
    await promise
  } catch (error) {
    return error as E
  }
  throw new Error('it was expected to reject')
}

/**
 * A port without a server. It is none of those that systems give to servers and connections, which
 * another test's server might get in the meantime.
 */
export async function deadPort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    const server = http.createServer()
    const isFree = await new Promise((resolve) => server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)))
    if (!isFree) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}
