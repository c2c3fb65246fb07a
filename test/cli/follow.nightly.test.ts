import { expect, it } from 'vitest'
import { followWithKills } from '../support/follow-kills.ts'

it('killed 50 times and started again: no line is missing or comes twice', async () => {
  const { replay, rest, hashes, logs } = await followWithKills(50, 2)
  expect(replay.hashes).toEqual(hashes)
  expect(replay.logs.map(({ length }) => length)).toEqual(logs)
  expect(rest).toBe('')
  // A command may take ten seconds and more to start on a busy machine.
}, 3_600_000)
