import { describe, expect, test } from 'vitest'
import type { Answer } from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

const { serve, clientOf } = virtualWorld()

describe('a long reply that ends in its middle', () => {
  /** The right reply to a batch, of some 200 kB, or its first half on a connection that ends. */
  const long =
    (isCut: boolean): Answer =>
    (request, response) => {
      const body = JSON.stringify(request.entries.map(({ id }) => ({ jsonrpc: '2.0', id, result: 'x'.repeat(4_000) })))
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
      if (!isCut) return response.end(body)
      return response.write(body.slice(0, body.length / 2), () => request.socket.destroy())
    }
  const ask = (client: ReturnType<typeof clientOf>, from: number) =>
    Promise.all(Array.from({ length: 50 }, (_, i) => client.request({ method: 'eth_getBalance', params: [`0x${from + i}`] })))

  test('was cut by chance where longer ones came whole: batches stay as long as they are', async () => {
    const server = await serve(long(false), long(true), long(false))
    const client = clientOf(server.url)
    await ask(client, 0)
    await ask(client, 100)
    await ask(client, 200)
    expect(server.requests.map(({ entries }) => entries.length)).toEqual([50, 50, 50, 50])
  })

  test('was cut for its size where no longer one has come since the last that was cut', async () => {
    const server = await serve(long(false), long(true), long(true), long(false))
    const client = clientOf(server.url)
    await ask(client, 0)
    await ask(client, 100)
    expect(server.requests.slice(0, 3).map(({ entries }) => entries.length)).toEqual([50, 50, 50])
    expect(server.requests[3]?.entries.length).toBeLessThan(50)
  })
})
