import { request } from 'undici'
import { WebSocket } from 'ws'
import type { Answer, Received } from './server.ts'
import type { Peer, Reaction } from './web-socket-server.ts'

/** Forwards the POST to a real node, and returns the node's answer. */
export function forward(url: string): Answer {
  return async (received, response) => {
    const { status, body } = await ask(url, received)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(body)
  }
}

/**
 * Forwards the POST to a real node, and cuts the connection after the node's answer, so that the
 * client cannot know the outcome.
 */
export function cutAfter(url: string): Answer {
  return async (received) => {
    await ask(url, received)
    received.socket.destroy()
  }
}

/**
 * Forwards each message to a real node, over a WebSocket of its own for each client, and what the
 * node sends to that client: replies and notifications.
 */
export function forwardMessages(url: string): Reaction {
  const nodes = new Map<Peer, WebSocket>()
  return ({ entries, isBatch, peer }) => {
    const node = nodes.get(peer) ?? nodeFor(peer, url)
    nodes.set(peer, node)
    const body = JSON.stringify(isBatch ? entries : entries[0])
    if (node.readyState === WebSocket.OPEN) node.send(body)
    else node.once('open', () => node.send(body))
  }
}

function nodeFor(peer: Peer, url: string): WebSocket {
  const node = new WebSocket(url.replace('http://', 'ws://'))
  node.on('message', (data) => peer.send(String(data)))
  // The client may leave before the node has accepted.
  node.on('error', () => {})
  node.on('close', () => peer.socket.destroy())
  peer.socket.on('close', () => node.terminate())
  return node
}

async function ask(url: string, { entries, isBatch }: Received): Promise<{ status: number; body: string }> {
  const { statusCode, body } = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(isBatch ? entries : entries[0]),
  })
  return { status: statusCode, body: await body.text() }
}
