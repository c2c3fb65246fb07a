import { expect, test } from 'vitest'
import { atLeast, between, exactly, unknown } from '../../src/probe/figure.ts'

test.each([
  [exactly(5, 'seen', 6), { known: 'exactly', value: 5, refused: 6, how: 'seen' }],
  [exactly('geth', 'seen'), { known: 'exactly', value: 'geth', refused: null, how: 'seen' }],
  [between(5, 9, 'seen'), { known: 'between', value: 5, refused: 9, how: 'seen' }],
  [atLeast(5, 'seen'), { known: 'at least', value: 5, refused: null, how: 'seen' }],
  [unknown('why'), { known: 'unknown', value: null, refused: null, how: 'why' }],
])('%o', (figure, expected) => {
  expect(figure).toEqual(expected)
})
