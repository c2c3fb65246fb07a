import fc from 'fast-check'
import { createClient } from 'hexline'
import { getBlocks } from 'hexline/bulk'
import { describe, expect, onTestFinished, test } from 'vitest'
import { asSent, mixedChain, packers, type Sending, startPieces } from '../support/pieces-server.ts'
import { randomFrom } from '../support/random.ts'
import { runs } from '../support/runs.ts'

/* Wherever a body is cut on its way, and however it is packed, the result is the same. */

const LONGEST_PIECE = 70_000

/**
 * Pieces of 1 to 70,000 bytes, most of them short: their orders of magnitude are equally frequent.
 */
function piecesFrom(seed: number): () => number {
  const random = randomFrom(seed)
  return () => Math.ceil(LONGEST_PIECE ** random())
}

const sendings = fc.record({
  coding: fc.constantFrom(...Object.keys(packers)),
  ends: fc.constantFrom<Sending['ends']>('counted', 'chunked', 'closed'),
  piece: fc.integer().map(piecesFrom),
})
const whole: Sending = { coding: 'identity', ends: 'counted', piece: () => LONGEST_PIECE }

describe.each([
  ['http', false],
  ['https', true],
])('bodies in pieces over %s', (_, isSecure) => {
  test('give calls what JSON.parse gives', async () => {
    const values: unknown[] = []
    const server = await startPieces(isSecure, whole, ({ params: [i] }) => values[i as number])
    const client = createClient(server.url, { retry: false })
    onTestFinished(() => client.close())
    const value = fc.oneof(
      fc.jsonValue(),
      fc.tuple(fc.string(), fc.integer({ min: 0, max: 30_000 })).map(([text, times]) => text.repeat(times)),
    )
    await fc.assert(
      fc.asyncProperty(sendings, fc.array(value, { minLength: 1, maxLength: 8 }), async (sending, results) => {
        server.sending = sending
        values.splice(0, values.length, ...(JSON.parse(JSON.stringify(results)) as unknown[]))
        const received = await Promise.all(values.map((_, i) => client.request({ method: 'test_get', params: [i] } as never)))
        expect(received).toEqual(values)
      }),
      runs(40),
    )
  })

  test('give blocks what JSON.parse gives', async () => {
    const server = await startPieces(isSecure, whole, mixedChain)
    const client = createClient(server.url, { retry: false })
    onTestFinished(() => client.close())
    const options = fc.constantFrom<{ transactions: 'full' | 'hashes'; receipts?: true }>(
      { transactions: 'full' },
      { transactions: 'hashes' },
      { transactions: 'full', receipts: true },
    )
    await fc.assert(
      fc.asyncProperty(sendings, fc.nat({ max: 10_000 }), options, async (sending, from, how) => {
        server.sending = sending
        let number = from
        for await (const block of getBlocks(client, { from, to: from + 14, ...how })) {
          const call = (method: string) => mixedChain({ id: 1, method, params: [number, how.transactions === 'full'] })
          const right = call('eth_getBlockByNumber') as object
          expect(asSent(block)).toEqual(how.receipts ? { ...right, receipts: call('eth_getBlockReceipts') } : right)
          number++
        }
        expect(number).toBe(from + 15)
      }),
      runs(15),
    )
  })
})
