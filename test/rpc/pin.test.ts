import { expect, test } from 'vitest'
import { Pin } from '../../src/rpc/pin.ts'
import { hex, node } from '../support/node.ts'
import { randomFrom } from '../support/random.ts'
import { type Answer, cut } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { serve, clientOf } = virtualWorld()

test('a pin remembers the newest block seen by its calls', () => {
  const pin = new Pin()
  expect(pin.newest).toBe(-1)
  for (const number of [0, 7, 5]) pin.sees(number)
  expect(pin.newest).toBe(7)
})

const ACTIONS = 150

/** Fails some POSTs. */
function unreliable(part: number, seed: number, answer: Answer): Answer {
  const random = randomFrom(seed)
  return (request, response) => (random() < part ? cut : answer)(request, response)
}

test('a pinned client never sees an older head after a newer one, nor misses a block, although one endpoint is three blocks behind and both fail at times', async () => {
  // One block for every twenty calls.
  let asked = 0
  const head = () => 1_000 + Math.floor(asked / 20)
  const counted = (lag: number) => node({ head: () => head() - lag, answer: () => void asked++ })
  const [ahead, behind] = [await serve(unreliable(0.1, 1, counted(0))), await serve(unreliable(0.1, 2, counted(3)))]
  const client = clientOf([behind.url, ahead.url], { retry: { attempts: 12, baseDelayMs: 2, maxDelayMs: 40 } })
  const failures: unknown[] = []
  let older = 0
  let missing = 0
  let answers = 0
  let unpinnedOlder = 0
  let unpinnedNewest = 0

  const newest = async (of: typeof client) => Number(await of.request({ method: 'eth_blockNumber' }))
  const act = async () => {
    const pinned = client.pinned()
    let seen = 0
    for (let step = 0; step < 6; step++) {
      const number = await newest(pinned)
      if (number < seen) older++
      seen = Math.max(seen, number)
      const block = (await pinned.request({ method: 'eth_getBlockByNumber', params: [hex(seen), false] })) as { number: string } | null
      if (block === null) missing++
      else expect(Number(block.number)).toBe(seen)
      answers += 2
    }
  }
  for (let i = 0; i < ACTIONS; i++) {
    await act().catch((error) => failures.push(error))
    const number = await newest(client)
    if (number < unpinnedNewest) unpinnedOlder++
    unpinnedNewest = Math.max(unpinnedNewest, number)
  }
  console.log(
    `lag | 3 blocks, 10 % cut | ${answers} answers to ${ACTIONS} pinned actions | older heads ${older}, missing blocks ${missing}, failed ${failures.length} | without pinning: older than the newest seen ${unpinnedOlder} of ${ACTIONS}`,
  )
  expect(failures).toEqual([])
  expect([older, missing]).toEqual([0, 0])
  expect(unpinnedOlder).toBeLessThan(ACTIONS / 4)
})
