import { expect, test } from 'vitest'
import { RandomThrottling } from '../../../src/rpc/limits/random-throttling.ts'

test('the rate can be blamed again after it was blamed too often without a POST in between', () => {
  const chance = new RandomThrottling()
  // Each costs a pause, and is decided without a test.
  const blamed = Array.from({ length: 6 }, () => chance.blame(true, 0.5))
  expect(blamed).toEqual([true, true, true, true, true, false])
  const tested = Array.from({ length: 50 }, () => chance.add(true, true))
  expect(tested).toContain(true)
})
