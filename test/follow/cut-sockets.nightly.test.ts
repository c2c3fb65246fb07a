import { expect, it } from 'vitest'
import { followWithCuts } from '../support/cut-sockets.ts'

it('a socket that is cut 1,000 times, with late, double and wrong notifications: the stream is the chain', async () => {
  const { replay, chain, sockets } = await followWithCuts(1000, 2)
  expect(replay.hashes).toEqual(chain.hashes.slice(5))
  expect(replay.logs.map(({ length }) => length)).toEqual(chain.blocks.slice(5).map(({ logs }) => logs))
  expect(sockets).toBeGreaterThan(900)
})
