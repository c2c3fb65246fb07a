import { expect, test } from 'vitest'
import { brief, briefDurationOf, count, countOf, durationOf, sizeOf } from '../../../src/cli/output/units.ts'

test.each<[(value: number) => string, number, string]>([
  [count, 0, '0'],
  [count, 1234567, '1,234,567'],
  [durationOf, 499, '0 s'],
  [durationOf, 59_400, '59 s'],
  [durationOf, 59_600, '1 min 0 s'],
  [durationOf, 200_000, '3 min 20 s'],
  [durationOf, 3_599_600, '1 h 0 min'],
  [durationOf, 18_720_000, '5 h 12 min'],
  [briefDurationOf, 59_400, '59 s'],
  [briefDurationOf, 59_600, '1 min'],
  [briefDurationOf, 3_599_000, '59 min'],
  [briefDurationOf, 3_600_000, '1 h'],
  [briefDurationOf, 172_799_000, '47 h'],
  [briefDurationOf, 172_800_000, '2 d'],
  [brief, 999, '999'],
  [brief, 1861, '1.9K'],
  [brief, 999_499, '999K'],
  [brief, 34_000_000, '34M'],
  [sizeOf, 999, '999 B'],
  [sizeOf, 1000, '1.0 kB'],
  [sizeOf, 1_234_567, '1.2 MB'],
  [sizeOf, 1e9, '1.00 GB'],
])('%o of %i is %s', (format, value, text) => {
  expect(format(value)).toBe(text)
})

test.each([
  [0, 'row', '0 rows'],
  [1, 'row', '1 row'],
  [1234, 'file', '1,234 files'],
])('%i %s: %s', (value, noun, text) => {
  expect(countOf(value, noun)).toBe(text)
})
