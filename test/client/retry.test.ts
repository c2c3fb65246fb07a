import { expect, it } from 'vitest'
import { createClient, type RetryOptions, retry } from '../../src/index.ts'
import { always, honest, serve } from '../support/server.ts'

it('a custom retry layer retries after its own waits', async () => {
  const server = await serve(always('oops', { status: 500 }), always('oops', { status: 500 }), honest)
  await using client = createClient(server.url, { layers: () => [retry({ baseDelayMs: 1, maxDelayMs: 2 })] })
  await client.request({ method: 'eth_getBalance', params: [1] })
  expect(server.requests).toHaveLength(3)
})

it.each([
  [undefined, 'options: expected an object, received undefined'],
  [{}, 'baseDelayMs: expected a number above 0, received undefined'],
  [{ baseDelayMs: 50, maxDelayMs: Number.NaN }, 'maxDelayMs: expected a number above 0, received NaN'],
  [{ baseDelayMs: 50, maxDelayMs: 100, waiting: {} }, 'options: expected only baseDelayMs, maxDelayMs, recovery, received "waiting"'],
])('refuses %j at once', (options, message) => {
  expect(() => retry(options as RetryOptions)).toThrow(message)
})
