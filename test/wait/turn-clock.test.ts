import { expect, test } from 'vitest'
import { TurnClock } from '../../src/wait/turn-clock.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

test('tells the time that was read for the turn until the turn ends', async () => {
  const clock = new VirtualClock()
  const turn = new TurnClock(clock)
  const before = clock.now()
  expect(turn.now()).toBe(before)
  turn.hold(before)
  await clock.sleep(20)
  expect(turn.now()).toBe(before)
  turn.endTurn()
  expect(turn.now()).toBe(before + 20)
})
