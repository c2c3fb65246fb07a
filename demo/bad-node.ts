import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { request } from 'undici'

/** What is wrong with an endpoint. */
export interface Faults {
  /**
   * Calls that it answers per second, entries of a batch counted; the others are refused as rate
   * limited.
   */
  readonly callsPerSecond: number
  /** One reply in this many stops in the middle. */
  readonly stallEvery: number
  /** When it drops each request without a reply, in ms after its first one. Default: never. */
  readonly dead?: { readonly fromMs: number; readonly toMs: number }
}

export interface BadNode {
  readonly url: string
  readonly isDead: boolean
  /** Calls refused, replies stopped and requests dropped so far. */
  readonly counts: { readonly throttled: number; readonly stalled: number; readonly dropped: number }
  close(): Promise<void>
}

interface Entry {
  readonly id: number
}

/** An HTTP proxy in front of a real node, with the faults of a bad day. */
export async function startBadNode(upstream: string, { callsPerSecond, stallEvery, dead }: Faults): Promise<BadNode> {
  const counts = { throttled: 0, stalled: 0, dropped: 0 }
  let tokens = callsPerSecond
  let filledAt = performance.now()
  let startedAt: number | undefined
  let replies = 0

  const isDead = () => {
    const age = startedAt === undefined ? -1 : performance.now() - startedAt
    return dead !== undefined && age >= dead.fromMs && age < dead.toMs
  }

  /** How many of these calls are within the rate: a token bucket that holds a second's worth. */
  const take = (calls: number): number => {
    const now = performance.now()
    tokens = Math.min(callsPerSecond, tokens + ((now - filledAt) / 1000) * callsPerSecond)
    filledAt = now
    const taken = Math.min(calls, Math.floor(tokens))
    tokens -= taken
    return taken
  }

  const answer = async (incoming: http.IncomingMessage, response: http.ServerResponse) => {
    startedAt ??= performance.now()
    let text = ''
    for await (const chunk of incoming.setEncoding('utf8')) text += chunk
    if (isDead()) {
      counts.dropped++
      incoming.socket.destroy()
      return
    }
    const body = JSON.parse(text) as Entry | Entry[]
    const entries = Array.isArray(body) ? body : [body]
    const taken = take(entries.length)
    counts.throttled += entries.length - taken
    const refused = entries.slice(taken).map(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32005, message: 'rate limit exceeded' } }))
    if (taken === 0) {
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '1' }).end(JSON.stringify(Array.isArray(body) ? refused : refused[0]))
      return
    }
    const reply = await ask(upstream, Array.isArray(body) ? entries.slice(0, taken) : entries[0])
    // A batch in part: the node's replies, and a refusal for each of the others.
    const whole = refused.length === 0 ? reply : `${reply.trimEnd().slice(0, -1)},${JSON.stringify(refused).slice(1)}`
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(whole) })
    if (++replies % stallEvery !== 0) {
      response.end(whole)
      return
    }
    counts.stalled++
    response.write(whole.slice(0, whole.length / 2))
  }
  // Clients may hang up at any time, and the node may end before its proxy.
  const server = http.createServer((incoming, response) => void answer(incoming, response).catch(() => incoming.socket.destroy()))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    url: `http://127.0.0.1:${port}`,
    get isDead() {
      return isDead()
    },
    counts,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function ask(url: string, body: unknown): Promise<string> {
  const reply = await request(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  return reply.body.text()
}
