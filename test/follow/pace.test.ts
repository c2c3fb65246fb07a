import { describe, expect, it } from 'vitest'
import { Pace } from '../../src/follow/pace.ts'
import { randomFrom } from '../support/random.ts'

/** Looks at a chain with a block each `blockMs`, without a bell, in simulated time. */
function simulate(blockMs: number, blocks: number, jitter = 0) {
  const random = randomFrom(1)
  const times = Array.from({ length: blocks + 1 }, (_, i) => i * blockMs + random() * jitter * blockMs)
  let now = 1
  const pace = new Pace(now)
  let seen = 0
  let looks = 0
  const delays: number[] = []
  while (seen < blocks) {
    const wait = pace.waitMs(now, false, 0.5)
    expect(wait).toBeGreaterThan(0)
    now += wait
    looks++
    const there = times.filter((time) => time <= now).length - 1
    if (there > seen) {
      for (let number = seen + 1; number <= there; number++) delays.push(now - (times[number] as number))
      pace.found(there - seen, now)
      seen = there
    } else pace.missed()
  }
  const settled = delays.slice(10)
  return { looksPerBlock: looks / blocks, meanDelay: settled.reduce((sum, delay) => sum + delay, 0) / settled.length / blockMs }
}

describe('without a bell', () => {
  it.each([
    { chain: 'Ethereum', blockMs: 12_000, looks: 3, delay: 0.1 },
    { chain: 'OP Mainnet', blockMs: 2_000, looks: 3, delay: 0.1 },
    // No more often than each 50 ms.
    { chain: 'Arbitrum', blockMs: 250, looks: 3, delay: 0.2 },
  ])('$chain: about $looks looks for a block, and a delay of a tenth of the time between blocks', ({ blockMs, looks, delay }) => {
    for (const jitter of [0, 0.1]) {
      const { looksPerBlock, meanDelay } = simulate(blockMs, 200, jitter)
      expect(looksPerBlock).toBeLessThan(looks)
      expect(meanDelay).toBeLessThan(delay)
    }
  })

  it('a chain that stands still is looked at ever less often, at least once in its time between blocks', () => {
    const pace = new Pace(1)
    pace.found(1, 12_001)
    const waits = Array.from({ length: 30 }, () => {
      pace.missed()
      return pace.waitMs(20_000, false, 0.5)
    })
    expect(waits[0]).toBe(1200)
    expect(waits.every((wait, i) => i === 0 || wait >= (waits[i - 1] as number))).toBe(true)
    expect(waits.at(-1)).toBe(12_000)
  })

  it('a chain without regular blocks, such as a test node, is looked at once a second at least', () => {
    const pace = new Pace(1)
    pace.found(100, 101)
    for (let i = 0; i < 50; i++) pace.missed()
    expect(pace.waitMs(200, false, 0.5)).toBe(1000)
  })

  it('catching up is no measure of the time between blocks', () => {
    const pace = new Pace(1)
    pace.found(1, 2001)
    pace.caughtUp(9000)
    expect(pace.waitMs(9000, false, 0.5)).toBe(1800)
  })
})

it('with a bell, it looks when that has been silent for the time of two blocks, and then as without', () => {
  const pace = new Pace(1)
  pace.found(1, 2001)
  expect(pace.waitMs(2001, true, 0.5)).toBe(4000)
  pace.missed()
  expect(pace.waitMs(6001, true, 0.5)).toBe(200)
})

it('after failures it waits, twice as long each time, and never much longer than half a minute', () => {
  const pace = new Pace(1)
  const waits = Array.from({ length: 12 }, () => {
    pace.failed()
    return [pace.waitMs(1, true, 0), pace.waitMs(1, false, 1)]
  })
  expect(waits.slice(0, 3)).toEqual([
    [125, 250],
    [250, 500],
    [500, 1000],
  ])
  expect(waits.at(-1)).toEqual([15_000, 30_000])
  pace.missed()
  expect(pace.waitMs(1, false, 1)).toBe(100)
})

it('a block that comes between failures: the next wait is the first one again', () => {
  const pace = new Pace(1)
  for (let i = 0; i < 5; i++) pace.failed()
  pace.came()
  pace.failed()
  expect(pace.waitMs(1, false, 1)).toBe(250)
})
