import http, { type IncomingMessage } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { type PerMessageDeflateOptions, type WebSocket, WebSocketServer } from 'ws'
import type { Entry } from './server.ts'
import { right } from './server.ts'

/** One open WebSocket, seen by the server. */
export interface Peer {
  readonly webSocket: WebSocket
  /** What lies below it, to write frames that no WebSocket writes. */
  readonly socket: Socket
  readonly request: IncomingMessage
  /** Sends a value as JSON, or a text or bytes as they are. */
  send(value: unknown): void
  /** Sends a notification of a subscription. */
  notify(subscription: string, result: unknown): void
}

/** One message as it came. */
export interface Message {
  readonly entries: readonly Entry[]
  readonly isBatch: boolean
  readonly peer: Peer
}

/** The answer to one message. */
export type Reaction = (message: Message) => unknown

export interface WebSocketTestServer {
  /** Without a path. */
  readonly url: string
  readonly port: number
  readonly messages: readonly Message[]
  /** All sockets so far, in the order in which they were opened. */
  readonly peers: readonly Peer[]
  /** Requests for a socket, refused ones included. */
  readonly handshakes: readonly IncomingMessage[]
  /** The `n`th message (from 1), as soon as it has arrived. */
  received(n: number): Promise<Message>
  /** The `n`th socket (from 1), as soon as it is open. */
  opened(n: number): Promise<Peer>
  script(...reactions: [Reaction, ...Reaction[]]): void
  /** How handshakes are answered from now on: by a raw HTTP reply, or with a WebSocket. */
  refuse(reply: string | ((socket: Socket) => void) | undefined): void
  close(): Promise<void>
}

/**
 * A WebSocket server on the loopback interface, by the `ws` package, with scripted answers: one for
 * each message. The last one repeats.
 */
export async function serveWebSocket(...reactions: [Reaction, ...Reaction[]]): Promise<WebSocketTestServer> {
  return serveWebSocketWith({}, ...reactions)
}

/** The same with compression, or on a given port. */
export async function serveWebSocketWith(
  { deflate = false, port: at = 0 }: { deflate?: boolean | PerMessageDeflateOptions; port?: number },
  ...reactions: [Reaction, ...Reaction[]]
): Promise<WebSocketTestServer> {
  const messages: Message[] = []
  const peers: Peer[] = []
  const handshakes: IncomingMessage[] = []
  const sockets = new Set<Socket>()
  const awaited: { has: () => boolean; resolve: () => void }[] = []
  let refusal: string | ((socket: Socket) => void) | undefined
  let script = reactions
  let served = 0

  const look = () => {
    for (const each of awaited) if (each.has()) each.resolve()
  }
  const until = (has: () => boolean) =>
    new Promise<void>((resolve) => {
      if (has()) resolve()
      else awaited.push({ has, resolve })
    })
  const server = http.createServer((_, response) => void response.writeHead(426).end('this is a WebSocket'))
  const webSockets = new WebSocketServer({ noServer: true, perMessageDeflate: deflate, maxPayload: 1 << 30 })
  server.on('upgrade', (request, socket: Socket, head) => {
    handshakes.push(request)
    if (typeof refusal === 'function') return refusal(socket)
    if (refusal !== undefined) return void socket.end(refusal)
    webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      const send = (value: unknown) => webSocket.send(typeof value === 'string' || Buffer.isBuffer(value) ? value : JSON.stringify(value))
      const peer: Peer = {
        webSocket,
        socket,
        request,
        send,
        notify: (subscription, result) => send({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription, result } }),
      }
      peers.push(peer)
      webSocket.on('error', () => {})
      webSocket.on('message', (data) => {
        const body = JSON.parse(String(data))
        const isBatch = Array.isArray(body)
        const message: Message = { entries: isBatch ? body : [body], isBatch, peer }
        messages.push(message)
        look()
        ;(script[Math.min(served++, script.length - 1)] as Reaction)(message)
      })
      look()
    })
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () =>
    new Promise<void>((resolve) => {
      for (const socket of sockets) socket.destroy()
      server.close(() => resolve())
    })
  onTestFinished(close)
  return {
    url: `ws://127.0.0.1:${port}`,
    port,
    messages,
    peers,
    handshakes,
    received: async (n) => {
      await until(() => messages.length >= n)
      return messages[n - 1] as Message
    },
    opened: async (n) => {
      await until(() => peers.length >= n)
      return peers[n - 1] as Peer
    },
    script(...next) {
      script = next
      served = 0
    },
    refuse(reply) {
      refusal = reply
    },
    close,
  }
}

/** Answers with the JSON that `make` gives for each entry. */
export function reply(make: (entry: Entry) => unknown): Reaction {
  return ({ entries, isBatch, peer }) => {
    const replies = entries.map(make)
    peer.send(isBatch ? replies : replies[0])
  }
}

/** Answers every call correctly. */
export const rightly: Reaction = reply(right)

/** Answers nothing. */
export const never: Reaction = () => {}

/** A refusal of a WebSocket, as an HTTP reply. */
export function refusal(status: number, body = '', headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} No\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${lines.join('')}connection: close\r\n\r\n${body}`
}
