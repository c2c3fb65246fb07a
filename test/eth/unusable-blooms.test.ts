import { describe, expect, it } from 'vitest'
import { unusable, unusableBlooms } from '../../src/eth/unusable-blooms.ts'

describe('blooms that prove nothing', () => {
  it.each([
    ['zkSync Era', 324, 1, true],
    ['Cronos, before its upgrade', 25, 2_693_799, true],
    ['Cronos, since its upgrade', 25, 2_693_800, false],
    ['Hyperliquid', 999, 1e8, true],
    ['Polygon PoS', 137, 79_061_984, true],
    ['Hedera', 295, 85_741_547, true],
  ])('are known: %s', (name, chainId, number, isUnusable) => {
    const why = unusableBlooms(chainId)?.(number)
    expect(why !== undefined).toBe(isUnusable)
    if (isUnusable) expect(why).toContain(name.split(',')[0])
  })

  it('are those of no other chain', () => {
    for (const chainId of [1, 10, 8453, 42_161, 43_114]) expect(unusableBlooms(chainId)).toBeUndefined()
  })

  it('come with a source, and a chain is listed once', () => {
    for (const { source } of unusable) expect(source).toMatch(/^https:\/\/github\.com\/[\w.-]+\/[\w.-]+\/(?:pull|issues|blob)\//)
    const ids = unusable.flatMap(({ chainIds }) => chainIds)
    expect(new Set(ids).size).toBe(ids.length)
  })
})
