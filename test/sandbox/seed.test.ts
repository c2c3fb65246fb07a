import { expect, it } from 'vitest'
import { defaultSeed } from '../../src/sandbox/seed.ts'

it('is always the same, in new objects each time', () => {
  const seed = defaultSeed(false)
  expect(defaultSeed(false)).toEqual(seed)
  expect(defaultSeed(false).streams[0]).not.toBe(seed.streams[0])
  expect([seed.collections.length, seed.nfts.length, seed.transfers.length, seed.streams.length]).toEqual([3, 120, 240, 4])
})

it.each([false, true])('is consistent; like production: %s', (likeProduction) => {
  const { collections, nfts, transfers, streams } = defaultSeed(likeProduction)
  const ids = new Set(collections.map((each) => each.collection_data_id_hash))
  const tokens = new Set(nfts.map((each) => each.token_data_id_hash))
  expect([ids.size, tokens.size, new Set(streams.map(({ id }) => id)).size]).toEqual([3, 120, 4])
  expect(new Set(collections.map((each) => each.creator_address)).size).toBe(2)
  for (const nft of nfts) expect(ids).toContain(nft.collection_data_id_hash)
  for (const { token_data_id_hash, from_address, to_address } of transfers) {
    expect(tokens).toContain(token_data_id_hash)
    expect(to_address).not.toBe(from_address)
  }
  expect(new Set(transfers.flatMap((each) => [each.from_address, each.to_address])).size).toBe(8)
})

it('has strings as specified, and other types where real services send them', () => {
  const typesOf = (likeProduction: boolean) => new Set(defaultSeed(likeProduction).nfts.flatMap((nft) => Object.values(nft).map((value) => typeof value)))
  expect(typesOf(false)).toEqual(new Set(['string']))
  expect(typesOf(true)).toEqual(new Set(['string', 'boolean', 'object']))
})
