import { createHash, randomBytes } from 'node:crypto'
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as after } from 'node:timers/promises'
import type { Client } from '../client/client.ts'
import { createClient } from '../client/create-client.ts'
import { listenOf } from '../client/internals.ts'
import { HexlineError, RpcError } from '../errors.ts'
import { encodeFrame } from '../ws/encode-frame.ts'
import { type FrameHandler, FrameReader } from '../ws/frame-reader.ts'
import { CLOSE, PING, PONG, TEXT } from '../ws/frames.ts'
import { WEB_SOCKET_GUID } from '../ws/handshake.ts'
import type { Fault, NotificationFault } from './faults.ts'
import { checkHost } from './host.ts'
import { type Forward, failureOfNode, type RpcBody, readRpcBody } from './json-rpc.ts'
import type { LogFilter, Notifications } from './notifications.ts'
import type { Limit } from './rate.ts'
import { Refusal } from './reply.ts'

/** Longest message of a client, in bytes. */
const LONGEST_MESSAGE = 10 * 1024 * 1024
/** A late notification that no other one follows comes after this time, in ms. */
const LATE_MS = 1_000

export interface WebSocketSettings {
  readonly allowedHosts: readonly string[]
  readonly latencyMs: number
  readonly nextFault: () => Fault | undefined
  readonly nextNotificationFault: () => NotificationFault | undefined
  readonly notifications: Notifications
  /** Throws `Refusal` unless JSON-RPC is served at this path. */
  readonly checkPath: (path: readonly string[]) => void
  readonly forward: Forward
  readonly limit: Limit
  /** URL of the node, whose WebSocket is at the same address. */
  readonly upstream: string
}

/**
 * Serves JSON-RPC over WebSockets beside HTTP, with the same node, keys, limits and faults:
 * `error 500` and `error 503` are JSON-RPC errors, `cut` drops the socket, and `stalled` gives no
 * reply. `eth_subscribe` is passed to the node's own WebSocket; notifications have faults of their
 * own. Gives the function that ends all sockets.
 */
export function serveWebSockets(server: Server, settings: WebSocketSettings): () => Promise<void> {
  const sockets = new Set<Socket>()
  const node: { client?: Client } = {}
  // The node's WebSocket is opened by the first subscription.
  const subscriptions = () => {
    node.client ??= createClient(settings.upstream.replace(/^http/, 'ws'))
    return node.client
  }
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => {})
    try {
      accept(request, socket, settings)
    } catch (error) {
      return refuse(socket, error)
    }
    sockets.add(socket)
    const peer = new Peer(socket, settings, subscriptions)
    socket.once('close', () => {
      sockets.delete(socket)
      peer.end()
    })
    socket.on('data', (chunk: Buffer) => peer.receive(chunk))
    if (head.length > 0) peer.receive(head)
  })
  return async () => {
    for (const socket of sockets) socket.destroy()
    await node.client?.close()
  }
}

function accept(request: IncomingMessage, socket: Socket, { allowedHosts, checkPath }: WebSocketSettings): void {
  checkHost(request.headers.host, allowedHosts)
  const { pathname } = new URL(`http://sandbox${request.url ?? '/'}`)
  checkPath(pathname.slice(1).split('/').map(decodeURIComponent))
  const key = request.headers['sec-websocket-key']
  if (request.headers.upgrade?.toLowerCase() !== 'websocket' || key === undefined) throw new Refusal(400, 'this is not a WebSocket handshake')
  const answer = createHash('sha1')
    .update(key + WEB_SOCKET_GUID)
    .digest('base64')
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${answer}\r\n\r\n`)
}

function refuse(socket: Socket, error: unknown): void {
  const { status, headers, body } = (error instanceof Refusal ? error : new Refusal(400, 'invalid path')).reply
  const lines = Object.entries({ ...headers, 'content-length': body.length, connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n`), body]))
}

/** A call as far as subscriptions read it. */
interface ReceivedCall {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
}

/** One client's socket. */
class Peer implements FrameHandler {
  readonly #socket: Socket
  readonly #settings: WebSocketSettings
  readonly #node: () => Client
  readonly #reader = new FrameReader(this, { isMasked: true })
  readonly #stops = new Map<unknown, () => void>()
  /** Notifications that are late, by subscription. */
  readonly #late = new Map<string, unknown[]>()
  readonly #gone = new AbortController()

  constructor(socket: Socket, settings: WebSocketSettings, node: () => Client) {
    this.#socket = socket
    this.#settings = settings
    this.#node = node
  }

  receive(chunk: Buffer): void {
    try {
      this.#reader.push(chunk)
    } catch {
      this.#socket.destroy()
    }
  }

  end(): void {
    this.#gone.abort(new Error('the client disconnected'))
    for (const stop of this.#stops.values()) stop()
    this.#stops.clear()
  }

  limitOf(): number {
    return LONGEST_MESSAGE
  }

  memoryFor(): undefined {
    return undefined
  }

  tooLarge(): void {
    this.#socket.destroy()
  }

  control(opcode: number, payload: Buffer): void {
    if (opcode === PING) this.#socket.write(encodeFrame(PONG, payload, false))
    else if (opcode === CLOSE) this.#socket.end(encodeFrame(CLOSE, payload, false))
  }

  message(payload: Buffer): void {
    void this.#answer(payload)
  }

  async #answer(payload: Buffer): Promise<void> {
    const { latencyMs, nextFault, limit, forward } = this.#settings
    const fault = nextFault()
    const body = readRpcBody(payload)
    const id = idOf(body)
    try {
      if (latencyMs > 0) await after(latencyMs, undefined, { signal: this.#gone.signal })
      if (fault === 'error 500' || fault === 'error 503') return this.#fail(id, -32603, `injected fault: ${fault}`)
      if (body === undefined) return this.#fail(null, -32700, 'Parse error')
      limit(body.calls)
      if (this.#subscribe(body, fault)) return
      const reply = await forward.send(body, this.#gone.signal)
      this.#reply(reply.body, fault)
    } catch (error) {
      if (this.#gone.signal.aborted) return
      if (error instanceof Refusal) this.#fail(id, -32005, error.message)
      else if (error instanceof HexlineError) this.#fail(id, -32603, JSON.parse(String(failureOfNode(error).body)).message)
      else this.#fail(id, -32603, `the sandbox failed: ${(error as Error).name}`)
    }
  }

  /** Handles a lone call of a subscription. The fault spoils its reply. */
  #subscribe({ value }: RpcBody, fault: Fault | undefined): boolean {
    const { id, method, params = [] } = (value ?? {}) as ReceivedCall
    const reply = (outcome: object) => this.#reply(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, ...outcome })), fault)
    if (method === 'eth_unsubscribe' && Array.isArray(params)) {
      const stop = this.#stops.get(params[0])
      this.#stops.delete(params[0])
      stop?.()
      reply({ result: stop !== undefined })
      return true
    }
    if (method !== 'eth_subscribe' || !Array.isArray(params)) return false
    const subscription = `0x${randomBytes(16).toString('hex')}`
    const { notifications } = this.#settings
    const stopListening = listenOf(this.#node())?.(
      params,
      {
        started: () => reply({ result: subscription }),
        gap() {},
        notified: (result) => notifications.pass(() => this.#notify(subscription, result)),
        ended: (error) => {
          this.#stops.delete(subscription)
          notifications.remove(subscription)
          if (error instanceof RpcError) reply({ error: { code: error.code, message: error.said } })
          else reply({ error: { code: -32603, message: 'the node behind this sandbox takes no subscriptions' } })
        },
      },
      undefined,
    )
    if (params[0] === 'logs') notifications.addLogs(subscription, (params[1] ?? {}) as LogFilter, (log) => this.#notify(subscription, log))
    this.#stops.set(subscription, () => {
      notifications.remove(subscription)
      stopListening?.()
    })
    return true
  }

  #notify(subscription: string, result: unknown): void {
    // What was held back may come after the end of its subscription.
    if (!this.#stops.has(subscription)) return
    const fault = this.#settings.nextNotificationFault()
    if (fault === 'cut') return void this.#socket.destroy()
    const late = this.#late.get(subscription) ?? []
    this.#late.delete(subscription)
    if (fault === 'late') {
      this.#late.set(subscription, [...late, result])
      setTimeout(() => this.#reportLate(subscription), LATE_MS).unref()
      return
    }
    for (const each of fault === 'double' ? [result, result, ...late] : [result, ...late]) this.#tell(subscription, each)
  }

  #reportLate(subscription: string): void {
    const late = this.#late.get(subscription) ?? []
    this.#late.delete(subscription)
    if (this.#stops.has(subscription)) for (const each of late) this.#tell(subscription, each)
  }

  #tell(subscription: string, result: unknown): void {
    this.#send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription, result } }))
  }

  /** Sends a reply, or as much of it as the fault leaves. */
  #reply(body: Buffer, fault: Fault | undefined): void {
    if (fault === 'cut') this.#socket.destroy()
    else if (fault !== 'stalled') this.#send(fault === 'truncated' ? body.subarray(0, body.length >> 1) : body)
  }

  #fail(id: unknown, code: number, message: string): void {
    this.#send(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }))
  }

  #send(message: string | Uint8Array): void {
    if (this.#socket.writable) this.#socket.write(encodeFrame(TEXT, message, false))
  }
}

/** The id of a lone call; null for a batch. */
function idOf(body: RpcBody | undefined): unknown {
  const { id = null } = (body?.value ?? {}) as ReceivedCall
  return id
}
