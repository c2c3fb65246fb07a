import { type ChainSlug, chains } from 'hexline'
import { chainFor } from 'hexline/viem'
import { base, mainnet, zksync } from 'viem/chains'
import { describe, expect, it } from 'vitest'

describe('chainFor', () => {
  it.each(Object.entries(chains) as [ChainSlug, number][])("%s is viem's chain of id %d", (slug, id) => {
    const chain = chainFor(slug)
    expect(chain.id).toBe(id)
    expect(chain.rpcUrls.default.http.length).toBeGreaterThan(0)
  })

  it("returns viem's own object, with formatters and contracts", () => {
    expect(chainFor('eth')).toBe(mainnet)
    expect(chainFor('base')).toBe(base)
    expect(chainFor('zksync')).toBe(zksync)
  })

  it('refuses a chain that the service does not have, and lists the known ones', () => {
    expect(() => chainFor('solana' as ChainSlug)).toThrow(/^chain: expected one of eth, sepolia, .*opbnb, received "solana"$/)
  })

  it('does not show a value that may be a misplaced key', () => {
    expect(() => chainFor('A1b2C3d4E5f6' as ChainSlug)).toThrow(/received something else$/)
  })
})
