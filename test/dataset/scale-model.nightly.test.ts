import { expect, it } from 'vitest'
import { LEASE_MS, LONGEST_LEASE_MS } from '../../adapters/bullmq/shared-pacer.ts'
import { type EndpointUse, type ExportWorld, simulateEndpoint, simulateExport } from '../support/scale-model.ts'

/*
 * The figures of docs/scale.md: 1,000 workers, 25 million blocks, 50 endpoints with a limit of 200
 * calls per second each, which is 20 workers for each of them.
 */

const endpoint = { workers: 20, limit: 200, latencyMs: 80, leaseMs: 0, untilMs: 120_000 }

it('20 workers with one budget use all of a limit and are refused little; 20 that learn it each for itself are refused half', () => {
  const [short, long] = [LEASE_MS, LONGEST_LEASE_MS].map((leaseMs) => simulateEndpoint({ ...endpoint, isShared: true, leaseMs, seed: 1 })) as [
    EndpointUse,
    EndpointUse,
  ]
  const alone = simulateEndpoint({ ...endpoint, isShared: false, seed: 1 })
  console.log({ short, long, alone })
  for (const { used, refused } of [short, long]) {
    expect(used).toBeGreaterThan(0.9)
    expect(refused).toBeLessThan(0.02)
  }
  // One question for each lease: of two calls each, or of four.
  expect(short.asked / endpoint.limit).toBeCloseTo(0.5, 1)
  expect(long.asked / endpoint.limit).toBeCloseTo(0.25, 1)
  expect(alone.used).toBeGreaterThan(0.9)
  expect(alone.refused).toBeGreaterThan(0.2)
  expect(alone.refused).toBeLessThan(0.7)
})

const world = { blocks: 25_000_000, blocksPerFile: 1000, callsPerBlock: 2, workers: 1000, endpoints: 50, callsPerSecond: 190, seed: 1 } as const
const queue = { lockS: 30 }
const cases: readonly (readonly [string, Omit<ExportWorld, keyof typeof world>])[] = [
  ['queue, nobody dies', { by: queue, diesPerHour: 0, restartS: Number.POSITIVE_INFINITY }],
  ['queue, 5 % die each hour for good', { by: queue, diesPerHour: 0.05, restartS: Number.POSITIVE_INFINITY }],
  ['queue, 5 % die each hour and come back in a minute', { by: queue, diesPerHour: 0.05, restartS: 60 }],
  ['shards, nobody dies', { by: 'shards', diesPerHour: 0, restartS: Number.POSITIVE_INFINITY }],
  ['shards, 5 % die each hour and come back in a minute', { by: 'shards', diesPerHour: 0.05, restartS: 60 }],
  ['shards, 5 % die each hour and come back in ten minutes', { by: 'shards', diesPerHour: 0.05, restartS: 600 }],
]

it.each(cases)('every range is committed once, and little is done twice: %s', (name, ways) => {
  const { seconds, most, ideal, deaths, repeated, commits } = simulateExport({ ...world, ...ways })
  console.log(name, { seconds, most, ideal, deaths, repeated })
  expect(commits.every((each) => each === 1)).toBe(true)
  expect(repeated).toBeLessThanOrEqual(deaths)
  expect(seconds / ideal).toBeGreaterThan(0.999)
  // Ranges are long where 20 workers share an endpoint: those of the last round end together.
  expect(seconds).toBeLessThan(1.25 * ideal)
  if (ways.diesPerHour === 0) expect([deaths, seconds / ideal]).toEqual([0, expect.closeTo(1, 2)])
  else expect(deaths).toBeGreaterThan(40)
})

it('a shard that nobody starts again is missing at the end, and a queue does without it', () => {
  const small = { ...world, blocks: 200_000, workers: 20, endpoints: 2, diesPerHour: 0.5, restartS: Number.POSITIVE_INFINITY }
  expect(() => simulateExport({ ...small, by: 'shards' })).toThrow('ranges are left, and nobody works on them')
  expect(simulateExport({ ...small, by: queue }).commits.every((each) => each === 1)).toBe(true)
})
