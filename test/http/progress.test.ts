import { expect, test } from 'vitest'
import { BodyProgress } from '../../src/http/progress.ts'

test('a body may stall for four times the longest recent stall, from 0.5 to 5 s, and always for 1.5 times a stall that ended well', () => {
  const progress = new BodyProgress()
  expect(progress.limitMs).toBe(5_000)
  progress.resumed(10)
  progress.completed()
  expect(progress.limitMs).toBe(500)
  progress.resumed(400)
  expect(progress.limitMs).toBe(1_600)
  progress.resumed(2_000)
  expect(progress.limitMs).toBe(5_000)
  progress.resumed(8_000)
  expect(progress.limitMs).toBe(12_000)
  // A long pause is forgotten.
  for (let i = 0; i < 1_000; i++) progress.completed()
  expect(progress.limitMs).toBe(500)
})
