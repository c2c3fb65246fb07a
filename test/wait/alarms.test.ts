import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Alarm, Alarms } from '../../src/wait/alarms.ts'
import { LONGEST_TIMER } from '../../src/wait/clock.ts'
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
