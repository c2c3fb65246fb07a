import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import type { RestOptions, Service } from '../../src/rest/index.ts'
import { send } from './server.ts'

/** One GET as it came over the wire. */
interface Asked {
  readonly method: string
  /** With its query, exactly as sent. */
  readonly url: string
  readonly path: string
  /** The part after the `?`, exactly as sent. */
  readonly query: string
  readonly cursor: string | undefined
  readonly headers: http.IncomingHttpHeaders
  /** On the clock of `performance.now()`. */
  readonly at: number
  readonly socket: Socket
  /** Resolves if the client cuts the connection before the answer is complete. */
  readonly hungUp: Promise<void>
}

/** The answer to one GET. */
export type Answer = (asked: Asked, response: http.ServerResponse) => unknown

export interface RestServer {
  readonly url: string
  /** All three groups on this server. */
  readonly service: Service
  readonly requests: readonly Asked[]
  /** The `n`th GET (from 1), as soon as it has arrived. */
  received(n: number): Promise<Asked>
  /** Sets the answers to the next GETs. The last one repeats. Forgets the earlier requests. */
  script(...answers: [Answer, ...Answer[]]): void
  close(): Promise<void>
}

export const KEY = 'q7zSECRETq7zSECRET'

/**
 * A server of the data, NFT and streams groups with scripted answers, one for each GET. The last
 * one repeats.
 */
export async function serveRest(...answers: [Answer, ...Answer[]]): Promise<RestServer> {
  const requests: Asked[] = []
  const sockets = new Set<Socket>()
  let awaited: { n: number; resolve: (asked: Asked) => void }[] = []
  let script = answers
  const server = http.createServer(async (incoming, response) => {
    const { url = '', method = '', headers, socket } = incoming
    const hungUp = new Promise<void>((resolve) => response.on('close', () => response.writableFinished || resolve()))
    const [path = '', query = ''] = url.split('?')
    const cursor = new URLSearchParams(query).get('cursor') ?? undefined
    const asked: Asked = { method, url, path, query, cursor, headers, at: performance.now(), socket, hungUp }
    const answer = script[Math.min(requests.length, script.length - 1)] as Answer
    requests.push(asked)
    for (const { n, resolve } of awaited) if (n === requests.length) resolve(asked)
    await answer(asked, response)
  })
  server.keepAliveTimeout = 60_000
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  const url = `http://127.0.0.1:${await unusedPort(server)}`
  const made: RestServer = {
    url,
    service: { dataUrl: url, nftUrl: url, streamsUrl: url, apiKey: KEY },
    requests,
    received: (n) =>
      new Promise((resolve) => {
        const already = requests[n - 1]
        if (already !== undefined) resolve(already)
        else awaited.push({ n, resolve })
      }),
    script(...next) {
      script = next
      requests.length = 0
      awaited = []
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

/** Ports of all servers so far. */
const usedPorts = new Set<number>()

/**
 * Listens on a port that no server had before: hexline remembers by host and key that an endpoint
 * throttles, for an hour in one test.
 */
async function unusedPort(server: http.Server): Promise<number> {
  for (;;) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    if (!usedPorts.has(port)) {
      usedPorts.add(port)
      return port
    }
    await new Promise((resolve) => server.close(resolve))
  }
}

/** Answers every request with this text, or with this value as JSON. */
export function always(body: unknown, how: { status?: number; headers?: Record<string, string> } = {}): Answer {
  return (_, response) => send(response, typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body), how)
}

/** Accepts the request and never answers while the client waits. */
export const silent: Answer = (asked) => asked.hungUp

/** Accepts the request and cuts the connection. */
export const cut: Answer = ({ socket }) => void socket.destroy()

/** Starts a reply and never continues it while the client waits. */
export const stalled: Answer = (asked, response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write('{"result":[')
  return asked.hungUp
}

/** A page without a next one. */
export const emptyPage: Answer = always({ result: [], cursor: null })

/**
 * One page for each cursor, with '' for the first page. Unknown cursors are refused, so that no
 * test passes by accident.
 */
export function pages(byCursor: Readonly<Record<string, unknown>>): Answer {
  return ({ cursor = '' }, response) => {
    const page = byCursor[cursor]
    if (page === undefined) send(response, JSON.stringify({ message: `no such cursor: ${cursor}` }), { status: 400 })
    else send(response, JSON.stringify(page))
  }
}

/** Retries without noticeable delay. */
export const quick = { baseDelayMs: 1, maxDelayMs: 2 } satisfies RestOptions['retry']
