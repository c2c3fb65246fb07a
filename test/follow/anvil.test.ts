import { expect, it } from 'vitest'
import { followForks } from '../support/anvil-forks.ts'
import { nightly } from '../support/runs.ts'

it.each([
  { over: 'both', endpointsOf: (url: string) => [url.replace('http', 'ws'), url] },
  ...nightly({ over: 'polling', endpointsOf: (url: string) => url }, { over: 'a WebSocket', endpointsOf: (url: string) => url.replace('http', 'ws') }),
])('anvil, a dozen reorganisations of 1 to 30 blocks, by $over: the stream is its chain, with its logs', async ({ endpointsOf }) => {
  const { replay, hashes, logs } = await followForks(endpointsOf, 12, 1)
  expect(replay.hashes).toEqual(hashes)
  expect(replay.logs.flat()).toEqual(logs)
  expect(logs.length).toBeGreaterThan(10)
  expect(replay.rollbacks).toBeGreaterThan(5)
})
