import { describe, expect, it } from 'vitest'
import type { CopiedLog } from '../../src/bulk/logs/log-lines.ts'
import type { LogSpan } from '../../src/bulk/logs/log-span.ts'
import { RpcError } from '../../src/index.ts'
import { sampleWindows, windowEstimator } from '../../src/plan/log-windows.ts'

/** The logs of a chain that has `density(number)` of them in a block, and what was asked for. */
function logsOf(density: (number: number) => number, splitAbove = Number.POSITIVE_INFINITY) {
  const asked: LogSpan[] = []
  let splits = 0
  return {
    asked,
    splits: () => splits,
    async fetch({ from, to }: LogSpan) {
      asked.push({ from, to })
      if (to - from + 1 > splitAbove) splits++
      const items: CopiedLog[] = []
      for (let number = from; number <= to; number++)
        for (let i = 0; i < density(number); i++) items.push({ json: Buffer.from('{}'), value: { blockNumber: BigInt(number) } } as unknown as CopiedLog)
      return { from, to, items, received: 10 * items.length, endpoints: new Set<string>() }
    },
  }
}
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
const sizes = (windows: readonly LogSpan[]) => [...new Set(windows.map(({ from, to }) => to - from + 1))]

describe('windows of logs', () => {
  it.each([
    ['no logs', 0, 100_000],
    ['few logs', 0.01, 100_000],
    ['many logs', 5, 100],
  ])('are as long as it takes to see some: %s', async (_, density, length) => {
    const chain = logsOf((number) => (number % 100 < 100 * density ? Math.max(1, density) : 0))
    const { windows } = await sampleWindows(chain, 7, 4_000_000, 5)
    expect(windows.length).toBeGreaterThanOrEqual(5)
    expect(sizes(windows)).toEqual([length])
  })

  it('are no longer than the node takes', async () => {
    const { windows } = await sampleWindows(
      logsOf(() => 0, 500),
      0,
      100_000,
      10,
    )
    expect(sizes(windows)).toEqual([1000])
  })

  it('cover a range without a gap where that is short, each with its own blocks', async () => {
    const { windows } = await sampleWindows(
      logsOf((number) => number % 3),
      10,
      55,
      4,
    )
    expect(windows.map(({ from, to }) => [from, to])).toEqual([
      [10, 22],
      [23, 36],
      [37, 50],
      [51, 64],
    ])
    for (const { first, blocks, from, to } of windows) expect([first, blocks]).toEqual([from, to - from + 1])
    expect(windowEstimator(windows)(windows.map(({ logs }) => logs))).toEqual({ value: 55, low: 55, high: 55 })
  })

  it('count logs, bytes, lines, and the blocks with logs', async () => {
    const { windows } = await sampleWindows(
      logsOf((number) => (number % 2 === 0 ? 2 : 0)),
      0,
      4,
      1,
    )
    expect(windows).toEqual([{ first: 0, blocks: 4, from: 0, to: 3, logs: 4, bytes: 40, lineBytes: 12, blocksWithLogs: 2 }])
  })

  it('stand together for all blocks, whatever was added', async () => {
    for (const step of [1_000, 33_333, 61_000, 99_900]) {
      const { windows } = await sampleWindows(
        logsOf((number) => (number >= step ? 4 : number % 50 === 0 ? 1 : 0)),
        0,
        100_000,
        10,
      )
      let next = 0
      for (const { first, blocks, from, to } of windows) {
        expect(first).toBe(next)
        expect(from).toBeGreaterThanOrEqual(first)
        expect(to).toBeLessThan(first + blocks)
        next = first + blocks
      }
      expect(next).toBe(100_000)
    }
  })
})

describe('where logs begin suddenly', () => {
  it.each([1, 3, 17, 29, 48])('the beginning is looked for: at %i percent of the range', async (percent) => {
    const [from, blocks] = [1000, 1_000_000]
    const step = from + (percent * blocks) / 100
    const chain = logsOf((number) => (number >= step ? 3 : 0))
    const { windows } = await sampleWindows(chain, from, blocks, 20)
    const logs = windowEstimator(windows)(windows.map((each) => each.logs))
    const right = 3 * (from + blocks - step)
    expect(logs.value / right).toBeGreaterThan(0.99)
    expect(logs.value / right).toBeLessThan(1.01)
    // The first one is in the middle.
    expect(chain.asked.length).toBeLessThanOrEqual(1 + 2 * 20 + 2)
    expect(chain.asked.length).toBe(1 + windows.length)
  })

  it.each([60, 97, 99.5])('or end: at %d percent of the range', async (percent) => {
    const end = percent * 10_000
    const { windows } = await sampleWindows(
      logsOf((number) => (number < end ? 3 : 0)),
      0,
      1_000_000,
      20,
    )
    expect(Math.abs(windowEstimator(windows)(windows.map(({ logs }) => logs)).value / (3 * end) - 1)).toBeLessThan(0.01)
  })

  it('or end, and begin again', async () => {
    const busy = (number: number) => (number > 200_000 && number < 330_000) || number > 470_000
    const { windows } = await sampleWindows(
      logsOf((number) => (busy(number) ? 3 : 0)),
      0,
      1_000_000,
      20,
    )
    const { value } = windowEstimator(windows)(windows.map((each) => each.logs))
    expect(Math.abs(value / (3 * 660_000) - 1)).toBeLessThan(0.02)
  })

  it('and where there are four times as many, but not where there are twice as many', async () => {
    const asked = async (after: number) => {
      const chain = logsOf((number) => (number < 430_000 ? 3 : after))
      await sampleWindows(chain, 0, 1_000_000, 20)
      return chain.asked.length
    }
    expect(await asked(12)).toBeGreaterThan(23)
    expect(await asked(6)).toBe(23)
  })

  it('nothing is looked for where logs are everywhere', async () => {
    const chain = logsOf((number) => 3 + (number % 2))
    await sampleWindows(chain, 0, 1_000_000, 20)
    expect(chain.asked).toHaveLength(1 + 20 + 2)
  })
})

describe('blocks that the node does not have', () => {
  const pruned = (below: number) => {
    const chain = logsOf((number) => (number >= 500_000 ? 3 : 0))
    return {
      ...chain,
      async fetch(span: LogSpan) {
        if (span.from < below) throw new RpcError({ code: 4444, message: 'pruned history unavailable' }, { kind: 'pruned' })
        return chain.fetch(span)
      },
    }
  }

  it('are reported, and the others stand for all', async () => {
    const { windows, missing } = await sampleWindows(pruned(300_000), 0, 1_000_000, 10)
    expect(missing).toMatchObject({ blocks: 4, from: 0n, why: expect.stringContaining('pruned') })
    expect(sum(windows.map(({ blocks }) => blocks))).toBe(1_000_000)
  })

  it('are an error if they are all', async () => {
    await expect(sampleWindows(pruned(2_000_000), 0, 1_000_000, 10)).rejects.toThrow('pruned')
  })
})
