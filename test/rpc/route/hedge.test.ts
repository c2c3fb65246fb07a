import { expect, test } from 'vitest'
import { node } from '../../support/node.ts'
import { randomFrom } from '../../support/random.ts'
import { type Answer, answerTo, read } from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

const { clock, serve, clientOf, sleep } = virtualWorld()

const USUAL_MS = 15
const CALLS = 1_200
/** Calls before the measured ones: nothing is hedged until the usual duration is known. */
const WARM_UP = 200
const AT_A_TIME = 8

/**
 * A node whose replies take 15 ms, plus or minus a tenth; two in a hundred take a hundred times
 * longer.
 */
function jittery(seed: number): Answer {
  const random = randomFrom(seed)
  const answer = node()
  return async (request, response) => {
    const ms = USUAL_MS * (0.9 + 0.2 * random()) * (random() < 0.02 ? 100 : 1)
    await Promise.race([sleep(ms), request.hungUp])
    if (!request.socket.destroyed) await answer(request, response)
  }
}

async function measure(endpoints: number, hedge: boolean) {
  const servers = await Promise.all(Array.from({ length: endpoints }, (_, i) => serve(jittery(i + 1))))
  const urls = servers.map(({ url }) => url) as [string, ...string[]]
  const client = clientOf(urls, { hedge, batch: false, concurrency: 32 })
  const times: number[] = []
  let next = 0
  await Promise.all(
    Array.from({ length: AT_A_TIME }, async () => {
      while (next < WARM_UP + CALLS) {
        const name = next++
        const started = clock.now()
        expect(await read(client, name)).toEqual(answerTo([name]))
        if (name >= WARM_UP) times.push(clock.now() - started)
      }
    }),
  )
  times.sort((a, b) => a - b)
  const sent = servers.flatMap(({ requests }) => requests).filter(({ entries }) => entries[0]?.method === 'eth_getBalance').length
  return { p50: times[CALLS * 0.5] as number, p99: times[Math.floor(CALLS * 0.99)] as number, extra: sent / (WARM_UP + CALLS) - 1 }
}

test.each([1, 2])(
  'of %d endpoints two replies in a hundred take a hundred times longer: hedged, p99 falls by five times at least, for five calls in a hundred at most',
  async (endpoints) => {
    const plain = await measure(endpoints, false)
    const hedged = await measure(endpoints, true)
    const ms = (time: number) => `${time.toFixed(1)} ms`
    console.log(
      `hedge | ${endpoints} endpoint${endpoints > 1 ? 's' : ''} | p50 ${ms(plain.p50)} -> ${ms(hedged.p50)} | p99 ${ms(plain.p99)} -> ${ms(hedged.p99)} (${(plain.p99 / hedged.p99).toFixed(1)} times) | ${(hedged.extra * 100).toFixed(1)} % more calls`,
    )
    expect(plain.p99 / hedged.p99).toBeGreaterThanOrEqual(5)
    expect(hedged.extra).toBeLessThanOrEqual(0.05)
  },
)
