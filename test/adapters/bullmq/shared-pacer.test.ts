import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it, vi } from 'vitest'
import type { Grant, Question } from '../../../adapters/bullmq/budget-script.ts'
import { SharedPacer } from '../../../adapters/bullmq/shared-pacer.ts'
import type { Call } from '../../../src/rpc/call.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const CALL = { method: 'eth_getBalance' } as Call
const WAITING = { size: 50, first: CALL }

setFlagsFromString('--expose-gc')
const gc: () => void = runInNewContext('gc')

/** A pacer whose questions are answered by the test; times are on one clock. */
function start(given?: { perSecond: number; costOf?: (method: string) => number }) {
  const clock = new VirtualClock()
  const wakeAt = vi.spyOn(clock, 'wakeAt')
  const questions: Question[] = []
  const answers: { resolve: (grant: Grant) => void; reject: (error: Error) => void }[] = []
  let woken = 0
  const pacer = new SharedPacer({ fingerprint: 'node', clock, given, wake: () => void woken++ }, (question) => {
    questions.push(question)
    return new Promise((resolve, reject) => answers.push({ resolve, reject }))
  })
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  return {
    pacer,
    clock,
    questions,
    woken: () => woken,
    wakes: () => wakeAt.mock.calls.length,
    async answer(grant: Partial<Grant> = {}) {
      const now = clock.now()
      const known = { now, granted: 0, start: now, isLeader: false, perSecond: 50, level: 50, since: 0, active: 1, heldMs: 0, idleMs: 0, events: [] }
      answers.shift()?.resolve({ ...known, ...grant })
      await settled()
    },
    async lose() {
      answers.shift()?.reject(new Error('Redis is gone'))
      await settled()
    },
  }
}

const calls = (number: number): Call[] => Array.from({ length: number }, () => CALL)

it('asks once for what waits, and lets it go in two halves', async () => {
  const { pacer, clock, questions, answer } = start()
  pacer.heldBack(WAITING, clock.now())
  pacer.heldBack(WAITING, clock.now())
  expect(questions).toHaveLength(1)
  expect(questions[0]).toMatchObject({ wanted: 50, leaseMs: 50, events: [] })
  await answer({ granted: 5 })
  const at = clock.now()
  expect([pacer.msUntil(WAITING, 50, at), pacer.room(50, at), pacer.room(2, at)]).toEqual([0, 3, 2])
  pacer.started(calls(3), at)
  // 5 calls at 50 calls/s last for 100 ms.
  expect([pacer.msUntil(WAITING, 50, at), pacer.isHoldingBack(WAITING, 50, at), pacer.room(50, at + 50)]).toEqual([50, true, 2])
  pacer.heldBack(WAITING, at)
  expect(questions).toHaveLength(1)
  pacer.started(calls(2), at + 50)
  expect(pacer.room(50, at + 50)).toBe(0)
  pacer.heldBack(WAITING, at + 50)
  // By then, the rate is known.
  expect(questions[1]).toMatchObject({ wanted: 50, leaseMs: 200 })
})

it('spreads the halves over its turn among several workers, and drops what is not used in time', async () => {
  const { pacer, clock, answer } = start()
  pacer.heldBack(WAITING, clock.now())
  await answer({ granted: 2, active: 10 })
  const at = clock.now()
  expect(pacer.room(50, at)).toBe(1)
  expect(pacer.room(50, at + 150)).toBe(1)
  expect(pacer.msUntil(WAITING, 50, at + 150)).toBe(50)
  expect(pacer.room(50, at + 301)).toBe(0)
})

it('keeps units that were given', async () => {
  const { pacer, clock, questions, answer } = start({ perSecond: 100, costOf: () => 20 })
  pacer.heldBack(WAITING, clock.now())
  expect(questions[0]).toMatchObject({ cost: 20, unitsPerSecond: 100 })
  await answer({ granted: 4, perSecond: 1e5 })
  const at = clock.now()
  const fits = pacer.fitting(at)
  expect([fits?.(CALL), fits?.(CALL), fits?.(CALL)]).toEqual([true, true, false])
  pacer.started(calls(2), at)
  // 4 calls of 20 units last for 800 ms.
  expect(pacer.msUntil(WAITING, 50, at)).toBe(400)
})

it('asks anew where a call costs more than is left of what was granted for cheaper ones, and gives that back', async () => {
  const { pacer, clock, questions, answer } = start({ perSecond: 2000, costOf: (method) => (method === 'eth_getBalance' ? 20 : 500) })
  const costly = { size: 50, first: { ...CALL, method: 'eth_getBlockReceipts' } }
  pacer.heldBack(WAITING, clock.now())
  // By the time of the answer, another call is the first of those that wait.
  pacer.heldBack(costly, clock.now())
  await answer({ granted: 10, perSecond: 1e5 })
  const at = clock.now()
  pacer.started(calls(1), at)
  expect([pacer.msUntil(WAITING, 50, at), pacer.msUntil(costly, 50, at)]).toEqual([0, 1000])
  pacer.heldBack(costly, at)
  expect(questions[1]).toMatchObject({ cost: 500, spare: 180 })
  // One call for 500 units was granted, and a call for 20 goes.
  await answer({ granted: 1, perSecond: 1e5 })
  pacer.started(calls(1), at)
  pacer.heldBack(WAITING, at)
  expect(questions[2]).toMatchObject({ cost: 20, spare: 480 })
})

it('lets a call that costs nothing go along with one that costs more than was given', async () => {
  const { pacer, clock, answer } = start({ perSecond: 100, costOf: (method) => ({ eth_getBalance: 20, trace_block: 500 })[method] ?? 0 })
  pacer.heldBack(WAITING, clock.now())
  await answer({ granted: 1, perSecond: 1e5 })
  const fits = pacer.fitting(clock.now())
  expect(['trace_block', 'net_version', 'eth_getBalance'].map((method) => fits?.({ ...CALL, method }))).toEqual([true, true, false])
})

it('asks again at once for what was void, and wakes the calls that wait', async () => {
  const { pacer, clock, questions, woken, answer } = start()
  pacer.heldBack(WAITING, clock.now())
  await answer({ granted: 20 })
  const before = woken()
  pacer.void(clock.now())
  expect([woken() - before, pacer.room(50, clock.now())]).toEqual([1, 0])
  pacer.heldBack(WAITING, clock.now())
  expect(questions).toHaveLength(2)
})

it('drops what was granted before a cut that it hears of first', async () => {
  const { pacer, clock, answer } = start()
  for (const [granted, left] of [
    [-1, 0],
    [1, 2],
  ] as const) {
    pacer.heldBack(WAITING, clock.now())
    pacer.void(clock.now())
    await answer({ now: clock.now() + granted, granted: 4 })
    expect(pacer.room(50, clock.now())).toBe(left)
  }
})

it('takes what was granted to a question that was asked after a cut, also where the clock of Redis was set back', async () => {
  const { pacer, clock, answer } = start()
  pacer.void(clock.now() + 3_600_000)
  pacer.heldBack(WAITING, clock.now())
  await answer({ granted: 4 })
  expect(pacer.room(50, clock.now())).toBe(2)
})

it('tells each pause once, and again only if Redis has not answered', async () => {
  const { pacer, clock, questions, answer, lose } = start()
  const throttled = () => pacer.throttled({ sentAt: clock.now(), tookMs: 50, pauseMs: 60_000 }, clock.now())
  throttled()
  await lose()
  await clock.sleep(1100)
  await answer()
  pacer.heldBack(WAITING, clock.now())
  await answer({ granted: 1 })
  const [first = 0, second = 0, third] = questions.map(({ pauseMs }) => pauseMs)
  expect([first, third]).toEqual([60_000, 0])
  // What is left of it.
  expect(second).toBeLessThanOrEqual(first - 1000)
  expect(second).toBeGreaterThan(55_000)
})

it('waits until the time that it was told where nothing was granted', async () => {
  const { pacer, clock, questions, answer } = start()
  pacer.heldBack(WAITING, clock.now())
  const at = clock.now()
  await answer({ granted: 0, start: at + 300 })
  expect([pacer.msUntil(WAITING, 50, at), pacer.isHoldingBack(WAITING, 50, at)]).toEqual([300, true])
  pacer.heldBack(WAITING, at + 299)
  expect(questions).toHaveLength(1)
  pacer.void(clock.now())
  pacer.heldBack(WAITING, at + 299)
  expect(questions).toHaveLength(2)
})

it('tells of a refusal at once, and drops what was granted', async () => {
  const { pacer, clock, questions, answer } = start()
  pacer.heldBack(WAITING, clock.now())
  await answer({ granted: 20 })
  pacer.started(calls(2), clock.now())
  pacer.answered(1, 50, 16, false, clock.now())
  pacer.throttled({ sentAt: clock.now() - 50, tookMs: 50, pauseMs: 0 }, clock.now())
  expect(questions[1]).toMatchObject({ wanted: 0, events: [{ tookMs: 50, calls: 1, isThrottled: true }] })
  expect(pacer.room(50, clock.now())).toBe(0)
})

it('asks at once when another worker was refused only if it makes the estimate, and publishes a cut at once', async () => {
  const { pacer, clock, questions, answer } = start()
  pacer.heldBack(WAITING, clock.now())
  await answer({ granted: 1 })
  pacer.refused()
  expect(questions).toHaveLength(1)
  pacer.started(calls(1), clock.now())
  pacer.heldBack(WAITING, clock.now())
  await answer({ granted: 2, isLeader: true })
  pacer.refused()
  expect(questions[2]).toMatchObject({ wanted: 0 })
  const at = clock.now()
  const events = [
    { at: at - 200, tookMs: 50, calls: 10, isThrottled: false, pauseMs: 0 },
    { at, tookMs: 50, calls: 0, isThrottled: true, pauseMs: 0 },
  ]
  await answer({ isLeader: true, events, heldMs: 200 })
  expect(questions[3]?.estimate).toMatchObject({ isCut: true })
})

it('goes on with its part of the rate while Redis does not answer', async () => {
  const { pacer, clock, questions, lose, answer } = start()
  pacer.heldBack(WAITING, clock.now())
  await answer({ granted: 1, perSecond: 40, active: 4 })
  pacer.started(calls(1), clock.now())
  expect(pacer.perSecond).toBe(10)
  pacer.heldBack(WAITING, clock.now())
  await lose()
  let taken = 0
  for (let ms = 0; ms < 900; ms++) {
    const now = clock.now() + ms
    const room = pacer.msUntil(WAITING, 50, now) === 0 ? pacer.room(50, now) : 0
    if (room > 0) pacer.started(calls(room), now)
    taken += room
  }
  expect(taken).toBeGreaterThanOrEqual(8)
  expect(taken).toBeLessThanOrEqual(12)
  pacer.heldBack(WAITING, clock.now())
  expect(questions).toHaveLength(2)
  pacer.close()
})

it.each([
  ['keeps a given rate that leaves each worker less than a call per second, together with the others', { perSecond: 2 }, {}],
  ['keeps such a learnt rate, too', undefined, { perSecond: 2 }],
])('while Redis does not answer, %s', async (_, given, known) => {
  const { pacer, clock, lose, answer } = start(given)
  pacer.heldBack(WAITING, clock.now())
  await answer({ granted: 1, active: 10, perSecond: 1e5, ...known })
  pacer.started(calls(1), clock.now())
  pacer.heldBack(WAITING, clock.now())
  await lose()
  // Its part is a call in 5 s, the first of them after as long as that.
  const goes = [0, 4900, 5500].map((ms) => pacer.msUntil(WAITING, 50, clock.now() + ms) === 0)
  expect(goes).toEqual([false, false, true])
  pacer.close()
})

it('a refusal while Redis does not answer is a pause for all workers once it does', async () => {
  const { pacer, clock, questions, lose, answer } = start()
  pacer.heldBack(WAITING, clock.now())
  await lose()
  pacer.throttled({ sentAt: clock.now() - 50, tookMs: 50, calls: 1, part: 1, pauseMs: 60_000 }, clock.now())
  await clock.sleep(1100)
  await answer()
  expect(questions[1]?.pauseMs).toBeGreaterThan(55_000)
})

it('sets no timer while Redis is asked: one that was due would ring again and again until Redis answers', async () => {
  const { pacer, clock, questions, wakes, answer } = start()
  pacer.heldBack(WAITING, clock.now())
  await answer({ granted: 1, isLeader: true, level: 0 })
  await clock.sleep(100)
  expect(questions).toHaveLength(2)
  const before = wakes()
  pacer.answered(1, 50, 16, true, clock.now())
  await clock.sleep(900)
  // That of the test.
  expect(wakes() - before).toBe(1)
})

it('that is closed keeps nothing of what became of POSTs', async () => {
  const { pacer, clock } = start()
  pacer.close()
  const bytesOf = (events: number) => {
    gc()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < events; i++) pacer.answered(1, 50, 16, true, clock.now())
    gc()
    return process.memoryUsage().heapUsed - before
  }
  bytesOf(1000)
  expect(bytesOf(200_000)).toBeLessThan(4_000_000)
})
