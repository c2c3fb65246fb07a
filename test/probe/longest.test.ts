import { describe, expect, it } from 'vitest'
import { longest, type Search, type Trial } from '../../src/probe/longest.ts'

const RUNGS = [1000, 500, 100, 50, 10, 5, 1]

/** The resulting figure, and the lengths tried. */
async function found(trial: (length: number) => Trial, search: Partial<Search> = {}) {
  const tried: number[] = []
  const figure = await longest({
    most: 1000,
    least: 0,
    rungs: RUNGS,
    say: (length) => `${length}`,
    async test(length) {
      tried.push(length)
      return trial(length)
    },
    ...search,
  })
  return { figure, tried }
}

const limit =
  (most: number, names?: number) =>
  (length: number): Trial =>
    length <= most ? 'passed' : { refused: 'too long', names }

describe('the longest length', () => {
  it.each([0, 1, 2, 9, 10, 37, 99, 100, 101, 499, 500, 700, 999])('of %i is found exactly, with few trials', async (most) => {
    const { figure, tried } = await found(limit(most))
    if (most === 0) expect(figure).toMatchObject({ known: 'unknown', how: '1 was refused: too long' })
    else expect(figure).toEqual({ known: 'exactly', value: most, refused: most + 1, how: `${most + 1} was refused: too long` })
    expect(tried.length).toBeLessThanOrEqual(20)
    expect(new Set(tried).size).toBe(tried.length)
  })

  it('is tried first, and nothing beyond it', async () => {
    expect(await found(limit(5000))).toEqual({
      figure: { known: 'at least', value: 1000, refused: null, how: '1000 passed, and nothing longer was tried' },
      tried: [1000],
    })
  })

  it.each([
    [37, 37, [1000, 37, 38]],
    // The named limit may be the first refused length.
    [37, 38, [1000, 38, 37]],
  ])('of %i is found in three trials if %i is named', async (most, names, trials) => {
    const { figure, tried } = await found(limit(most, names))
    expect(figure).toMatchObject({ known: 'exactly', value: most, refused: most + 1 })
    expect(tried).toEqual(trials)
  })

  it('is searched for if a named one is wrong', async () => {
    expect((await found(limit(37, 700))).figure).toMatchObject({ known: 'exactly', value: 37 })
  })

  it('of a common limit takes trials of that and the next one', async () => {
    expect((await found(limit(100))).tried).toEqual([1000, 500, 100, 101])
  })
})

describe('an unclear result', () => {
  it('is no limit: the figure is at least the accepted length', async () => {
    const { figure } = await found((length) => (length <= 50 ? 'passed' : { unclear: 'throttled' }))
    expect(figure).toEqual({ known: 'at least', value: 50, refused: null, how: '100: throttled' })
  })

  it('bounds the search below a limit', async () => {
    const { figure } = await found((length) => (length <= 50 ? 'passed' : length <= 60 ? { unclear: 'throttled' } : { refused: 'too long' }))
    expect(figure).toMatchObject({ known: 'between', how: expect.stringMatching(/was refused: too long; \d+: throttled$/) })
    expect(figure.value).toBe(50)
    expect(figure.refused).toBeGreaterThan(60)
  })

  it('is all that is known if nothing was accepted', async () => {
    expect((await found(() => ({ unclear: 'throttled' }))).figure).toMatchObject({ known: 'unknown', how: '1: throttled' })
  })
})

it.each([
  [0, 0, { known: 'unknown', how: 'there is nothing to try' }],
  [1, 1, { known: 'at least', value: 1, how: '1 is the longest that can be tried' }],
])('from %i to %i nothing is tried', async (least, most, expected) => {
  const { figure, tried } = await found(limit(5), { least, most })
  expect(figure).toMatchObject(expected)
  expect(tried).toEqual([])
})
