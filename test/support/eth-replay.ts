import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Sent {
  readonly id: number
  readonly method: string
  readonly params: unknown[]
}

/** A node that answers each single call with one recorded response, with the call's id. */
export interface ReplayNode {
  readonly url: string
  /** The response to send. If the recorded id is a string, the id is sent as a string. */
  response: { readonly id: unknown }
  /** The last call received. */
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
