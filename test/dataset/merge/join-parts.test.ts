import fc from 'fast-check'
import { expect, it } from 'vitest'
import { contradictionIn, type Found, furthest, missingText, tile } from '../../../src/dataset/merge/join-parts.ts'
import { runs } from '../../support/runs.ts'

const hashOf = (number: number) => `0x${number}`

/** A range of the chain, as a folder says it. */
function found(from: number, to: number, dir = 'a', other: Partial<Found['range']> = {}): Found {
  const file = { name: `blocks/${from}-${to}`, rows: 1, bytes: 1, sha256: `digest of ${from}-${to}` }
  const hashes = { parentHash: hashOf(from - 1), firstHash: hashOf(from), lastHash: hashOf(to) }
  return { dir, range: { from, to, ...hashes, files: [file], checks: { made: {}, skipped: {} }, nulls: {}, tool: '', ...other } }
}

const shown = (all: readonly Found[]) => all.map(({ dir, range }) => `${dir} ${range.from}-${range.to}`)

it('ranges of one chain do not contradict each other, also where two folders have the same', () => {
  expect(contradictionIn([found(0, 9), found(10, 19), found(10, 19, 'b'), found(10, 14, 'c')])).toBeUndefined()
})

it.each([
  ['a first block that is not the child of the last one', found(10, 19, 'b', { parentHash: 'x' }), 9, ['0x9', 'x']],
  ['a first block', found(10, 14, 'b', { firstHash: 'x' }), 10, ['0x10', 'x']],
  ['a last block', found(15, 19, 'b', { lastHash: 'x' }), 19, ['0x19', 'x']],
] as const)('names the block where two folders differ: %s', (_, other, block, said) => {
  expect(contradictionIn([found(0, 9), found(10, 19), other])).toEqual({ block, field: 'hash', said, by: ['a', 'b'] })
})

it('names a range of which two folders have different files', () => {
  const other = found(10, 19, 'b')
  const files = [{ ...other.range.files[0], sha256: 'x' }] as Found['range']['files']
  const contradiction = { block: 10, field: 'files', said: ['digest of 10-19', 'x'], by: ['a', 'b'] }
  expect(contradictionIn([found(10, 19), found(10, 19, 'b', { files })])).toEqual(contradiction)
})

it('puts ranges in order, takes each once, and finds the gaps', () => {
  const all = [found(30, 39), found(3, 9), found(10, 19), found(10, 19, 'b')]
  const { ranges, gaps } = tile(all, { from: 3, to: 45, blocksPerFile: 10 })
  expect(shown(ranges)).toEqual(['a 3-9', 'a 10-19', 'a 30-39'])
  expect(gaps).toEqual([
    [20, 29],
    [40, 45],
  ])
})

it('of ranges that overlap, it takes those that leave no gap', () => {
  const all = [found(0, 9), found(10, 17), found(10, 15, 'b'), found(16, 19, 'b')]
  expect(tile(all, { from: 0, to: 19, blocksPerFile: 10 })).toMatchObject({ gaps: [] })
  expect(shown(tile(all, { from: 0, to: 19, blocksPerFile: 10 }).ranges)).toEqual(['a 0-9', 'b 10-15', 'b 16-19'])
})

it('and of these the longest', () => {
  const all = [found(0, 9), found(10, 15), found(16, 19), found(10, 19, 'b')]
  expect(shown(tile(all, { from: 0, to: 19, blocksPerFile: 10 }).ranges)).toEqual(['a 0-9', 'b 10-19'])
})

it('covers whatever ranges cover, and no block twice', () => {
  const cut = fc.tuple(fc.nat({ max: 4 }), fc.nat({ max: 9 }), fc.nat({ max: 9 }))
  fc.assert(
    fc.property(fc.array(cut, { maxLength: 12 }), (cuts) => {
      const all = cuts.map(([range, a, b], i) => found(range * 10 + Math.min(a, b), range * 10 + Math.max(a, b), `${i}`))
      const { ranges, gaps } = tile(all, { from: 0, to: 49, blocksPerFile: 10 })
      const pieces = [...ranges.map(({ range }) => [range.from, range.to] as const), ...gaps].sort(([a], [b]) => a - b)
      let next = 0
      for (const [from, to] of pieces) {
        expect(from).toBe(next)
        expect(to).toBeGreaterThanOrEqual(from)
        next = to + 1
      }
      expect(next).toBe(50)
      // Ranges that tile are found, whatever else is there.
      const whole = [found(0, 6), found(7, 9), found(10, 19), found(20, 24), found(25, 29), found(30, 39), found(40, 49)]
      expect(tile([...all, ...whole], { from: 0, to: 49, blocksPerFile: 10 }).gaps).toEqual([])
    }),
    runs(50),
  )
})

it('names what is missing, and whose it is', () => {
  const gaps = [
    [20, 29],
    [45, 62],
  ] as const
  expect(missingText(gaps, 10, undefined)).toBe('blocks 20 to 29, blocks 45 to 62')
  expect(missingText(gaps, 10, 4)).toBe('shard 1/4: blocks 45 to 49; shard 2/4: blocks 50 to 59; shard 3/4: blocks 20 to 29, blocks 60 to 62')
  expect(missingText([[20, 49]], 10, 1)).toBe('shard 1/1: blocks 20 to 49')
  expect(missingText([[7, 7]], 10, undefined)).toBe('block 7')
})

it('names a few of many', () => {
  const gaps = Array.from({ length: 12 }, (_, i) => [20 * i, 20 * i] as const)
  expect(missingText(gaps, 10, 2)).toBe(`shard 1/2: ${Array.from({ length: 10 }, (_, i) => `block ${20 * i}`).join(', ')}, and 2 more ranges`)
  expect(missingText([[0, 999]], 10, 100)).toMatch(/^shard 1\/100: blocks 0 to 9; .*shard 10\/100: blocks 90 to 99; and 90 more shards$/)
})

it('the furthest goal counts, and of two the one that shards have', () => {
  expect(furthest([])).toBeUndefined()
  expect(
    furthest([
      { to: 9, of: 2 },
      { to: 19, of: undefined },
    ]),
  ).toEqual({ to: 19, of: undefined })
  expect(
    furthest([
      { to: 19, of: undefined },
      { to: 19, of: 8 },
    ]),
  ).toEqual({ to: 19, of: 8 })
})
