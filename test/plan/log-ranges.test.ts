import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RangeLimits } from '../../src/bulk/logs/range-limits.ts'
import { RangeSize } from '../../src/bulk/logs/range-size.ts'
import { rangesFor } from '../../src/plan/log-ranges.ts'
import { runs } from '../support/runs.ts'

/** A window of ten blocks, which stands for as many blocks as the others. */
const windowOf = (first: number, blocks: number, logs: number) => ({
  ...{ first, blocks, from: first, to: first + 9 },
  ...{ logs, bytes: 100 * logs, lineBytes: 0, blocksWithLogs: 0 },
})
const ranges = (blocks: number, logs: readonly number[], limits = new RangeLimits(), density = 1) =>
  rangesFor(
    0,
    blocks,
    logs.map((each, i) => windowOf((i * blocks) / logs.length, blocks / logs.length, each)),
    density,
    new RangeSize(true, limits, 30_000),
  )

describe('the number of log ranges', () => {
  it('is one for a range that the first call covers', () => {
    expect(ranges(10_000, [0])).toBe(1)
    expect(ranges(10_001, [0])).toBe(2)
  })

  it('grows with the blocks as long as replies are empty, fourfold from one reply to the next', () => {
    // 10,000 blocks, then 64 ranges of 40,000 before an answer to one of them lengthens the next.
    expect(ranges(10_000 + 64 * 40_000, [0])).toBe(65)
    expect(ranges(10_000 + 64 * 40_000 + 160_000, [0])).toBe(66)
  })

  it('follows how many logs there are', () => {
    // 4,750 logs a range, once the first ranges have shown that there are as many.
    const many = ranges(100_000_000, [50])
    expect(many).toBeGreaterThan((0.95 * 500_000_000) / 4750)
    expect(many).toBeLessThan((1.05 * 500_000_000) / 4750)
    expect(ranges(100_000_000, [50], new RangeLimits(), 2) / many).toBeCloseTo(2, 1)
  })

  it('counts the logs of each part of a range, not only those where it begins', () => {
    // The first range ends with 100,000 logs, so that the next is half as long, and not four times.
    const late = [windowOf(0, 9000, 0), windowOf(9000, 11_000, 1000)]
    expect(rangesFor(0, 20_000, late, 1, new RangeSize(true, new RangeLimits(), 30_000))).toBe(3)
    const early = [windowOf(0, 1000, 1000), windowOf(1000, 19_000, 0)]
    expect(rangesFor(0, 20_000, early, 1, new RangeSize(true, new RangeLimits(), 30_000))).toBe(3)
    expect(ranges(20_000, [0, 0])).toBe(2)
  })

  it('does not depend on the number of windows that say the same', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(64), { minLength: 1, maxLength: 20 }), (logs) => {
        const blocks = logs.length * 1_048_576
        expect(
          ranges(
            blocks,
            logs.flatMap((each) => [each, each, each, each]),
          ),
        ).toBe(ranges(blocks, logs))
      }),
      runs(100),
    )
  })

  it('is what an endpoint allows that takes few blocks', () => {
    const limits = new RangeLimits()
    limits.takes('node', 10)
    expect(ranges(1000, [0], limits)).toBe(100)
  })
})
