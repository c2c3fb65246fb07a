import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FittedLine, fittedLine } from '../../../src/cli/output/fitted-line.ts'
import { runs } from '../../support/runs.ts'

const line: FittedLine = {
  parts: { a: ['apples and pears', 'apples'], b: ['beans', ''], c: ['cabbage'] },
  separator: [' | ', ' '],
  steps: ['b', 'a', 'separator'],
}

describe('a line', () => {
  it.each([
    [34, 'apples and pears | beans | cabbage'],
    [33, 'apples and pears | cabbage'],
    [25, 'apples | beans | cabbage'],
    [23, 'apples | cabbage'],
    [15, 'apples cabbage'],
    [13, 'apples cabba…'],
    [1, '…'],
  ])('in %i columns takes the longest form that fits, and what is cut ends with a mark', (width, text) => {
    expect(fittedLine(line, width)).toBe(text)
  })

  it('gives what has gone the room that a longer part leaves', () => {
    const parts = { small: ['small', ''], long: ['a very long part', ''], rest: ['rest'] } satisfies FittedLine['parts']
    expect(fittedLine({ parts: parts as never, separator: [' '], steps: ['small', 'long'] }, 12)).toBe('small rest')
  })

  it('is never longer than its room', () => {
    const text = fc.string({ maxLength: 30 })
    const part: fc.Arbitrary<FittedLine['separator']> = fc.tuple(text, text, text)
    const names = fc.constantFrom('a', 'b', 'separator')
    fc.assert(
      fc.property(part, part, part, fc.array(names, { maxLength: 8 }), fc.integer({ min: 1, max: 100 }), (a, b, separator, steps, width) => {
        expect(fittedLine({ parts: { a, b }, separator, steps }, width).length).toBeLessThanOrEqual(width)
      }),
      runs(100),
    )
  })
})
