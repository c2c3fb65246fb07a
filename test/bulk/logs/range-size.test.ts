import { describe, expect, it } from 'vitest'
import { RangeLimits } from '../../../src/bulk/logs/range-limits.ts'
import { RangeSize } from '../../../src/bulk/logs/range-size.ts'

const TIMEOUT_MS = 30_000

function start({ isSelective = true, timeoutMs = TIMEOUT_MS } = {}) {
  const limits = new RangeLimits()
  const range = new RangeSize(isSelective, limits, timeoutMs)
  /** Replies to ranges of the current size, and the sizes after each. */
  const answer = (times: number, reply: { bytes?: number; logs?: number; tookMs?: (blocks: number) => number }) =>
    Array.from({ length: times }, () => {
      const { blocks } = range
      range.answered({ blocks, bytes: reply.bytes ?? 2, logs: reply.logs ?? 0, tookMs: reply.tookMs?.(blocks) })
      return range.blocks
    })
  return { range, limits, answer }
}

describe('a range', () => {
  it('begins at 10,000 blocks, or at 100 without a filter', () => {
    expect([start().range.blocks, start({ isSelective: false }).range.blocks]).toEqual([10_000, 100])
  })

  it('grows fourfold while replies are small and quick', () => {
    expect(start().answer(3, { tookMs: () => 5 })).toEqual([40_000, 160_000, 640_000])
  })

  it('shrinks by the size of replies, by half at most', () => {
    expect(start().answer(1, { bytes: 2.5 * 1024 * 1024 })).toEqual([8000])
    expect(start().answer(2, { logs: 50_000 })).toEqual([5000, 2500])
  })

  it('grows by 5 % near a size that was refused', () => {
    const { range, answer } = start()
    range.refused(10_000, 6000)
    expect(answer(2, {})).toEqual([6300, 6615])
    range.refused(6615, 3308)
    expect(answer(1, {})).toEqual([3473])
  })

  it('of a few blocks grows by one there, up to the one before', () => {
    const { range, answer } = start()
    range.refused(8, 4)
    expect(answer(5, {})).toEqual([5, 6, 7, 7, 7])
  })

  it('does not leap over a size that was refused where a shorter one is answered', () => {
    const { range } = start()
    range.refused(158, 79)
    range.answered({ blocks: 80, bytes: 2, logs: 0, tookMs: 5 })
    range.answered({ blocks: 73, bytes: 2, logs: 0, tookMs: 5 })
    expect(range.blocks).toBe(84)
  })

  it('stays below a size that was refused, and has it again once after 256 ranges', () => {
    const { range, answer } = start()
    range.refused(3, 1)
    expect(answer(258, {})).toEqual([1, ...Array(256).fill(2), 3])
    range.requested(3)
    range.refused(3, 1)
    expect(answer(512, {})).toEqual([...Array(511).fill(2), 3])
    range.requested(3)
    range.answered({ blocks: 3, bytes: 2, logs: 0, tookMs: 5 })
    expect(answer(2, {})).toEqual([12, 48])
  })

  it('stays as it is where an earlier part turns out to be dense, unless that takes too long', () => {
    const { range } = start()
    const dense = { bytes: 4 * 1024 * 1024, logs: 6000, tookMs: 5 }
    range.answered({ blocks: 10_000, bytes: 1024 * 1024, logs: 2500, tookMs: 5, to: 30_000 })
    expect(range.blocks).toBe(19_000)
    range.answered({ blocks: 2000, ...dense, to: 22_000 })
    expect(range.blocks).toBe(19_000)
    range.refused(2000, 500, 22_000)
    expect(range.blocks).toBe(19_000)
    range.answered({ blocks: 20_000, bytes: 2, logs: 0, tookMs: TIMEOUT_MS, to: 20_000 })
    expect(range.blocks).toBe(10_000)
    range.answered({ blocks: 10_000, ...dense, to: 40_000 })
    expect(range.blocks).toBe(5000)
    range.refused(5000, 1250, 45_000)
    expect(range.blocks).toBe(1250)
  })

  it('stays within what every endpoint takes', () => {
    const { range, limits } = start()
    limits.takes('a', 2000)
    limits.takes('b', 500)
    expect(range.blocks).toBe(500)
  })
})

describe('a range of blocks with a steady number of logs', () => {
  /** The size after a complete reply of this many logs, within a limit on blocks. */
  function sizeAfter(blocks: number, logs: number) {
    const { range, limits } = start()
    limits.takes('a', blocks)
    range.wasComplete({ blocks, bytes: 2, logs, tookMs: 5 })
    return range.blocks
  }

  it.each([
    [1000, 1000, 999],
    [100, 2000, 99],
    // In one block of three.
    [1500, 500, 1497],
    [2, 500, 1],
    [1, 500, 1],
  ])('gives no round number of logs again: after %d blocks with %d, it has %d', (blocks, logs, next) => {
    expect(sizeAfter(blocks, logs)).toBe(next)
  })

  it('stays as it is where that number is no round one', () => {
    expect([sizeAfter(1000, 998), sizeAfter(1000, 400), sizeAfter(1000, 0)]).toEqual([1000, 1000, 1000])
  })

  it('goes by the last reply with a round number', () => {
    const { range, limits } = start()
    limits.takes('a', 1000)
    for (const logs of [1000, 999, 500]) range.wasComplete({ blocks: 1000, bytes: 2, logs, tookMs: 5 })
    expect(range.blocks).toBe(998)
  })
})

describe('the time of a reply', () => {
  it.each([
    [30_000, 3000],
    [1000, 100],
  ])('that is too long is a tenth of the timeout: of %d ms, %d', (timeoutMs, most) => {
    const next = (tookMs: number) => start({ timeoutMs }).answer(1, { tookMs: () => tookMs })[0]
    expect(next(most)).toBe(10_000)
    expect(next(1.25 * most)).toBe(8000)
    expect(next(10 * most)).toBe(5000)
    expect(next(0.5 * most)).toBe(20_000)
  })

  it('settles a range near the target where it depends on the blocks', () => {
    for (const msPerBlock of [0.01, 1, 20]) {
      const { answer } = start()
      const last = answer(40, { tookMs: (blocks) => 50 + blocks * msPerBlock }).at(-1) as number
      expect(last * msPerBlock).toBeGreaterThan(2500)
      expect(last * msPerBlock).toBeLessThan(3100)
    }
  })

  it('does not count as far as the node takes it for any range', () => {
    const { answer } = start()
    expect(answer(4, { tookMs: () => 10_000 })).toEqual([5000, 20_000, 80_000, 320_000])
    // What grows with the range does count.
    expect(answer(1, { tookMs: () => 16_000 })[0]).toBeLessThan(200_000)
  })

  it('counts again once the node is quick', () => {
    const { answer } = start()
    answer(2, { tookMs: () => 10_000 })
    answer(1, { tookMs: () => 100 })
    expect(answer(1, { tookMs: () => 10_000 })[0]).toBeLessThan(80_000)
  })
})

describe('what an endpoint takes', () => {
  it('is kept for each', () => {
    const limits = new RangeLimits()
    limits.leavesOutAfter('a', 10_000)
    expect([limits.maxResultsOf('a'), limits.maxResultsOf('b'), limits.maxBlocks]).toEqual([10_000, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY])
  })

  it('is unknown again once it has given more results than it was taken to give', () => {
    const limits = new RangeLimits()
    limits.leavesOutAfter('a', 1000)
    limits.leftOutNone('b', 2001)
    limits.leftOutNone('a', 1000)
    expect([1000, 1001].map((results) => limits.mayBeCut('a', results))).toEqual([true, true])
    limits.leftOutNone('a', 1001)
    expect([1000, 1001].map((results) => limits.mayBeCut('a', results))).toEqual([true, false])
  })
})

describe('a trial beyond a limit on blocks', () => {
  /** A range at a limit of 10 blocks. */
  function atLimit() {
    const { range, limits } = start()
    limits.takes('a', 10)
    /** Answers ranges until one exceeds the limit, and requests that one. */
    const untilTrial = () => {
      for (let answered = 0; ; answered++) {
        const { blocks } = range
        range.requested(blocks)
        if (blocks > limits.maxBlocks) return { answered, blocks }
        limits.answered('a', blocks)
        if (limits.isTrialDue) range.tryMore()
      }
    }
    return { range, limits, untilTrial }
  }

  it('is a single range, and comes after twice as many ranges each time', () => {
    const { range, limits, untilTrial } = atLimit()
    const counts = Array.from({ length: 10 }, () => {
      const { answered, blocks } = untilTrial()
      expect([blocks, range.blocks]).toEqual([40, 10])
      limits.takes('a', 10)
      return answered
    })
    expect(counts).toEqual([256, 512, 1024, 2048, 4096, 4096, 4096, 4096, 4096, 4096])
  })

  it('raises the limit where it is answered, and the next one follows at once', () => {
    const { range, limits, untilTrial } = atLimit()
    untilTrial()
    limits.answered('a', 40)
    expect(limits.maxBlocks).toBe(40)
    expect(limits.isTrialDue).toBe(true)
    range.tryMore()
    expect(untilTrial()).toEqual({ answered: 0, blocks: 160 })
  })

  it('leaves the limit of one endpoint as it is where another one answers', () => {
    const { limits, untilTrial } = atLimit()
    untilTrial()
    limits.answered('b', 40)
    expect(limits.maxBlocks).toBe(10)
  })

  it.each<[string, (at: ReturnType<typeof atLimit>) => void]>([
    ['is refused for what it holds', ({ range }) => range.refused(40, 10)],
    ['is answered by another endpoint', ({ limits }) => limits.answered('b', 40)],
  ])('is over once it %s: the answer to another range raises nothing', (_, end) => {
    const at = atLimit()
    at.untilTrial()
    end(at)
    at.limits.answered('a', 10_000)
    expect(at.limits.maxBlocks).toBe(10)
  })

  it('is what raises a limit, not the answer to an earlier range', () => {
    const { limits } = atLimit()
    limits.answered('a', 10_000)
    expect(limits.maxBlocks).toBe(10)
  })
})
