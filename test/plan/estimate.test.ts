import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { added, estimator, known, linear, strataEstimator, whole } from '../../src/plan/estimate.ts'
import { oneOfEach, seeded } from '../../src/plan/spread.ts'
import { runs } from '../support/runs.ts'

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)

describe('an estimate', () => {
  it('is exact, without a spread, where every block was seen', () => {
    expect(estimator(3, [[1], [2], [3]], [[1], [2], [3]])([5, 7, 1])).toEqual(known(13))
  })

  it('has no spread where a single block was seen, which says nothing of how much others differ', () => {
    expect(estimator(1000, [[3, 4]], [[3, 4], [5, 6]])([7])).toEqual(known(7000)) // biome-ignore format: as a table
    expect(estimator(1000, [], [])([])).toEqual(known(0))
  })

  it('is exact where a trait explains the values, whatever the sample', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 1000 }), { minLength: 30, maxLength: 200 }),
        fc.integer({ min: 0, max: 50 }),
        fc.integer({ min: 0, max: 500 }),
        (traits, slope, base) => {
          const y = (trait: number) => base + slope * trait
          const chosen = oneOfEach(traits.length, 20, seeded()).map((i) => traits[i] as number)
          fc.pre(new Set(chosen).size > 1)
          const estimate = estimator(
            traits.length,
            chosen.map((trait) => [trait]),
            traits.map((trait) => [trait]),
          )(chosen.map(y))
          expect(estimate.value).toBeCloseTo(sum(traits.map(y)), 3)
          expect(estimate.high - estimate.low).toBeLessThan(1e-3 * (1 + estimate.value))
        },
      ),
      runs(200),
    )
  })

  it('holds the true value in about 95 of 100 cases', () => {
    const random = seeded(7)
    let inside = 0
    for (let round = 0; round < 400; round++) {
      const values = Array.from({ length: 3000 }, (_, i) => (i / 3000) * 50 + 100 * random())
      const chosen = oneOfEach(3000, 20, random).map((i) => values[i] as number)
      const none = chosen.map(() => [])
      const { low, high } = estimator(3000, none, none)(chosen)
      if (low <= sum(values) && sum(values) <= high) inside++
    }
    expect(inside).toBeGreaterThan(360)
    expect(inside).toBeLessThan(400)
  })

  it('takes growth along the range for growth, not for noise', () => {
    const growing = Array.from({ length: 20 }, (_, i) => 100 * i)
    const none = growing.map(() => [])
    const [inOrder, shuffled] = [growing, [...growing].sort((a, b) => (a % 300) - (b % 300))].map((values) => estimator(10_000, none, none)(values))
    expect(inOrder?.value).toBe(shuffled?.value)
    expect((inOrder?.high ?? 0) - (inOrder?.value ?? 0)).toBeLessThan(0.3 * ((shuffled?.high ?? 0) - (shuffled?.value ?? 0)))
  })

  it('is never below what the sample alone has', () => {
    const { value, low } = estimator(21, [[], []], [[], []])([0, 1000])
    expect(low).toBe(1000)
    expect(value).toBeGreaterThan(low)
  })

  it('of parts of different size counts each for its blocks', () => {
    const parts = [
      { blocks: 100, seen: 10 },
      { blocks: 10, seen: 10 },
      { blocks: 50, seen: 5 },
    ]
    // 10 times 20, once 7, 10 times 3.
    expect(strataEstimator(parts)([20, 7, 3]).value).toBe(237)
    const even = parts.map(({ seen }) => ({ blocks: 5 * seen, seen }))
    expect(strataEstimator(even)([20, 20, 10])).toEqual(known(250))
    expect(strataEstimator(parts.map(({ seen }) => ({ blocks: seen, seen })))([1, 5, 9])).toEqual(known(15))
    expect(strataEstimator([{ blocks: 40, seen: 4 }])([3])).toEqual(known(30))
  })

  it('of equal parts is the same as of a sample', () => {
    const values = [3, 9, 4, 7, 0, 12]
    const none = values.map(() => [])
    const [one, other] = [estimator(60, none, none)(values), strataEstimator(values.map(() => ({ blocks: 50, seen: 5 })))(values)]
    for (const each of ['value', 'low', 'high'] as const) expect(other[each]).toBeCloseTo(one[each], 9)
  })

  it('of parts knows more where those that differ are small', () => {
    const spread = (blocks: readonly number[]) => {
      const { low, high } = strataEstimator(blocks.map((each) => ({ blocks: each, seen: 1 })))([0, 0, 8, 8])
      return high - low
    }
    expect(spread([1000, 10, 10, 1000])).toBeLessThan(0.03 * spread([500, 510, 510, 500]))
  })

  it('is added, scaled and rounded outwards', () => {
    const one = { value: 10.4, low: 8.6, high: 12.2 }
    expect(whole(one)).toEqual({ value: 10, low: 8, high: 13 })
    expect(added([known(2), linear({ value: 1, low: 0, high: 2 }, 10, 5)])).toEqual({ value: 17, low: 7, high: 27 })
  })
})
