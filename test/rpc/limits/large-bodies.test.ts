import type { Client } from 'hexline'
import { describe, expect, test } from 'vitest'
import { type Answer, type Received, send } from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

/*
 * Endpoints whose replies to bulk calls are large. Time is virtual.
 */

const { clock, serve, clientOf } = virtualWorld()

const MiB = 1024 * 1024
/** Each result has this many bytes. */
const EACH = 100 * 1024
const RESULT = `"0x${'0'.repeat(EACH - 4)}"`
const ROUND_TRIP_MS = 100

/** Sends its reply after a round trip, unless `takes` is false. */
const faraway =
  (takes: (bytes: number, request: Received) => boolean): Answer =>
  async (request, response) => {
    await clock.sleep(ROUND_TRIP_MS)
    if (!takes(request.entries.length * EACH, request)) return
    const replies = request.entries.map(({ id }) => `{"jsonrpc":"2.0","id":${id},"result":${RESULT}}`)
    send(response, request.isBatch ? `[${replies.join()}]` : replies.join())
  }

/** Each caller makes its next call when the last one is answered, as streams of blocks do. */
async function work(client: Client, calls: number): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: 400 }, async () => {
      while (next < calls) await client.request({ method: 'eth_getBlockByNumber', params: [`0x${(next++).toString(16)}`, true] })
    }),
  )
}

const BREAK_OFF: [string, (request: Received) => void][] = [
  ['ends the connection', ({ socket }) => void socket.destroy()],
  ['says nothing', () => {}],
]

describe('an endpoint that is far away', () => {
  test.each([
    ['bulk', 4 * MiB],
    ['interactive', 1.5 * MiB],
  ] as const)('%s calls go in POSTs with replies of %i bytes together', async (priority, good) => {
    const sizes: number[] = []
    const server = await serve(faraway((bytes) => sizes.push(bytes) > 0))
    await work(clientOf(server.url).with({ priority }), 2000)
    const largest = Math.max(...sizes)
    expect(largest).toBeGreaterThanOrEqual(good)
    // The last call may pass it. Before sizes are known, a batch is as long as it may be.
    expect(Math.max(...sizes.slice(20))).toBeLessThan(good + 2 * EACH)
  })

  test('gets several POSTs at a time where few calls wait', async () => {
    const sizes: number[] = []
    const server = await serve(faraway((bytes) => sizes.push(bytes) > 0))
    const client = clientOf(server.url).with({ priority: 'bulk' })
    for (let i = 0; i < 25; i++) await work(client, 40)
    expect(Math.max(...sizes.slice(20))).toBeLessThan(1.5 * MiB + 2 * EACH)
  })

  test.each(BREAK_OFF)('and %s at bodies beyond 2.5 MiB: they stay below it after a few, and calls are as many', async (_, breakOff) => {
    const broken: number[] = []
    let isLimited = false
    const server = await serve(
      faraway((bytes, request) => {
        if (bytes <= 2.5 * MiB || !isLimited) return true
        broken.push(bytes)
        breakOff(request)
        return false
      }),
    )
    const client = clientOf(server.url, { timeoutMs: 2000 }).with({ priority: 'bulk' })
    // A batch that is sent before sizes are known is no part of this.
    await work(client, 20)
    isLimited = true
    await work(client, 2000)
    expect(broken.length).toBeGreaterThan(0)
    // Those that were in flight when the first one failed.
    expect(broken.length).toBeLessThan(10)
    expect(Math.max(...server.requests.slice(-10).map(({ entries }) => entries.length * EACH))).toBeGreaterThan(1.4 * MiB)
  })

  test.each(BREAK_OFF)('and %s at bodies beyond 1.2 MiB, which have not grown: batches get fewer calls', async (_, breakOff) => {
    let broken = 0
    let isLimited = false
    const server = await serve(
      faraway((bytes, request) => {
        if (bytes <= 1.2 * MiB || !isLimited) return true
        broken++
        breakOff(request)
        return false
      }),
    )
    const client = clientOf(server.url, { timeoutMs: 2000 }).with({ priority: 'bulk' })
    // Sizes are known, and no body as large as is good was answered.
    for (let i = 0; i < 3; i++) await work(client, 1)
    isLimited = true
    await work(client, 500)
    expect(broken).toBeLessThan(12)
  })
})
