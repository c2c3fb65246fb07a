import { setTimeout as after } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { clientOf, honest, read, serve } from '../support/server.ts'

test('idle sockets outlast the 4 s between polls, and close soon after the last one, though the server would keep them for a minute', async () => {
  const server = await serve(honest)
  const client = clientOf(server.url, { batch: false })
  await read(client, 1)
  await after(4_000)
  await Promise.all(Array.from({ length: 5 }, (_, i) => read(client, i)))
  expect(server.opened).toBe(5)
  await vi.waitFor(() => expect(server.sockets.size).toBe(0), { timeout: 30_000, interval: 100 })
})
