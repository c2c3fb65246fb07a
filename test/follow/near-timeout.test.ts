import { expect, it } from 'vitest'
import { NearTimeout } from '../../src/follow/near-timeout.ts'

it('is short at first, and longer after each call that ran out of it, up to that of the client', () => {
  const timeout = new NearTimeout(30_000)
  const seen = [timeout.ms]
  for (let i = 0; i < 4; i++) {
    timeout.ranOut()
    seen.push(timeout.ms)
  }
  expect(seen).toEqual([10_000, 20_000, 30_000, 30_000, 30_000])
})

it('stays long while a block takes long now and then, and is short again after a hundred that do not', () => {
  const timeout = new NearTimeout(30_000)
  timeout.ranOut()
  for (let i = 0; i < 250; i++) {
    timeout.took(i % 99 === 0 ? 12_000 : 20)
    expect(timeout.ms).toBe(20_000)
  }
  for (let i = 0; i < 100; i++) timeout.took(5_000)
  expect(timeout.ms).toBe(10_000)
})

it('never exceeds a shorter one of the client', () => {
  const timeout = new NearTimeout(2_000)
  timeout.ranOut()
  expect(timeout.ms).toBe(2_000)
  timeout.took(1)
  expect(timeout.ms).toBe(2_000)
})
