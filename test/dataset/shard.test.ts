import fc from 'fast-check'
import { expect, it } from 'vitest'
import { checkShard, rangesOf, shardOf } from '../../src/dataset/shard.ts'
import { runs } from '../support/runs.ts'

it('deals out aligned ranges by their number, counted from block 0', () => {
  expect([...rangesOf({ from: 0, to: 7999 }, 1000, { index: 3, of: 4 })]).toEqual([
    { from: 2000, to: 2999 },
    { from: 6000, to: 6999 },
  ])
  expect([...rangesOf({ from: 2500, to: 6100 }, 1000, { index: 3, of: 4 })]).toEqual([
    { from: 2500, to: 2999 },
    { from: 6000, to: 6100 },
  ])
  expect([...rangesOf({ from: 2500, to: 3100 }, 1000, { index: 1, of: 4 })]).toEqual([])
})

it('all shards together have each block once, and the range of a block does not depend on where a run begins or ends', () => {
  const block = fc.nat({ max: 80 })
  fc.assert(
    fc.property(block, block, fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 12 }), (from, more, blocksPerFile, of) => {
      const to = from + more
      const dealt = Array.from({ length: of }, (_, i) => [...rangesOf({ from, to }, blocksPerFile, { index: i + 1, of })])
      const blocks = dealt.flat().flatMap((range) => Array.from({ length: range.to - range.from + 1 }, (_, i) => range.from + i))
      expect(blocks.sort((a, b) => a - b)).toEqual(Array.from({ length: more + 1 }, (_, i) => from + i))
      for (const [i, ranges] of dealt.entries())
        expect(ranges.flatMap((range) => [range.from, range.to]).filter((end) => shardOf(end, blocksPerFile, of).index !== i + 1)).toEqual([])
    }),
    runs(50),
  )
})

it.each([
  [{ index: 0, of: 8 }, 'shard.index: expected a whole number from 1 to 8, received 0'],
  [{ index: 9, of: 8 }, 'shard.index: expected a whole number from 1 to 8, received 9'],
  [{ index: 1, of: 0 }, 'shard.of: expected a whole number from 1 to 100000, received 0'],
  [{ index: 1 }, 'shard.of: expected a whole number from 1 to 100000, received undefined'],
  [{ index: 1, count: 8 }, 'shard: expected only index, of, received "count"'],
  ['3/8', 'shard: expected an object'],
])('%j is refused', (shard, message) => {
  expect(() => checkShard(shard)).toThrow(message)
})

it('takes the first and the last', () => {
  expect(checkShard({ index: 1, of: 1 })).toEqual({ index: 1, of: 1 })
  expect(checkShard({ index: 8, of: 8 })).toEqual({ index: 8, of: 8 })
})
