import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Sent {
  readonly id: number
  readonly method: string
  readonly params: unknown[]
}

/** A node that answers every lone call with one recorded response, under the id of the call. */
export interface ReplayNode {
  readonly url: string
  /** What it answers. An id that was recorded as a string goes back as a string. */
  response: { readonly id: unknown }
  /** The last call that came. */
  readonly received: Sent
  stop(): Promise<void>
}

export async function startReplayNode(): Promise<ReplayNode> {
  let received: Sent | undefined
  const server = createServer(async (request, reply) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    received = JSON.parse(Buffer.concat(chunks).toString()) as Sent
    const id = typeof node.response.id === 'string' ? String(received.id) : received.id
    reply.setHeader('content-type', 'application/json').end(JSON.stringify({ ...node.response, id }))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const node: ReplayNode = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    response: { id: 1 },
    get received() {
      if (received === undefined) throw new Error('nothing came')
      return received
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
  return node
}
