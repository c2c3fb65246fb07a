import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import { afterEach, beforeEach, onTestFinished } from 'vitest'
import type { WebSocket } from 'ws'
import { createClientOn } from '../../src/client/create-client.ts'
import type { Client, ClientOptions, Endpoint } from '../../src/index.ts'
import { randomFrom } from './random.ts'
import type { Answer, Received, TestServer } from './server.ts'
import { VirtualClock } from './virtual-clock.ts'
import { acceptWebSocket } from './virtual-web-socket.ts'

/** Replacements for servers, sockets and time. All of hexline runs except for undici's pool. */
export interface VirtualWorld {
  readonly clock: VirtualClock
  /** Lets virtual time pass. */
  sleep(ms: number): Promise<void>
  /** Like `serve` and `serveAt` of server.ts. */
  serve(...answers: [Answer, ...Answer[]]): Promise<TestServer>
  serveAt(port: number, ...answers: [Answer, ...Answer[]]): Promise<TestServer>
  /**
   * A server of WebSockets; gives its URL. Refuses connections while `mayOpen` says no, says
   * nothing or answers with a status if that is what it gives, and hands out each socket that is
   * opened.
   */
  serveWebSocket(mayOpen: () => boolean | 'silent' | number, onOpen: (webSocket: WebSocket) => void): string
  /**
   * A client of these servers, on their clock, that is closed when the test ends. Its waits are
   * short, as in `clientOf` of server.ts.
   */
  clientOf(endpoint: Endpoint | readonly [Endpoint, ...Endpoint[]], options?: ClientOptions): Client
  /** A port without a server. */
  deadPort(): number
}

/**
 * Servers with the same answer functions as the real ones of server.ts, in virtual time and without
 * sockets. Use one for a file: each test begins at the same time and with the same `Math.random`,
 * so that its result is the same.
 */
export function virtualWorld(): VirtualWorld {
  const clock = new VirtualClock()
  const servers = new Map<string, (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => void>()
  let port = 10_000
  // Not a spy, which would keep every number.
  const { random } = Math
  beforeEach(() => {
    clock.reset()
    Math.random = randomFrom(1)
  })
  afterEach(() => {
    Math.random = random
    servers.clear()
  })
  const dispatcher = {
    dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
      // A request takes one ms, so that what follows has a later time.
      clock.wakeAt(clock.now() + 1, () => {
        const server = servers.get(String(options.origin))
        if (server !== undefined) server(options, handler)
        else handler.onResponseError?.(undefined as never, failure('ECONNREFUSED', `connect ECONNREFUSED ${new URL(String(options.origin)).host}`))
      })
      return true
    },
  } as Dispatcher

  const serveAt = async (own: number, ...answers: [Answer, ...Answer[]]): Promise<TestServer> => {
    const requests: Received[] = []
    const sockets = new Set<Socket>()
    const awaited: { n: number; resolve: (request: Received) => void }[] = []
    let script = answers
    let served = 0
    const url = `http://127.0.0.1:${own}`
    servers.set(url, (options, handler) => {
      const { socket, response, hungUp, isCut } = new Exchange(handler, sockets)
      if (isCut) return
      const body = JSON.parse(String(options.body))
      const isBatch = Array.isArray(body)
      const request: Received = {
        entries: isBatch ? body : [body],
        isBatch,
        path: options.path,
        headers: headersOf(options.headers as readonly string[]),
        at: clock.now(),
        socket,
        hungUp,
      }
      requests.push(request)
      for (const { n, resolve } of awaited) if (n === requests.length) resolve(request)
      void (script[Math.min(served++, script.length - 1)] as Answer)(request, response)
    })
    return {
      url,
      port: own,
      requests,
      sockets,
      get opened() {
        return requests.length
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
      async close() {
        servers.delete(url)
        for (const socket of sockets) socket.destroy()
      },
    }
  }

  return {
    clock,
    sleep: (ms) => clock.sleep(ms),
    serve: (...answers) => serveAt(++port, ...answers),
    serveAt,
    serveWebSocket(mayOpen, onOpen) {
      const host = `127.0.0.1:${++port}`
      servers.set(`http://${host}`, (options, handler) => {
        const may = mayOpen()
        if (may === true) onOpen(acceptWebSocket(options, handler))
        else if (may === 'silent') handler.onRequestStart?.({ abort: () => {} } as unknown as Dispatcher.DispatchController, undefined)
        else if (may !== false) new Exchange(handler, new Set()).response.writeHead(may).end('no')
        else handler.onResponseError?.(undefined as never, failure('ECONNREFUSED', `connect ECONNREFUSED ${host}`))
      })
      return `ws://${host}`
    },
    clientOf(endpoint, options = {}) {
      const client = createClientOn(clock, endpoint, { retry: { baseDelayMs: 2, maxDelayMs: 10 }, dispatcher, ...options })
      onTestFinished(() => client.close())
      return client
    },
    deadPort: () => ++port,
  }
}

/**
 * One request and its response. The effects of either side reach the other in a later turn of the
 * event loop, in order.
 */
class Exchange {
  readonly hungUp: Promise<void>
  readonly socket: Socket
  readonly response: ServerResponse
  readonly #handler: Dispatcher.DispatchHandler
  readonly #sockets: Set<Socket>
  readonly #controller: Dispatcher.DispatchController
  #tellServer = () => {}
  /** Whether the client has given it up. */
  isCut = false
  /** Whether the server will send nothing more. */
  #isOver = false
  #isBegun = false

  constructor(handler: Dispatcher.DispatchHandler, sockets: Set<Socket>) {
    this.#handler = handler
    this.#sockets = sockets
    this.hungUp = new Promise((resolve) => {
      this.#tellServer = resolve
    })
    const socket = {
      destroyed: false,
      destroy: () => this.#breakOff(failure('UND_ERR_SOCKET', 'other side closed')),
      resetAndDestroy: () => this.#breakOff(failure('ECONNRESET', 'read ECONNRESET')),
    }
    this.socket = socket as unknown as Socket
    sockets.add(this.socket)
    const response = {
      writableFinished: false,
      writeHead: (status: number, headers: Record<string, unknown> = {}) => {
        this.#begin(status, headers)
        return response
      },
      flushHeaders: () => {},
      writeProcessing: () => this.#informational(102),
      writeEarlyHints: () => this.#informational(103),
      write: (chunk: string | Buffer, done: () => void = () => {}) => {
        this.#write(chunk)
        setImmediate(done)
      },
      end: (chunk?: string | Buffer) => {
        if (this.#isOver) return
        if (chunk === undefined) this.#begin(200, {})
        else this.#write(chunk)
        response.writableFinished = true
        this.#toClient(() => handler.onResponseEnd?.(this.#controller, {}))
        this.#end()
      },
    }
    this.response = response as unknown as ServerResponse
    this.#controller = {
      abort: () => {
        this.isCut = true
        if (this.#isOver) return
        this.#end()
        socket.destroyed = true
        setImmediate(this.#tellServer)
      },
    } as unknown as Dispatcher.DispatchController
    handler.onRequestStart?.(this.#controller, undefined)
  }

  #begin(status: number, headers: Record<string, unknown>): void {
    if (this.#isBegun) return
    this.#isBegun = true
    const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]))
    this.#toClient(() => this.#handler.onResponseStart?.(this.#controller, status, lower, ''))
  }

  #informational(status: number): void {
    this.#toClient(() => this.#handler.onResponseStart?.(this.#controller, status, {}, ''))
  }

  #write(chunk: string | Buffer): void {
    this.#begin(200, {})
    this.#toClient(() => this.#handler.onResponseData?.(this.#controller, Buffer.from(chunk as string)))
  }

  #breakOff(error: Error): void {
    if (this.#isOver) return
    this.#toClient(() => this.#handler.onResponseError?.(this.#controller, error))
    this.#end()
    Object.assign(this.socket, { destroyed: true })
    setImmediate(this.#tellServer)
  }

  #end(): void {
    this.#isOver = true
    this.#sockets.delete(this.socket)
  }

  #toClient(see: () => void): void {
    if (!this.#isOver) setImmediate(() => this.isCut || see())
  }
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

function headersOf(flat: readonly string[]): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = {}
  for (let i = 0; i < flat.length; i += 2) headers[flat[i] as string] = flat[i + 1]
  return headers
}
