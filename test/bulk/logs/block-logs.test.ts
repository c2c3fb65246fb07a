import { expect, it } from 'vitest'
import { BlockLogsFetcher } from '../../../src/bulk/logs/block-logs.ts'
import { decodedLogs } from '../../../src/bulk/logs/decoded-logs.ts'
import { type ChainOptions, chainAnswer } from '../../support/chain-server.ts'
import { clientOf, errorOf, serve } from '../../support/server.ts'

it.each<[string, Partial<ChainOptions>]>([
  ['a block is invalid JSON', { body: (json) => json.replaceAll('"parentHash":', '"parentHash"') }],
  ['a block is not one', { answer: ({ method }) => (method === 'eth_getBlockByNumber' ? { result: {} } : undefined) }],
  [
    'a block is another one',
    { answer: ({ method }, right) => (method === 'eth_getBlockByNumber' ? { result: { ...(right as object), number: '0x4' } } : undefined) },
  ],
  [
    'a block lacks its transactions',
    { answer: ({ method }, right) => (method === 'eth_getBlockByNumber' ? { result: { ...(right as object), transactions: [] } } : undefined) },
  ],
  ['receipts are none', { answer: ({ method }) => (method === 'eth_getBlockReceipts' ? { result: [{ logs: {} }] } : undefined) }],
])('where %s, another endpoint is asked', async (_, faults) => {
  const chain: ChainOptions = { head: 5, transactions: () => 1 }
  const broken = await serve(chainAnswer({ ...chain, ...faults }))
  const good = await serve(chainAnswer(chain))
  const fetcher = new BlockLogsFetcher(clientOf([broken.url, good.url]), decodedLogs().receipts)
  const { header, receipts } = await fetcher.fetch(3, new AbortController().signal)
  expect([header.number, receipts.length]).toEqual([3n, 1])
})

it('what cannot be read is reported as malformed, and without the key that a node puts into it', async () => {
  const { url } = await serve(chainAnswer({ head: 5, answer: () => ({ result: { number: '0x3', hash: '0x', transactions: `${url}/SECRETKEY` } }) }))
  const fetcher = new BlockLogsFetcher(clientOf(`${url}/SECRETKEY`), decodedLogs().receipts)
  const error = await errorOf(fetcher.fetch(3, new AbortController().signal))
  expect(error).toMatchObject({
    name: 'CodecError',
    kind: 'malformed',
    method: 'eth_getBlockByNumber',
    path: 'blocks[3].transactions',
    endpoint: new URL(url).host,
  })
  expect(String(error)).not.toContain('SECRETKEY')
})
