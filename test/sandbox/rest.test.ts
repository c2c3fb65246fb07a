import {
  type Arrays,
  getCollectionsByCreator,
  getNftsByCollection,
  getNftTransfersByCollection,
  getNftTransfersByWallets,
  getStreams,
  getTransaction,
  getWalletTokens,
  type NftTransfer,
} from 'hexline/rest'
import { formatUnits } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts'
import { steadyTime } from '../support/held-time.ts'
import { minedReceipt } from '../support/mined.ts'
import { abi, alice, deploy, mint, text, tokenCode, type Viem, viemOn, word } from './contracts.ts'

/*
 * Helpers and sandbox prove each other: every operation with every parameter. A helper's result is
 * compared with the seed, or with what viem reads from the same node.
 */

const ENCODINGS: Arrays[] = ['indices', 'brackets', 'repeat']
const wallet = `0x${'5b'.repeat(20)}` as const

let sandbox: Sandbox
let viem: Viem
const tokens: `0x${string}`[] = []
let early: bigint
let transferHash: `0x${string}`

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

beforeAll(async () => {
  sandbox = await startSandbox({ prices: { native: { usd: 2000, usd24hAgo: 1600 } } })
  viem = viemOn(sandbox.upstream)
  for (let i = 0; i < 5; i++) {
    const token = await deploy(viem, tokenCode({ name: text(`Token ${i}`), symbol: text(`T${i}`), decimals: word(6 + i) }))
    tokens.push(token)
    await mint(viem, token, wallet, 10n ** BigInt(8 + i))
  }
  early = await viem.getBlockNumber({ cacheTime: 0 })
  await mint(viem, tokens[0] as `0x${string}`, wallet, 5n)
  await mint(viem, tokens[0] as `0x${string}`, alice, 50n)
  transferHash = await viem.writeContract({ abi, address: tokens[0] as `0x${string}`, functionName: 'transfer', args: [wallet, 7n] })
  await minedReceipt(viem, transferHash)
})
afterAll(() => sandbox?.stop())

describe('getWalletTokens', () => {
  const balanceOf = (address: `0x${string}`, blockNumber?: bigint) =>
    viem.readContract({ abi, address, functionName: 'balanceOf', args: [wallet], ...(blockNumber !== undefined && { blockNumber }) })

  it.each([1, 2, 4, 100])('returns what viem reads from the same node, in pages of %d', async (limit) => {
    const list = await all(getWalletTokens(sandbox.service, { address: wallet, chain: 'eth', limit }))
    expect(list.map(({ token_address }) => token_address)).toEqual([`0x${'e'.repeat(40)}`, ...[...tokens].sort()])
    expect(list[0]).toMatchObject({ native_token: true, symbol: 'ETH', decimals: 18, balance: await viem.getBalance({ address: wallet }) })
    for (const token of list.slice(1)) {
      const address = token.token_address as `0x${string}`
      const decimals = await viem.readContract({ abi, address, functionName: 'decimals' })
      const balance = await balanceOf(address)
      expect(token).toMatchObject({
        ...{ balance, decimals, balance_formatted: formatUnits(balance, decimals), usd_price: 0, possible_spam: false, native_token: false },
        ...{ name: await viem.readContract({ abi, address, functionName: 'name' }), symbol: await viem.readContract({ abi, address, functionName: 'symbol' }) },
      })
    }
  })

  it('as of a block', async () => {
    const [token] = await all(
      getWalletTokens(sandbox.service, { address: wallet, to_block: early, token_addresses: [tokens[0] as string], exclude_native: true }),
    )
    expect(token?.balance).toBe(await balanceOf(tokens[0] as `0x${string}`, early))
    expect(token?.balance).not.toBe(await balanceOf(tokens[0] as `0x${string}`))
  })

  it.each(ENCODINGS)('of some tokens, sent as %s', async (arrays) => {
    const wanted = [tokens[1], tokens[3]] as string[]
    const list = await all(getWalletTokens(sandbox.service, { address: wallet, token_addresses: wanted, exclude_native: true }, { arrays }))
    expect(list.map(({ token_address }) => token_address).sort()).toEqual([...wanted].sort())
  })

  it('without the excluded ones', async () => {
    expect(await all(getWalletTokens(sandbox.service, { address: wallet, exclude_unverified_contracts: true }))).toHaveLength(1)
    expect(await all(getWalletTokens(sandbox.service, { address: wallet, exclude_native: true, exclude_spam: true }))).toHaveLength(5)
    expect(await all(getWalletTokens(sandbox.service, { address: wallet, exclude_native: false, exclude_spam: false }))).toHaveLength(6)
  })

  it('can be resumed from its cursor', async () => {
    const list = getWalletTokens(sandbox.service, { address: wallet, limit: 2 })
    await list
    const rest = await all(getWalletTokens(sandbox.service, { address: wallet, limit: 2, cursor: list.cursor as string }))
    expect(rest.map(({ token_address }) => token_address)).toEqual([...tokens].sort().slice(1))
  })
})

describe('getTransaction', () => {
  it('returns what viem reads from the same node', async () => {
    const transaction = await getTransaction(sandbox.service, { transaction_hash: transferHash, chain: '0x1' })
    const [expected, receipt] = await Promise.all([viem.getTransaction({ hash: transferHash }), viem.getTransactionReceipt({ hash: transferHash })])
    const block = await viem.getBlock({ blockHash: receipt.blockHash })
    expect(transaction).toMatchObject({
      ...{ hash: transferHash, nonce: BigInt(expected.nonce), transaction_index: BigInt(receipt.transactionIndex), value: expected.value, gas: expected.gas },
      ...{ from_address: expected.from, to_address: expected.to, input: expected.input, gas_price: expected.gasPrice, block_hash: receipt.blockHash },
      ...{ receipt_gas_used: receipt.gasUsed, receipt_cumulative_gas_used: receipt.cumulativeGasUsed, receipt_status: 1, block_number: receipt.blockNumber },
      block_timestamp_date: new Date(Number(block.timestamp) * 1000),
    })
    expect(transaction?.logs).toHaveLength(1)
    expect(transaction?.logs?.[0]).toMatchObject({
      address: tokens[0],
      topic0: receipt.logs[0]?.topics[0],
      topic3: '',
      data: receipt.logs[0]?.data,
      log_index: 0n,
    })
    expect(transaction?.internal_transactions).toBeUndefined()
  })

  it('with its internal calls', async () => {
    expect((await getTransaction(sandbox.service, { transaction_hash: transferHash, include: 'internal_transactions' }))?.internal_transactions).toEqual([])
  })

  it('is null for an unknown transaction', async () => {
    expect(await getTransaction(sandbox.service, { transaction_hash: `0x${'1'.repeat(64)}` })).toBeNull()
  })
})

describe('the NFT group', () => {
  const keyOf = ({ transaction_version, event_sequence_number, token_data_id_hash }: Partial<NftTransfer>) =>
    `${transaction_version} ${event_sequence_number} ${token_data_id_hash}`
  const sorted = (transfers: readonly object[]) => transfers.map((each) => keyOf(each as never)).sort()
  const collection = () => sandbox.seed.collections[0]?.collection_data_id_hash as string

  it.each([1, 7, 100])('getNftTransfersByCollection returns all of them, in pages of %d', async (limit) => {
    const expected = sandbox.seed.transfers.filter((each) => each.collection_data_id_hash === collection())
    const list = await all(getNftTransfersByCollection(sandbox.service, { collection_data_id_hash: collection(), limit }))
    expect(sorted(list)).toEqual(sorted(expected))
    expect(expected.length).toBeGreaterThan(20)
    for (const { token_amount, transaction_timestamp, transaction_timestamp_date } of list) {
      expect(typeof token_amount).toBe('bigint')
      expect(transaction_timestamp_date?.getTime()).toBe(Date.parse(transaction_timestamp as string))
    }
  })

  it.each(ENCODINGS)('with white and black lists of wallets, sent as %s', async (arrays) => {
    const base = { collection_data_id_hash: collection(), limit: 50 }
    const every = sandbox.seed.transfers.filter((each) => each.collection_data_id_hash === collection())
    const wallets = [...new Set(every.map(({ from_address }) => from_address))].slice(0, 2)
    const touches = ({ from_address, to_address }: { from_address: string; to_address: string }) =>
      wallets.includes(from_address) || wallets.includes(to_address)
    expect(sorted(await all(getNftTransfersByCollection(sandbox.service, { ...base, wallet_whitelist: wallets }, { arrays })))).toEqual(
      sorted(every.filter(touches)),
    )
    expect(sorted(await all(getNftTransfersByCollection(sandbox.service, { ...base, wallet_blacklist: wallets }, { arrays })))).toEqual(
      sorted(every.filter((each) => !touches(each))),
    )
  })

  it.each(ENCODINGS)('getNftTransfersByWallets, with lists of collections, sent as %s', async (arrays) => {
    const wallets = [...new Set(sandbox.seed.transfers.map(({ to_address }) => to_address))].slice(0, 2)
    const every = sandbox.seed.transfers.filter(({ from_address, to_address }) => wallets.includes(from_address) || wallets.includes(to_address))
    const base = { wallet_addresses: wallets, limit: 33 }
    const of = [collection()]
    expect(sorted(await all(getNftTransfersByWallets(sandbox.service, base, { arrays })))).toEqual(sorted(every))
    const white = await all(getNftTransfersByWallets(sandbox.service, { ...base, collection_whitelist: of }, { arrays }))
    const black = await all(getNftTransfersByWallets(sandbox.service, { ...base, collection_blacklist: of }, { arrays }))
    expect(sorted([...white, ...black])).toEqual(sorted(every))
    expect(white.every(({ collection_data_id_hash }) => collection_data_id_hash === collection())).toBe(true)
    expect(black.some(({ collection_data_id_hash }) => collection_data_id_hash === collection())).toBe(false)
  })

  it('getNftsByCollection and getCollectionsByCreator return all of them, with any types', async () => {
    const nfts = await all(getNftsByCollection(sandbox.service, { collection_data_id_hash: collection(), limit: 9 }))
    const seeds = sandbox.seed.nfts.filter((each) => each.collection_data_id_hash === collection())
    expect(nfts.map(({ token_data_id_hash }) => token_data_id_hash).sort()).toEqual(seeds.map(({ token_data_id_hash }) => token_data_id_hash).sort())
    for (const nft of nfts) {
      const seed = seeds.find(({ token_data_id_hash }) => token_data_id_hash === nft.token_data_id_hash)
      expect(nft.uri_mutable).toBe(String(seed?.uri_mutable) === 'true')
      expect(nft.default_properties).toEqual(typeof seed?.default_properties === 'string' ? JSON.parse(seed.default_properties) : seed?.default_properties)
      expect(nft.supply).toBe(BigInt(seed?.supply as string))
    }
    const creator = sandbox.seed.collections[0]?.creator_address as string
    const collections = await all(getCollectionsByCreator(sandbox.service, { creator_address: creator, limit: 1 }))
    expect(collections.map(({ collection_name }) => collection_name).sort()).toEqual(
      sandbox.seed.collections
        .filter(({ creator_address }) => creator_address === creator)
        .map(({ collection_name }) => collection_name)
        .sort(),
    )
  })

  it('an offset skips records of the first page, and none of the others', async () => {
    const params = { collection_data_id_hash: collection(), limit: 10 }
    const every = await all(getNftsByCollection(sandbox.service, params))
    expect(await all(getNftsByCollection(sandbox.service, { ...params, offset: 13 }))).toEqual(every.slice(13))
  })

  it('thousands of records are listed once each while others are added and removed', async () => {
    const template = sandbox.seed.transfers[0] as (typeof sandbox.seed.transfers)[number]
    const id = 'c0ffee'
    const make = (version: number) => ({ ...template, collection_data_id_hash: id, transaction_version: String(version) })
    const stay = Array.from({ length: 3000 }, (_, i) => make(1_000_000 + 2 * i))
    sandbox.seed.transfers.push(...stay)
    const seen: string[] = []
    let page = 0
    for await (const { result } of getNftTransfersByCollection(sandbox.service, { collection_data_id_hash: id, limit: 250 }).pages()) {
      seen.push(...result.map(({ transaction_version }) => String(transaction_version)))
      // In front of all others, where a position in the list would shift.
      sandbox.seed.transfers.unshift(make(2_000_000 + page++))
      const [first] = seen
      sandbox.seed.transfers.splice(
        sandbox.seed.transfers.findIndex((each) => each.collection_data_id_hash === id && each.transaction_version === first),
        1,
      )
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen.filter((version) => Number(version) < 2_000_000).sort()).toEqual(stay.map(({ transaction_version }) => transaction_version).sort())
  })
})

describe('getStreams', () => {
  it.each([1, 3, 100])('returns all of them, in pages of %d', async (limit) => {
    const streams = await all(getStreams(sandbox.service, { limit }))
    expect(streams.map(({ id }) => id).sort()).toEqual(sandbox.seed.streams.map(({ id }) => id).sort())
    expect((await getStreams(sandbox.service, { limit })).total).toBe(sandbox.seed.streams.length)
  })
})

describe('a sandbox that misbehaves', () => {
  it('is still read to the end', async () => {
    steadyTime()
    const bad = await startSandbox({ upstream: sandbox.upstream, seed: sandbox.seed, faults: 0.3, faultSeed: 7 })
    try {
      const transfers = getNftTransfersByCollection(
        bad.service,
        { collection_data_id_hash: sandbox.seed.collections[1]?.collection_data_id_hash as string, limit: 5 },
        { timeoutMs: 200, retry: { attempts: 12, baseDelayMs: 1, maxDelayMs: 5 } },
      )
      const expected = sandbox.seed.transfers.filter((each) => each.collection_data_id_hash === sandbox.seed.collections[1]?.collection_data_id_hash)
      expect(await all(transfers)).toHaveLength(expected.length)
    } finally {
      await bad.stop()
    }
  })

  it.each<[string, (key: string) => string, string]>([
    ['a wrong key', (key) => `${key}x`, 'auth'],
    ['a used-up key', (key) => `${key}-used-up`, 'quota'],
  ])('reports %s, once', async (_, change, kind) => {
    const failure = await getStreams({ ...sandbox.service, apiKey: change(sandbox.apiKey) }, { limit: 1 }).catch((error) => error)
    expect(failure).toMatchObject({ name: 'ServiceError', status: 401, kind, attempts: 1 })
  })
})

describe('a sandbox with a limit', () => {
  it('answers every call of a burst beyond it', async () => {
    await using limited = await startSandbox({ upstream: sandbox.upstream, callsPerSecond: 50 })
    const calls = Array.from({ length: 300 }, () => getTransaction(limited.service, { transaction_hash: transferHash }))
    expect((await Promise.all(calls)).map((transaction) => transaction?.hash)).toEqual(Array(300).fill(transferHash))
  })
})
