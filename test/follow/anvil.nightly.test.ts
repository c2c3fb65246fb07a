import { expect, it } from 'vitest'
import { followForks } from '../support/anvil-forks.ts'

it.each([
  { over: 'polling', endpointsOf: (url: string) => url },
  { over: 'a WebSocket', endpointsOf: (url: string) => url.replace('http', 'ws') },
])('anvil, 300 reorganisations of 1 to 30 blocks, by $over: the stream is its chain, with its logs', async ({ endpointsOf }) => {
  const { replay, hashes, logs } = await followForks(endpointsOf, 300, 2)
  expect(replay.hashes).toEqual(hashes)
  expect(replay.logs.flat()).toEqual(logs)
  expect(replay.rollbacks).toBeGreaterThan(150)
  expect(replay.depth).toBeGreaterThan(25)
})
