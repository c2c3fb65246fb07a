import { expect, it } from 'vitest'
import { NearTimeout } from '../../src/follow/near-timeout.ts'

it('is short at first, and longer after each call that ran out of it, up to that of the client', () => {
  const timeout = new NearTimeout(30_000)
  const seen = [timeout.ms]
  for (let i = 0; i < 4; i++) {
    timeout.ranOut()
    seen.push(timeout.ms)
  }
  expect(seen).toEqual([5_000, 10_000, 20_000, 30_000, 30_000])
})

it('stays long while blocks take long, and is short again when one does not', () => {
  const timeout = new NearTimeout(30_000)
  timeout.ranOut()
  timeout.took(7_000)
  expect(timeout.ms).toBe(10_000)
  timeout.took(2_500)
  expect(timeout.ms).toBe(5_000)
})

it('never exceeds a shorter one of the client', () => {
  const timeout = new NearTimeout(2_000)
  timeout.ranOut()
  expect(timeout.ms).toBe(2_000)
  timeout.took(1)
  expect(timeout.ms).toBe(2_000)
})
