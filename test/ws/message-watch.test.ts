import { expect, it } from 'vitest'
import { BodyProgress } from '../../src/http/progress.ts'
import { Alarms } from '../../src/wait/alarms.ts'
import { MessageWatch } from '../../src/ws/message-watch.ts'
import { ManualClock } from '../support/manual-clock.ts'

/** A message that has begun, at an endpoint whose messages may stall for half a second. */
function begun() {
  const clock = new ManualClock()
  const progress = new BodyProgress()
  progress.completed()
  const late: Error[] = []
  const socket = { pendingBytes: () => 3, patience: () => 1, late: (error: Error) => void late.push(error) }
  const watch = new MessageWatch({ endpoint: 'node', alarms: new Alarms(clock), progress, timeoutMs: 60_000 }, socket)
  watch.start()
  watch.received(false)
  return { clock, progress, late, watch }
}

it('a remainder of the stall that is lost in rounding rings later, not at the same moment for ever', () => {
  const { clock, progress, late, watch } = begun()
  // The time is so large that numbers of its size do not tell such a remainder apart from 0.
  Object.defineProperty(progress, 'limitMs', { value: 5000 + 1e-10 })
  clock.run(5000)
  expect(late).toEqual([])
  expect(watch.at).toBeGreaterThan(clock.now())
  clock.run(2)
  expect(late).toMatchObject([{ stalled: true }])
})

it('while the process stands still, no message stalls', () => {
  const { clock, progress, late, watch } = begun()
  clock.standStill(8_000)
  watch.received(false)
  expect(progress.limitMs).toBe(500)
  clock.run(300)
  clock.standStill(8_000)
  clock.run(50)
  expect(late).toEqual([])
  clock.run(300)
  expect(late).toMatchObject([{ stalled: true }])
})
