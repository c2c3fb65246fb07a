import { expect, test } from 'vitest'
import { Patience } from '../../../src/rpc/limits/patience.ts'

/** Successes until more is to be tried. */
function successes(patience: Patience): number {
  let count = 1
  while (!patience.succeeded()) count++
  return count
}

test('doubles after each try that failed, up to 64 times, and is reset', () => {
  const patience = new Patience(20)
  expect([successes(patience), successes(patience)]).toEqual([20, 20])
  const counts = Array.from({ length: 8 }, () => {
    patience.failed()
    return successes(patience)
  })
  expect(counts).toEqual([40, 80, 160, 320, 640, 1280, 1280, 1280])
  patience.reset()
  expect(successes(patience)).toBe(20)
})

test('counts successes in a row', () => {
  const patience = new Patience(3)
  for (const startOver of [() => patience.startOver(), () => patience.failed()]) {
    patience.succeeded()
    startOver()
  }
  expect(successes(patience)).toBe(6)
})
