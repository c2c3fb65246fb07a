import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import type { Dispatcher } from 'undici'
import { type WebSocket, WebSocketServer } from 'ws'

const webSockets = new WebSocketServer({ noServer: true })

/**
 * Opens the WebSocket that a request to a dispatcher asks for, over a pair of streams in place of a
 * socket. Gives the server's side of it.
 */
export function acceptWebSocket({ headers }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): WebSocket {
  const [ofServer, ofClient] = duplexPair()
  ofServer.on('error', () => {}).on('close', () => ofClient.destroy())
  ofClient.on('error', () => {}).on('close', () => ofServer.destroy())
  const controller = { abort: () => ofClient.destroy() } as unknown as Dispatcher.DispatchController
  handler.onRequestStart?.(controller, undefined)
  // The package `ws` writes the reply to the handshake, and undici would read it.
  ofClient.once('data', (reply: Buffer) => {
    const accept = /^sec-websocket-accept: (.+)\r$/im.exec(String(reply))?.[1]
    handler.onRequestUpgrade?.(controller, 101, { 'sec-websocket-accept': accept }, ofClient as Socket)
  })
  let opened: WebSocket | undefined
  const request = { method: 'GET', headers: { ...headers, upgrade: 'websocket' } } as unknown as IncomingMessage
  webSockets.handleUpgrade(request, ofServer, Buffer.alloc(0), (webSocket) => {
    opened = webSocket
  })
  return (opened as unknown as WebSocket).on('error', () => {})
}
