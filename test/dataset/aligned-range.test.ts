import { expect, it } from 'vitest'
import { fileName, rangeFrom } from '../../src/dataset/aligned-range.ts'

it('ranges end at multiples of the blocks in a file, and at the last block', () => {
  expect(rangeFrom(0, 5000, 1000)).toEqual({ from: 0, to: 999 })
  expect(rangeFrom(999, 5000, 1000)).toEqual({ from: 999, to: 999 })
  expect(rangeFrom(1500, 5000, 1000)).toEqual({ from: 1500, to: 1999 })
  expect(rangeFrom(4000, 4000, 1000)).toEqual({ from: 4000, to: 4000 })
  expect(rangeFrom(7, 9, 1)).toEqual({ from: 7, to: 7 })
})

it('files are named after their blocks, with nine digits or more', () => {
  expect(fileName('logs', { from: 0, to: 999 }, 'parquet')).toBe('logs/000000000-000000999.parquet')
  expect(fileName('blocks', { from: 9_999_999_000, to: 9_999_999_999 }, 'ndjson.gz')).toBe('blocks/9999999000-9999999999.ndjson.gz')
})
