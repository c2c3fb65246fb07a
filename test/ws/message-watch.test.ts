import { expect, it } from 'vitest'
import { BodyProgress } from '../../src/http/progress.ts'
import { Alarms } from '../../src/wait/alarms.ts'
import type { Clock } from '../../src/wait/clock.ts'
import { MessageWatch } from '../../src/ws/message-watch.ts'

it('a remainder of the stall that is lost in rounding rings later, not at the same moment for ever', () => {
  let now = 1e7
  const clock: Clock = { now: () => now, wakeAt: () => ({ ref() {}, unref() {} }), cancel() {} }
  const progress = new BodyProgress()
  // (1e7 + 5000.1) - 1e7 is less than 5000.1, by less than numbers of this size tell apart.
  Object.defineProperty(progress, 'limitMs', { value: 5000.1 })
  const late: Error[] = []
  const socket = { pendingBytes: () => 3, patience: () => 1, late: (error: Error) => void late.push(error) }
  const watch = new MessageWatch({ endpoint: 'node', alarms: new Alarms(clock), progress, timeoutMs: 60_000 }, socket)
  watch.start()
  watch.received(false)
  now += 5000.1
  watch.ring()
  expect(late).toEqual([])
  expect(watch.at).toBeGreaterThan(now)
  now = watch.at
  watch.ring()
  expect(late).toMatchObject([{ stalled: true }])
})
