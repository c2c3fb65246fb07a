import { createClient } from 'hexline'
import { describe, expect, it } from 'vitest'
import { billed, costTables, throttled } from '../../src/eth/costs.ts'
import { known } from '../../src/plan/estimate.ts'
import { checkProvider, costOf, providers, tablesFor, unitsOf } from '../../src/plan/provider.ts'

const namesOf = (urls: readonly string[], provider?: (typeof providers)[number]) =>
  tablesFor(createClient(urls as never), provider).map((table) => table.provider.toLowerCase())

describe('the providers whose units are counted', () => {
  it('are those of the endpoints, and all where none is known', () => {
    expect(namesOf(['https://eth-mainnet.g.alchemy.com/v2/KEY'])).toEqual(['alchemy'])
    expect(namesOf(['http://127.0.0.1:8545', 'https://mainnet.infura.io/v3/KEY', 'https://eth-mainnet.g.alchemy.com/v2/KEY'])).toEqual(['alchemy', 'infura'])
    expect(namesOf(['http://127.0.0.1:8545'])).toEqual([...providers])
  })

  it('or the one that is given', () => {
    expect(namesOf(['https://eth-mainnet.g.alchemy.com/v2/KEY'], 'infura')).toEqual(['infura'])
    for (const provider of providers) expect(checkProvider(provider)).toBe(provider)
    expect(() => checkProvider('infra')).toThrow('provider: expected one of alchemy, infura, quicknode, chainstack, received "infra" (did you mean `infura`?)')
    expect(() => checkProvider(5)).toThrow('received 5')
  })
})

it('units are what each call costs, times the calls, rounded outwards', () => {
  const calls = { eth_getLogs: { value: 10.4, low: 9.5, high: 11 }, eth_chainId: known(2) }
  expect(costOf(calls, (method) => (method === 'eth_getLogs' ? 3 : 0.5))).toEqual({ value: 32.2, low: 29.5, high: 34 })
  for (const [i, units] of unitsOf(costTables, calls).entries()) {
    const table = costTables[i] as (typeof costTables)[number]
    expect(units.provider).toBe(providers[i])
    expect(units.billed.low).toBe(Math.floor(9.5 * billed(table, 'eth_getLogs') + 2 * billed(table, 'eth_chainId')))
    expect(units.throttled.high).toBe(Math.ceil(11 * throttled(table, 'eth_getLogs') + 2 * throttled(table, 'eth_chainId')))
  }
  // At Alchemy, the two differ.
  const [alchemy] = unitsOf(costTables, { eth_getBlockReceipts: known(1) })
  expect(alchemy?.throttled.value).toBeGreaterThan(alchemy?.billed.value as number)
})
