import { describe, expect, test } from 'vitest'
import { Gap } from '../../../../adapters/viem/live/gap.ts'

describe('a gap', () => {
  test('is closed once it has been filled twice, and forgets up to which block it reached', () => {
    const gap = new Gap()
    gap.reach(12)
    gap.reach(10)
    gap.open(8)
    expect([gap.isClosed, gap.least]).toEqual([false, 12])
    gap.filled()
    expect([gap.isClosed, gap.least]).toEqual([false, 12])
    gap.filled()
    expect([gap.isClosed, gap.least]).toEqual([true, 0])
  })

  test('that opens again before it is closed has both fills before it', () => {
    const gap = new Gap()
    gap.open(8)
    gap.filled()
    gap.open(9)
    gap.filled()
    expect(gap.isClosed).toBe(false)
    gap.filled()
    expect(gap.isClosed).toBe(true)
  })

  test('is hopeless where both 256 blocks and more than 10,000 logs have come since it opened', () => {
    const gap = new Gap()
    gap.open(8)
    // As a gap that is open, it keeps the block at which it opened.
    gap.open(200)
    expect([gap.isHopeless(264, 10_000), gap.isHopeless(263, 10_001), gap.isHopeless(264, 10_001)]).toEqual([false, false, true])
    gap.giveUp()
    expect(gap.isClosed).toBe(true)
  })
})
