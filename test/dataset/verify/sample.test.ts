import fc from 'fast-check'
import { expect, it } from 'vitest'
import { sampleOf, within } from '../../../src/dataset/verify/sample.ts'
import { runs } from '../../support/runs.ts'

const range = fc.tuple(fc.nat(1e9), fc.nat(100_000)).map(([from, length]) => [from, from + length] as const)

it('the first, the last, and one of each of equal parts between them, in order', () => {
  fc.assert(
    fc.property(range, fc.integer({ min: 2, max: 50 }), fc.nat(), ([from, to], count, seed) => {
      const numbers = sampleOf(from, to, count, seed)
      expect(numbers).toHaveLength(Math.min(count, to - from + 1))
      expect([numbers[0], numbers.at(-1)]).toEqual([from, to])
      const part = (to - from - 1) / (count - 2)
      for (const [i, number] of numbers.slice(1, -1).entries()) {
        expect(number).toBeGreaterThan(numbers[i] as number)
        if (count < to - from + 1) expect(Math.abs(number - (from + 1 + (i + 0.5) * part))).toBeLessThan(part / 2 + 1)
      }
      expect(sampleOf(from, to, count, seed)).toEqual(numbers)
    }),
    runs(200),
  )
})

it('another seed gives other numbers; one block is the last; none of none', () => {
  expect(sampleOf(0, 1_000_000, 20, 1)).not.toEqual(sampleOf(0, 1_000_000, 20, 2))
  expect(sampleOf(5, 9, 1, 1)).toEqual([9])
  expect(sampleOf(5, 4, 20, 1)).toEqual([])
})

it('those within a range of blocks', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(40)), fc.nat(45), fc.nat(10), (some, from, length) => {
      const numbers = [...some].sort((a, b) => a - b)
      const to = from + length
      expect(within(numbers, { from, to })).toEqual(numbers.filter((number) => from <= number && number <= to))
    }),
    runs(200),
  )
})
