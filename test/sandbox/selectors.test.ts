import { describe, expect, it, test } from 'vitest'
import { dataChains } from '../../src/rest/params.ts'
import { coinOf, slugOf } from '../../src/sandbox/selectors.ts'

describe('a selector of the data group', () => {
  it.each<[string, string | null | undefined]>([
    ['eth', 'eth'],
    ['0x1', 'eth'],
    ['polygon amoy', 'amoy'],
    ['0x13882', 'amoy'],
    ['bsc testnet', 'bsc-testnet'],
    ['0x2105', 'base'],
    ['0xAA36A7', 'sepolia'],
    // The specification lacks a digit here.
    ['0xaa37d', 'optimism-sepolia'],
    ['0xaa37dc', 'optimism-sepolia'],
    ['0xaa37d0', undefined],
    ['ETH', undefined],
    ['toString', undefined],
    ['', undefined],
  ])('%s is the chain %s', (selector, slug) => {
    expect(slugOf(selector)).toBe(slug)
  })

  it('is valid for every chain of the group, by name and by id', () => {
    for (const [name, id] of Object.entries(dataChains)) {
      expect(slugOf(name), name).not.toBeUndefined()
      expect(slugOf(id), name).toBe(slugOf(name))
    }
  })
})

test('the coin of a chain is ether unless it has its own', () => {
  expect(coinOf('base')).toEqual({ symbol: 'ETH', name: 'Ether' })
  expect(coinOf('polygon')).toEqual({ symbol: 'POL', name: 'POL' })
})
