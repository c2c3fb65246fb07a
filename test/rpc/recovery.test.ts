import { describe, expect, test, vi } from 'vitest'
import { ClosedError, type HexlineError, NetworkError, RpcError } from '../../src/errors.ts'
import { ownRead } from '../../src/rpc/call.ts'
import { CallFailure } from '../../src/rpc/call-failure.ts'
import { Doubts, pauses, type Recovery } from '../../src/rpc/recovery.ts'
import { replyOf } from '../../src/rpc/reply.ts'
import { Waiting } from '../../src/wait/waiting.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

/* With the recovery of signed transactions, through clients: send-raw-transaction.test.ts. */

const call = ownRead({ method: 'eth_sendRawTransaction', params: ['0x'], deadline: 1_000, safe: false })
const next = () => Promise.reject(new CallFailure(new NetworkError('no connection'), 1, 'a'))
const noPause = async () => false

const lost = (endpoint: string) => new CallFailure(new NetworkError(`lost by ${endpoint}`, { endpoint }), 1, endpoint)
const unsent = new CallFailure(new NetworkError('no connection', { unsent: true }), 0, 'a')
const refused = new CallFailure(new RpcError({ code: -32000, message: 'nonce too low' }), 1, 'b')

/** A recovery that finds nothing, and its arguments: the failure, and the doubts. */
function recovery(isCovered = true) {
  const asked: [string, string, string[]][] = []
  const note = (question: string, failure: HexlineError, doubts: readonly HexlineError[]) =>
    asked.push([question, failure.message, doubts.map(({ message }) => message)])
  const made: Recovery = {
    covers: () => isCovered,
    find: async (_call, failure, doubts) => void note('find', failure, doubts),
    conclude: async (_call, last, doubts) => {
      note('conclude', last, doubts)
      return replyOf('found')
    },
  }
  return { made, asked }
}

describe('an unsafe call', () => {
  test.each([undefined, recovery(false).made])('without a recovery ends with its last failure', async (none) => {
    const doubts = new Doubts(call, next, none, noPause)
    expect(doubts.isCovered).toBe(false)
    expect(await doubts.find(lost('a'))).toBeUndefined()
    expect(await doubts.conclude(refused, refused)).toBe(refused.error)
  })

  test('is looked up once a failure leaves open whether it ran, and after each later failure', async () => {
    const { made, asked } = recovery()
    const doubts = new Doubts(call, next, made, noPause)
    await doubts.find(unsent)
    expect(asked).toEqual([])
    await doubts.find(lost('a'))
    await doubts.find(unsent)
    expect(asked).toEqual([
      ['find', 'lost by a', ['lost by a']],
      ['find', 'no connection', ['lost by a']],
    ])
  })

  test('has one doubt for each endpoint, the newest first', async () => {
    const { made, asked } = recovery()
    const doubts = new Doubts(call, next, made, noPause)
    for (const name of ['a', 'b', 'a']) await doubts.find(lost(name))
    expect(asked.at(-1)).toEqual(['find', 'lost by a', ['lost by a', 'lost by b']])
  })

  test('without doubt ends with the given failure, and is not looked up', async () => {
    const { made, asked } = recovery()
    expect(await new Doubts(call, next, made, noPause).conclude(refused, unsent)).toBe(unsent.error)
    expect(asked).toEqual([])
  })

  test('that may have run is not reported as unsent because of its repetition', async () => {
    const doubts = new Doubts(call, next, undefined, noPause)
    const first = lost('a')
    await doubts.find(first)
    expect(await doubts.conclude(unsent, unsent)).toBe(first.error)
    expect(await doubts.conclude(refused, refused)).toBe(refused.error)
  })

  test('is concluded by its recovery, whose requests reject with errors', async () => {
    const { made, asked } = recovery()
    let rejection: unknown
    const curious: Recovery = { ...made, find: async (call, _failure, _doubts, ask) => void (await ask(call).catch((error) => (rejection = error))) }
    const doubts = new Doubts(call, next, curious, noPause)
    await doubts.find(lost('a'))
    expect(rejection).toMatchObject({ name: 'NetworkError', attempts: 1 })
    expect(await doubts.conclude(refused, refused)).toHaveProperty('take')
    expect(asked).toEqual([['conclude', refused.error.message, ['lost by a']]])
  })

  test.each([
    [0, 0],
    [1, 1],
  ])('that was in %i POSTs when its client was closed leaves %i doubts', async (posts, expected) => {
    const { made, asked } = recovery()
    await new Doubts(call, next, made, noPause).find(new CallFailure(new ClosedError(), posts, undefined))
    expect(asked).toHaveLength(expected)
  })
})

test('the requests of a conclusion are made at growing intervals, until the deadline', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(1)
  const clock = new VirtualClock()
  const pause = pauses(call, { baseDelayMs: 100, maxDelayMs: 400 }, new Waiting(clock))
  const times: number[] = []
  while (await pause()) times.push(clock.now())
  vi.restoreAllMocks()
  // The next one would be past the deadline.
  expect(times).toEqual([101, 301, 701])
})
