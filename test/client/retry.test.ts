import { expect, it } from 'vitest'
import { createClient, retry } from '../../src/index.ts'
import { always, honest, serve } from '../support/server.ts'

it('a custom retry layer retries after its own waits', async () => {
  const server = await serve(always('oops', { status: 500 }), always('oops', { status: 500 }), honest)
  await using client = createClient(server.url, { layers: () => [retry({ baseDelayMs: 1, maxDelayMs: 2 })] })
  await client.request({ method: 'eth_getBalance', params: [1] })
  expect(server.requests).toHaveLength(3)
})
