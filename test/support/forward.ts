import { request } from 'undici'
import type { Answer, Received } from './server.ts'

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

async function ask(url: string, { entries, isBatch }: Received): Promise<{ status: number; body: string }> {
  const { statusCode, body } = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(isBatch ? entries : entries[0]),
  })
  return { status: statusCode, body: await body.text() }
}
