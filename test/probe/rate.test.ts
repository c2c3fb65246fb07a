import { setTimeout as after } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { RpcError } from '../../src/errors.ts'
import { Asker } from '../../src/probe/asker.ts'
import type { Figure } from '../../src/probe/figure.ts'
import { rateLimit } from '../../src/probe/rate.ts'
import { replyOf } from '../../src/rpc/reply.ts'

/** The figure for an endpoint that answers some calls, and then refuses. */
function found(
  answers: number,
  message: string,
  { kind = 'rate-limit', data, ms = 0 }: { kind?: 'rate-limit' | 'server'; data?: unknown; ms?: number } = {},
): Promise<Figure> {
  let calls = 0
  const asker = new Asker({
    // One call at a time, so that the count does not depend on their order.
    post: async () => {
      if (ms > 0) await after(ms)
      return [++calls <= answers ? replyOf('0x1') : new RpcError({ code: -32005, message, data }, { kind })]
    },
    ...{ maxCalls: 60, reserved: 40, timeoutMs: 10_000, signal: undefined, onPost: () => {} },
  })
  return rateLimit(asker)
}

// Each burst begins with a second of silence, so they run side by side.
it.concurrent.each<[string, number, string, Parameters<typeof found>[2], Partial<Figure>]>([
  ['the answered calls, if nothing else is known', 16, 'too fast', {}, { known: 'exactly', value: 16, refused: 17 }],
  ['the limit that the endpoint names', 16, '50/second request limit reached', {}, { known: 'exactly', value: 50, refused: null }],
  ['with separated thousands', 16, 'limited to 6,000/sec', {}, { known: 'exactly', value: 6000 }],
  ['in its data', 16, 'too fast', { data: { rate: { allowed_rps: 25 } } }, { known: 'exactly', value: 25 }],
  ['unknown if the first call was throttled', 0, 'too fast', {}, { known: 'unknown', how: 'the first call was throttled: too fast' }],
  ['unknown if calls failed for another reason', 8, 'down', { kind: 'server' }, { known: 'unknown', how: expect.stringMatching(/answered, then: down$/) }],
  [
    'at least the answered calls, without throttling',
    1000,
    '',
    {},
    { known: 'at least', how: expect.stringMatching(/^40 calls within .* were answered; no more were made$/) },
  ],
])('the rate is %s', async (_, answers, message, more, expected) => {
  expect(await found(answers, message, more)).toMatchObject(expected)
})

it('a burst that took longer than a second shows only the least rate', async () => {
  const { known, value, refused } = await found(16, 'too fast', { ms: 600 })
  expect({ known, refused }).toEqual({ known: 'at least', refused: null })
  // Two rounds of eight calls, and the one that was refused.
  expect(value).toBeLessThanOrEqual(16 / 1.2)
})
