import { expect, it } from 'vitest'
import { askEach } from '../../src/bulk/ask-each.ts'
import { clientOf, each, refuse, serve } from '../support/server.ts'

const saying = (word: string) => serve(each(({ id }) => ({ id, result: word })))
const request = { method: 'eth_blockNumber', params: [] }

it('each endpoint is asked once, and those that fail give nothing', async () => {
  const servers = [await saying('one'), await serve(refuse(-32603, 'internal error')), await saying('two')] as const
  const replies = await askEach(clientOf([servers[0].url, servers[1].url, servers[2].url]), request)
  expect(replies.map((reply) => reply.take())).toEqual(['one', 'two'])
  expect(servers.map(({ requests }) => requests.length)).toEqual([1, 1, 1])
})

it('a single endpoint is not asked', async () => {
  const server = await saying('one')
  expect(await askEach(clientOf(server.url), request)).toEqual([])
  expect(server.requests).toEqual([])
})
