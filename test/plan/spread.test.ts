import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chosenFrom, headersIn, oneOfEach, seeded } from '../../src/plan/spread.ts'
import { runs } from '../support/runs.ts'

describe('the sample', () => {
  it('has a header of each of equal parts of any range, always the same ones', () => {
    fc.assert(
      fc.property(fc.nat(1e9), fc.integer({ min: 1, max: 1e8 }), fc.integer({ min: 2, max: 40 }), (from, blocks, sample) => {
        const numbers = headersIn(from, blocks, sample)
        const parts = Math.min(blocks, 10 * sample)
        expect(numbers).toEqual(headersIn(from, blocks, sample))
        expect(numbers).toHaveLength(parts)
        for (const [i, number] of numbers.entries()) {
          expect(number).toBeGreaterThanOrEqual(from + Math.floor((i * blocks) / parts))
          expect(number).toBeLessThan(from + Math.floor(((i + 1) * blocks) / parts))
        }
      }),
      runs(100),
    )
  })

  it('has as many blocks as it should, from each quarter of the range, and of each size', () => {
    const random = seeded(3)
    const headers = Array.from({ length: 200 }, (_, number) => ({ number, transactions: number % 10 === 0 ? 500 : Math.floor(10 * random()) }))
    const chosen = chosenFrom(headers, 20)
    expect(new Set(chosen).size).toBe(20)
    for (let quarter = 0; quarter < 4; quarter++) expect(chosen.filter(({ number }) => Math.floor(number / 50) === quarter)).toHaveLength(5)
    expect(chosen.filter(({ transactions }) => transactions === 500).length).toBeGreaterThan(0)
    expect(chosen.map(({ number }) => number)).toEqual(chosen.map(({ number }) => number).sort((a, b) => a - b))
  })

  it('has all blocks of a range that is smaller', () => {
    const headers = [3, 4, 5].map((number) => ({ number, transactions: 0 }))
    expect(chosenFrom(headers, 20)).toEqual(headers)
    expect(headersIn(3, 3, 20)).toEqual([3, 4, 5])
  })

  it('meets what repeats along a chain as often as it is there', () => {
    for (const period of [2, 3, 5, 7, 10, 19]) {
      const hits = oneOfEach(20_000, 2000, seeded()).filter((number) => number % period === 0).length
      expect(hits).toBeGreaterThan((0.75 * 2000) / period)
      expect(hits).toBeLessThan((1.25 * 2000) / period)
    }
  })
})
