import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ClientOptions } from '../../../src/index.ts'
import { Caller } from '../../../src/rpc/queue/caller.ts'
import { MOVED } from '../../../src/rpc/queue/queue.ts'
import { limiter } from '../../support/limited-server.ts'
import { hex, node } from '../../support/node.ts'
import { type Entry, failed, read, refuse, type TestServer } from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

const { clock, serve, clientOf } = virtualWorld()

const HEAD = 1000
const balance = (address: number, block: number) => ({ method: 'eth_getBalance', params: [hex(address), hex(block)] })

/** How often each call was taken back from a line, by its address. */
function timesTaken() {
  const spy = vi.spyOn(Caller.prototype, 'cancel')
  onTestFinished(() => spy.mockRestore())
  return () => {
    const times = new Map<number, number>()
    for (const [i, [reason]] of spy.mock.calls.entries()) {
      const address = Number((spy.mock.contexts[i] as Caller).call.params[0])
      if (reason === MOVED) times.set(address, (times.get(address) ?? 0) + 1)
    }
    return times
  }
}

describe('calls that wait for an endpoint that throttles', () => {
  test('go to one that is free if it can answer them, and else stay in line', async () => {
    const throttled = await serve(limiter(clock, { perSecond: 20, burst: 20, refuses: 'entries', latencyMs: 1 }).answer)
    const recent = await serve(node({ head: () => HEAD }))
    const client = clientOf([throttled.url, { url: recent.url, since: 500 }], { deadlineMs: 300_000 })
    await Promise.all(Array.from({ length: 60 }, (_, i) => client.request(balance(i, 1))))
    // Both are paused when the calls come, and the second one is free again in a moment.
    recent.script(refuse(429, 'Too many requests', { status: 429, headers: { 'retry-after': '2' } }), node({ head: () => HEAD }))
    const times = timesTaken()
    await Promise.all(Array.from({ length: 400 }, (_, i) => client.request(balance(i, i % 2 === 0 ? 1 : HEAD))))
    const moved = [...times()]
    expect(moved.length).toBeGreaterThan(50)
    expect(moved.filter(([address, times]) => address % 2 === 0 || times > 1)).toEqual([])
  })
})

describe('calls in line at an endpoint that turns out to be unable to answer them', () => {
  const oneByOne: ClientOptions = { concurrency: 1, batch: { maxCalls: 5 } }
  const lacks = (isLacking: (entry: Entry) => boolean, code: number, message: string) =>
    node({ head: () => HEAD, answer: (entry) => (isLacking(entry) ? failed(entry, code, message) : undefined) })

  test.each([
    ['for its floor', 4444, 'pruned history unavailable', 'eth_getBalance'],
    ['for a method that it lacks', -32601, 'the method eth_getProof does not exist', 'eth_getProof'],
  ])('go to another one at once, %s; others stay', async (_, code, message, method) => {
    const isOld = ({ params }: Entry) => Number(params[1]) === 1
    const lacking = await serve(lacks((entry) => entry.method === method && isOld(entry), code, message))
    const archive = await serve(node({ head: () => HEAD }))
    const client = clientOf([lacking.url, archive.url], oneByOne)
    await read(client, 'first')
    const times = timesTaken()
    const old = Array.from({ length: 100 }, (_, i) => client.request({ ...balance(i, 1), method }))
    const others = Array.from({ length: 20 }, (_, i) => client.request(balance(1000 + i, HEAD)))
    await Promise.all([...old, ...others])
    const oldAt = (server: TestServer) => server.requests.flatMap(({ entries }) => entries.filter(isOld)).length
    // Only those of the first POST have been there.
    expect(oldAt(lacking)).toBeLessThanOrEqual(5)
    expect(oldAt(archive)).toBe(100)
    expect(Math.max(...times().values())).toBe(1)
    expect(Math.max(...times().keys())).toBeLessThan(1000)
  })

  test('stay if no other one can answer them', async () => {
    const pruned = lacks(({ method }) => method === 'eth_getBalance', 4444, 'pruned history unavailable')
    const client = clientOf([(await serve(pruned)).url, (await serve(pruned)).url], oneByOne)
    const times = timesTaken()
    const ended = await Promise.allSettled(Array.from({ length: 100 }, (_, i) => client.request(balance(i, 1))))
    expect(ended.filter(({ status }) => status === 'rejected')).toHaveLength(100)
    expect(Math.max(0, ...times().values())).toBeLessThanOrEqual(1)
  })
})
