import { describe, expect, it } from 'vitest'
import { billed, type Cost, type CostTable, costsAt, costTables, throttled, throttledAt } from '../../src/eth/costs.ts'
import { agentForAnyHost } from '../support/agent.ts'
import { clientOf, honest, serve } from '../support/server.ts'

const origins: [string, string | undefined][] = [
  ['https://eth-mainnet.g.alchemy.com', 'Alchemy'],
  ['https://mainnet.infura.io', 'Infura'],
  ['https://example-name.quiknode.pro', 'QuickNode'],
  ['https://example-name.base-mainnet.quiknode.pro:8443', 'QuickNode'],
  ['https://ethereum-mainnet.core.chainstack.com', 'Chainstack'],
  ['https://nd-1.p2pify.com', 'Chainstack'],
  ['http://127.0.0.1:8545', undefined],
  ['https://infura.io.example.com', undefined],
  ['https://notinfura.io', undefined],
  ['custom', undefined],
]

describe('the costs of calls', () => {
  it.each(origins)('at %s are those of %s', (origin, provider) => {
    expect(costsAt(origin)?.provider).toBe(provider)
  })

  it.each<[string, string, number, number]>([
    ['https://x.g.alchemy.com', 'eth_getBlockReceipts', 20, 500],
    ['https://x.g.alchemy.com', 'eth_sendRawTransaction', 40, 250],
    ['https://x.g.alchemy.com', 'debug_traceTransaction', 40, 1000],
    ['https://x.g.alchemy.com', 'trace_replayTransaction', 80, 3000],
    ['https://x.g.alchemy.com', 'eth_getBalance', 20, 20],
    ['https://x.g.alchemy.com', 'eth_chainId', 0, 0],
    ['https://x.infura.io', 'eth_getBlockReceipts', 1000, 1000],
    ['https://x.infura.io', 'eth_getTransactionReceipt', 80, 80],
    ['https://x.infura.io', 'trace_block', 300, 300],
    ['https://x.quiknode.pro', 'eth_getBlockReceipts', 20, 20],
    ['https://x.chainstack.com', 'eth_getLogs', 1, 1],
    ['https://x.chainstack.com', 'debug_traceCall', 2, 1],
  ])('at %s for %s are %i billed and %i throttled', (origin, method, price, units) => {
    const table = costsAt(origin) as CostTable
    expect([billed(table, method), throttled(table, method), throttledAt(origin)(method)]).toEqual([price, units, units])
  })

  it('at other providers are the throughput units of Alchemy, as a default for a limit in units', () => {
    const units = throttledAt('http://127.0.0.1:8545')
    expect(['eth_blockNumber', 'eth_call', 'eth_getLogs', 'eth_getBlockReceipts', 'constructor'].map(units)).toEqual([10, 26, 60, 500, 20])
  })

  it('name their sources and the day, and are never negative', () => {
    for (const { sources, date, usual, methods, groups } of costTables) {
      for (const source of sources) expect(new URL(source).protocol).toBe('https:')
      expect(new Date(date).toISOString().slice(0, 10)).toBe(date)
      const meters = (cost: Cost) => (typeof cost === 'number' ? [cost] : [cost.billed, cost.throttled])
      for (const cost of [usual, ...Object.values(methods), ...groups.map((group) => group.cost)].flatMap(meters)) expect(cost).toBeGreaterThanOrEqual(0)
    }
  })
})

it.each([
  ['mainnet.infura.io', 1],
  ['node.example.com', 4],
])('a limit of 1600 units per second at %s lets %i reads of balances go at once', async (host, reads) => {
  const server = await serve(honest)
  const client = clientOf(`http://${host}:${server.port}`, { rate: { unitsPerSecond: 1600 }, dispatcher: agentForAnyHost() })
  await Promise.all(Array.from({ length: 5 }, (_, i) => client.request({ method: 'eth_getBalance', params: [i] })))
  expect(server.requests[0]?.entries).toHaveLength(reads)
})
