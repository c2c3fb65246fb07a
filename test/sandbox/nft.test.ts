import qs from 'qs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type NftTransfer, type Sandbox, startSandbox } from '../../src/sandbox/index.ts'
import { ask, type Body, pages } from './ask.ts'

let node: Sandbox
let sandbox: Sandbox

beforeAll(async () => {
  node = await startSandbox()
})
afterAll(() => node?.stop())
// Each test has its own records, since it may change them.
const fresh = () => startSandbox({ upstream: node.upstream })
beforeAll(async () => {
  sandbox = await fresh()
})
afterAll(() => sandbox?.stop())

const collection = () => sandbox.seed.collections[0] as Sandbox['seed']['collections'][number]
const byCollection = () => `nfts/transfers/collections/${collection().collection_data_id_hash}`
const nfts = () => `nfts/collections/${collection().collection_data_id_hash}/tokens`
const creators = () => `collections/creators?creator_address=${collection().creator_address}`
const wallets = () => [...new Set(sandbox.seed.transfers.map((each) => each.from_address))].sort()
const touches = (transfer: NftTransfer, addresses: readonly string[]) => addresses.includes(transfer.from_address) || addresses.includes(transfer.to_address)
/** A transfer is identified by its event. */
const eventOf = (transfer: Body) => transfer.event_sequence_number
const events = (transfers: readonly Body[]) => transfers.map(eventOf).sort()

const operations: [name: string, path: () => string, records: () => readonly object[]][] = [
  [
    '3, transfers by collection',
    () => `${byCollection()}?`,
    () => sandbox.seed.transfers.filter((each) => each.collection_data_id_hash === collection().collection_data_id_hash),
  ],
  [
    '4, NFTs by collection',
    () => `${nfts()}?`,
    () => sandbox.seed.nfts.filter((each) => each.collection_data_id_hash === collection().collection_data_id_hash),
  ],
  ['5, collections by creator', creators, () => sandbox.seed.collections.filter((each) => each.creator_address === collection().creator_address)],
  [
    '6, transfers by wallets',
    () => `nfts/transfers/wallets?wallet_addresses=${wallets()[0]}`,
    () => sandbox.seed.transfers.filter((each) => touches(each, [wallets()[0] as string])),
  ],
]

describe.each(operations)('operation %s', (_, path, records) => {
  it('returns the records of the seed, in consistent pages', async () => {
    const got = await pages(sandbox, `${path()}&limit=2`)
    const found = got.flatMap(({ result }) => result)
    expect(found).toHaveLength(records().length)
    expect(new Set(found.map((each) => JSON.stringify(each)))).toEqual(new Set(records().map((each) => JSON.stringify(each))))
    expect(got.map(({ hasNextPage }) => hasNextPage)).toEqual(got.map((_, i) => i < got.length - 1))
    expect(got.at(-1).cursor).toBe('')
    const { body: all } = await ask(sandbox, `${path()}&limit=100000`)
    expect(all).toEqual({ cursor: '', hasNextPage: false, result: found })
  })

  it('offset skips, on the first page only', async () => {
    const { body: all } = await ask(sandbox, `${path()}&limit=1000`)
    const { body: rest } = await ask(sandbox, `${path()}&limit=1&offset=1`)
    expect(rest.result).toEqual(all.result.slice(1, 2))
    expect((await ask(sandbox, `${path()}&limit=1&offset=99999`)).body).toEqual({ cursor: '', hasNextPage: false, result: [] })
    const { body: first } = await ask(sandbox, `${path()}&limit=1`)
    expect(await ask(sandbox, `${path()}&limit=1&offset=1&cursor=${first.cursor}`)).toMatchObject({
      status: 400,
      body: { message: ['offset cannot be combined with cursor: it applies to the first page only'] },
    })
  })

  it.each([
    ['', 'limit is required: a whole number of at least 1'],
    ['&limit=0', 'limit must be a whole number of at least 1'],
    ['&limit=-1', 'limit must be a whole number of at least 1'],
    ['&limit=ten', 'limit must be a whole number of at least 1'],
    ['&limit=1&offset=-1', 'offset must be a whole number of at least 0'],
    ['&limit=1&cursor=mine', 'cursor must come from an earlier page'],
  ])('refuses %j with the group’s message', async (query, message) => {
    expect(await ask(sandbox, `${path()}${query}`)).toMatchObject({ status: 400, body: { statusCode: 400, message: [message], error: 'Bad Request' } })
  })
})

it('missing and misspelt parameters are reported all at once', async () => {
  expect((await ask(sandbox, 'nfts/transfers/wallets?wallets=0x1')).body.message).toEqual([
    '"wallets" is not a parameter of this operation; it takes limit, offset, cursor, wallet_addresses, collection_whitelist, collection_blacklist',
    'limit is required: a whole number of at least 1',
    'wallet_addresses is required: a list, each entry an address (up to 64 hex digits)',
  ])
  expect((await ask(sandbox, 'collections/creators?limit=1')).body.message).toEqual(['creator_address is required: an address (up to 64 hex digits)'])
  expect((await ask(sandbox, 'collections/creators?limit=1&creator_address=me')).body.message).toEqual([
    'creator_address must be an address (up to 64 hex digits)',
  ])
})

describe('white and black lists', () => {
  it('of wallets: a transfer from or to them', async () => {
    const inCollection = sandbox.seed.transfers.filter((each) => each.collection_data_id_hash === collection().collection_data_id_hash)
    const [first = '', second = '', third = ''] = wallets()
    const of = async (query: object) => events((await ask(sandbox, `${byCollection()}?limit=1000&${qs.stringify(query)}`)).body.result)
    const white = inCollection.filter((each) => touches(each, [first, second]))
    expect(white.length).toBeGreaterThan(10)
    expect(white.length).toBeLessThan(inCollection.length)
    expect(await of({ wallet_whitelist: [first, second] })).toEqual(events(white))
    expect(await of({ wallet_blacklist: [first] })).toEqual(events(inCollection.filter((each) => !touches(each, [first]))))
    expect(await of({ wallet_whitelist: [first, second], wallet_blacklist: [third] })).toEqual(events(white.filter((each) => !touches(each, [third]))))
    // In any spelling of the address.
    expect(await of({ wallet_whitelist: [first.toUpperCase().replace('0X', '0x'), second] })).toEqual(events(white))
  })

  it('of collections', async () => {
    const [a, b] = sandbox.seed.collections.map((each) => each.collection_data_id_hash) as [string, string]
    const of = async (query: object) =>
      events((await ask(sandbox, `nfts/transfers/wallets?${qs.stringify({ limit: 1000, wallet_addresses: wallets(), ...query })}`)).body.result)
    const inA = sandbox.seed.transfers.filter((each) => each.collection_data_id_hash === a)
    expect(inA.length).toBeGreaterThan(10)
    expect(await of({})).toEqual(events(sandbox.seed.transfers))
    expect(await of({ collection_whitelist: [a] })).toEqual(events(inA))
    expect(await of({ collection_blacklist: [a] })).toEqual(events(sandbox.seed.transfers.filter((each) => each.collection_data_id_hash !== a)))
    expect(await of({ collection_whitelist: [a, b], collection_blacklist: [b] })).toEqual(events(inA))
  })
})

it.each(['indices', 'brackets', 'repeat'] as const)('arrays may be encoded as %s, of any length', async (arrayFormat) => {
  const strangers = Array.from({ length: 30 }, (_, i) => `0x${(i + 1).toString(16)}`)
  const wanted = wallets().slice(0, 2)
  const query = qs.stringify({ limit: 1000, wallet_addresses: [...strangers, ...wanted] }, { arrayFormat })
  const { body } = await ask(sandbox, `nfts/transfers/wallets?${query}`)
  expect(events(body.result)).toEqual(events(sandbox.seed.transfers.filter((each) => touches(each, wanted))))
})

describe('paging over records that change', () => {
  it('neither skips nor repeats one of thousands', async () => {
    await using busy = await fresh()
    const { transfers } = busy.seed
    const model = transfers[0] as NftTransfer
    const made = (i: number): NftTransfer => ({ ...model, event_sequence_number: String(i), transaction_version: String(1_000_000 + Math.floor(i / 3)) })
    transfers.splice(0, transfers.length, ...Array.from({ length: 3000 }, (_, i) => made(i)))
    const removed = new Set<string>()
    let next = 3000
    const got = await pages(busy, `nfts/transfers/collections/${model.collection_data_id_hash}?limit=70`, (page) => {
      // Newer ones are inserted in front, and some are removed, among those already returned,
      // including the last one, and among the rest.
      for (let i = 0; i < 5; i++) transfers.push(made(next++))
      for (const place of [0, 40 * page, 2999 - 45 * page - page]) {
        const [gone] = transfers.splice(place, 1)
        if (gone !== undefined) removed.add(gone.event_sequence_number)
      }
      const last = transfers.findIndex((each) => Number(each.event_sequence_number) === 3000 - 70 * page)
      if (last !== -1) removed.add((transfers.splice(last, 1)[0] as NftTransfer).event_sequence_number)
    })
    const given = got.flatMap(({ result }) => result.map(eventOf) as string[])
    expect(new Set(given).size).toBe(given.length)
    // All records that were never removed have been returned, and none that was inserted in front.
    const stayed = Array.from({ length: 3000 }, (_, i) => String(i)).filter((each) => !removed.has(each))
    expect(stayed.length).toBeGreaterThan(2800)
    expect(stayed.filter((each) => !given.includes(each))).toEqual([])
    expect(given.filter((each) => Number(each) >= 3000)).toEqual([])
    expect(got.length).toBeGreaterThan(40)
  })

  it('accepts identical records', async () => {
    await using same = await fresh()
    const model = same.seed.transfers[0] as NftTransfer
    same.seed.transfers.splice(0, same.seed.transfers.length, ...Array.from({ length: 7 }, () => ({ ...model })))
    const got = await pages(same, `nfts/transfers/collections/${model.collection_data_id_hash}?limit=2`)
    expect(got.map(({ result }) => result.length)).toEqual([2, 2, 2, 1])
  })
})

describe('operation 7, streams', () => {
  it('returns all streams with their total, in pages', async () => {
    const got = await pages(sandbox, 'streams/evm?limit=3')
    expect(got.map(({ total, result }) => [total, result.length])).toEqual([
      [4, 3],
      [4, 1],
    ])
    expect(got[1].cursor).toBe('')
    expect(new Set(got.flatMap(({ result }) => result.map((each: Body) => each.id)))).toEqual(new Set(sandbox.seed.streams.map(({ id }) => id)))
    expect(new Set(got.flatMap(({ result }) => result.map((each: Body) => each.status)))).toEqual(new Set(['active', 'paused', 'error']))
  })

  it.each(['', '?limit=0', '?limit=101', '?limit=1.5'])('refuses %j', async (query) => {
    const message = query === '' ? 'limit is required: a whole number from 1 to 100' : 'limit must be a whole number from 1 to 100'
    expect(await ask(sandbox, `streams/evm${query}`)).toMatchObject({ status: 400, body: { message, details: [message] } })
  })
})
