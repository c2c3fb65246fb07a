import { expect, test } from 'vitest'
import { ownRead } from '../../src/rpc/call.ts'
import { Tally, tallyOf } from '../../src/rpc/tally.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

test('a tally counts POSTs, and knows the endpoint of the last one', () => {
  const tally = new Tally()
  expect(tally).toMatchObject({ attempts: 0, endpoint: undefined, tookMs: undefined })
  tally.posted('a')
  tally.posted('b')
  expect(tally).toMatchObject({ attempts: 2, endpoint: 'b', tookMs: undefined })
})

test('with a clock, a tally measures the last POST', async () => {
  const clock = new VirtualClock()
  const tally = new Tally(clock)
  for (const ms of [700, 30]) {
    tally.sent()
    expect(tally.post).toBeUndefined()
    tally.post = { calls: 1, bytes: 2, wireBytes: 1 }
    await clock.sleep(ms)
    tally.posted('a')
    expect(tally.tookMs).toBe(ms)
    await clock.sleep(1000)
  }
})

test("an object that a layer has put in a tally's place counts nothing", () => {
  const call = ownRead({ method: 'eth_chainId', params: [], deadline: 0 })
  const tally = new Tally()
  expect(tallyOf({ ...call, tally })).toBe(tally)
  expect(tallyOf({ ...call, tally: { attempts: 0, endpoint: undefined } })).toBeUndefined()
  expect(tallyOf(call)).toBeUndefined()
})
