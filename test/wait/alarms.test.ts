import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Alarm, Alarms } from '../../src/wait/alarms.ts'
import { type Clock, LONGEST_TIMER } from '../../src/wait/clock.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

test('alarms ring in order, each once at its time, unless cancelled', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ at: fc.integer({ min: 0, max: 1000 }), isTakenBack: fc.boolean() }), { maxLength: 50 }), async (wanted) => {
      const clock = new VirtualClock()
      const alarms = new Alarms(clock)
      const rung: number[] = []
      const set = wanted.map(({ at, isTakenBack }) => {
        const alarm: Alarm = {
          at,
          place: -1,
          ring: () => {
            expect(clock.now()).toBeGreaterThanOrEqual(at)
            expect(clock.now() - at).toBeLessThanOrEqual(2)
            rung.push(at)
          },
        }
        alarms.set(alarm)
        return { alarm, isTakenBack }
      })
      for (const { alarm, isTakenBack } of set) if (isTakenBack) alarms.unset(alarm)
      await clock.sleep(1002)
      const expected = wanted.filter(({ isTakenBack }) => !isTakenBack).map(({ at }) => at)
      expect(rung).toEqual(expected.sort((a, b) => a - b))
      expect(alarms.size).toBe(0)
    }),
    { seed: 4, numRuns: 50 },
  )
})

test('an alarm beyond the longest timer of Node.js rings at its time', async () => {
  const clock = new VirtualClock()
  const alarms = new Alarms(clock)
  const at = 3 * LONGEST_TIMER
  const rung = new Promise<number>((resolve) => alarms.set({ at, place: -1, ring: () => resolve(clock.now()) }))
  expect(await rung).toBe(at)
})

test('the clock stops when the last alarm is cancelled', async () => {
  const clock = new VirtualClock()
  const alarms = new Alarms(clock)
  const start = clock.now()
  const alarm: Alarm = { at: start + 100, place: -1, ring: () => expect.unreachable() }
  alarms.set(alarm)
  alarms.unset(alarm)
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(clock.now()).toBe(start)
})

/** A clock that stands still, and tells how many of its timers are set. */
function countingClock() {
  const timers = new Set<object>()
  const clock: Clock = {
    now: () => 1,
    wakeAt() {
      const timer = { ref() {}, unref() {} }
      timers.add(timer)
      return timer
    },
    cancel: (timer) => void timers.delete(timer),
  }
  return { timers, alarms: new Alarms(clock) }
}

const alarmAt = (at: number): Alarm => ({ at, place: -1, ring: () => expect.unreachable() })

test('without an alarm, a timer is kept for the next one, unless it is set for long', () => {
  for (const [at, kept] of [
    [120_000, 1],
    [130_000, 0],
  ] as const) {
    const { timers, alarms } = countingClock()
    const alarm = alarmAt(at)
    alarms.set(alarm)
    alarms.unset(alarm)
    expect(timers.size).toBe(kept)
  }
})

test('no timer is kept once few alarms are to come', () => {
  const { timers, alarms } = countingClock()
  const [first, second] = [alarmAt(1000), alarmAt(2000)]
  alarms.set(first)
  alarms.end()
  expect(timers.size).toBe(1)
  alarms.unset(first)
  expect(timers.size).toBe(0)
  alarms.set(second)
  expect(timers.size).toBe(1)
  alarms.unset(second)
  expect(timers.size).toBe(0)
})
