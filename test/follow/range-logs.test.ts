import { expect, it } from 'vitest'
import { decodedLogs } from '../../src/bulk/logs/decoded-logs.ts'
import { checkFilter } from '../../src/bulk/logs/log-filter.ts'
import { RangeLogs } from '../../src/follow/range-logs.ts'
import { CONTRACT, ForkingChain, type NodeFaults } from '../support/forking-chain.ts'
import { clientOf, errorOf, serve } from '../support/server.ts'

async function start(chain: ForkingChain, faults: NodeFaults = {}, nodes = 1) {
  const servers = [await serve(chain.node(faults))]
  while (servers.length < nodes) servers.push(await serve(chain.node(faults)))
  const client = clientOf(servers.map(({ url }) => url) as [string])
  const span = { from: 1, to: chain.head }
  const options = { ...span, filter: checkFilter({ address: CONTRACT }), maxBytes: 1e7, signal: undefined, chainId: 1 }
  const logs = new RangeLogs(client, options, decodedLogs())
  /** The number of logs of each block, as given and as completed. */
  const all = async () => {
    const counts: [number, number][] = []
    try {
      for (let number = span.from; number <= span.to; number++) {
        const block = await client.call('eth_getBlockByNumber', number, false)
        const linked = block as NonNullable<typeof block> & { hash: `0x${string}` }
        const given = await logs.next(linked)
        const { length } = given
        counts.push([length, (await logs.complete(linked, given)).length])
      }
    } finally {
      await logs.end()
    }
    return counts
  }
  const methods = () => servers.flatMap(({ requests }) => requests).flatMap(({ entries }) => entries.map(({ method }) => method))
  return { all, methods }
}

it('the logs of each block, by one request for all of them', async () => {
  const chain = new ForkingChain(30)
  const { all, methods } = await start(chain)
  expect(await all()).toEqual(chain.blocks.slice(1).map(({ logs }) => [logs, logs]))
  expect(methods().filter((method) => method === 'eth_getLogs')).toHaveLength(1)
  // The test asks for each; the range, for its end, twice.
  expect(methods().filter((method) => method === 'eth_getBlockByNumber')).toHaveLength(30 + 2)
  expect(methods()).not.toContain('eth_getBlockReceipts')
})

it('an endpoint is not asked at the end whether it has what it gave: that is proven', async () => {
  const chain = new ForkingChain(30)
  const { all, methods } = await start(chain, {}, 2)
  expect(await all()).toEqual(chain.blocks.slice(1).map(({ logs }) => [logs, logs]))
  // Each endpoint is asked for the first block, too.
  expect(methods().filter((method) => method === 'eth_getBlockByNumber')).toHaveLength(30 + 2 + 2)
})

it('those that the node leaves out come from the receipts of the blocks whose bloom has them', async () => {
  const chain = new ForkingChain(30)
  const { all, methods } = await start(chain, {
    answer: ({ id, method }) => (method === 'eth_getLogs' ? { jsonrpc: '2.0', id, result: [] } : undefined),
  })
  expect(await all()).toEqual(chain.blocks.slice(1).map(({ logs }) => [0, logs]))
  const suspects = chain.blocks.slice(1).filter(({ logs }) => logs > 0)
  expect(methods().filter((method) => method === 'eth_getBlockReceipts')).toHaveLength(suspects.length)
})

it('refuses logs of another block of the same number', async () => {
  const chain = new ForkingChain(30, () => 1)
  const other = new ForkingChain(30, () => 1, 'other')
  const { all } = await start(chain, { answer: (entry) => (entry.method === 'eth_getLogs' ? other.reply(entry) : undefined) })
  expect((await errorOf(all())).message).toMatch(/^block \d+ came as 0x\w{64}, but its logs as those of 0x\w{64}: the chain was reorganised in between/)
})
