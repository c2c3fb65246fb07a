import qs from 'qs'
import { beforeEach, describe, expect, it, test } from 'vitest'
import { CodecError, HexlineError, OptionError } from '../../src/errors.ts'
import { dataChains, getNftsByCollection, getNftTransfersByWallets, getTransaction, getWalletTokens, type RestOptions } from '../../src/rest/index.ts'
import { ADDRESS, COLLECTION, CREATOR, HASH, type Name, names, operations } from '../support/rest-operations.ts'
import { always, KEY, pages, type RestServer, serveRest } from '../support/rest-server.ts'

let server: RestServer
beforeEach(async () => {
  // A transaction and the last page of any list in one.
  server = await serveRest(always({ hash: HASH, result: [], cursor: null }))
})

/** The operation's requests, as received. */
async function asked(name: Name, params: object, options?: RestOptions) {
  await operations[name].call(server.service, { ...operations[name].params, ...params }, options)
  const last = server.requests.at(-1)
  if (last === undefined) throw new Error('nothing was sent')
  return last
}

describe('over the wire', () => {
  test.each(names)('%s with what is required: a GET with the key and no more', async (name) => {
    const { method, url, headers } = await asked(name, {})
    expect({ method, url }).toEqual({ method: 'GET', url: operations[name].url })
    const { host: _, connection, ...told } = headers
    expect(told).toEqual({ accept: 'application/json', 'x-api-key': KEY, 'user-agent': 'hexline' })
    expect(connection).toBe('keep-alive')
  })

  const OTHER = `0x${'12'.repeat(20)}`
  test.each<[Name, object, string]>([
    ['getWalletTokens', { chain: 'base' }, 'chain=base'],
    ['getWalletTokens', { chain: 'polygon amoy' }, 'chain=polygon%20amoy'],
    ['getWalletTokens', { to_block: 0 }, 'to_block=0'],
    ['getWalletTokens', { to_block: 18_000_000n }, 'to_block=18000000'],
    ['getWalletTokens', { token_addresses: [ADDRESS, OTHER] }, `token_addresses%5B0%5D=${ADDRESS}&token_addresses%5B1%5D=${OTHER}`],
    ['getWalletTokens', { exclude_spam: true }, 'exclude_spam=true'],
    ['getWalletTokens', { exclude_spam: false }, 'exclude_spam=false'],
    ['getWalletTokens', { exclude_unverified_contracts: true }, 'exclude_unverified_contracts=true'],
    ['getWalletTokens', { exclude_unverified_contracts: false }, 'exclude_unverified_contracts=false'],
    ['getWalletTokens', { exclude_native: true }, 'exclude_native=true'],
    ['getWalletTokens', { exclude_native: false }, 'exclude_native=false'],
    ['getWalletTokens', { cursor: 'eyJh+/=& ü' }, 'cursor=eyJh%2B%2F%3D%26%20%C3%BC'],
    ['getWalletTokens', { limit: 1000 }, 'limit=1000'],
    ['getWalletTokens', { exclude_spam: undefined }, ''],
    ['getTransaction', { chain: '0x2105' }, 'chain=0x2105'],
    ['getTransaction', { include: 'internal_transactions' }, 'include=internal_transactions'],
    ['getNftTransfersByCollection', { offset: 0 }, 'limit=5&offset=0'],
    ['getNftTransfersByCollection', { cursor: 'c' }, 'limit=5&cursor=c'],
    ['getNftTransfersByCollection', { wallet_whitelist: [CREATOR] }, `limit=5&wallet_whitelist%5B0%5D=${CREATOR}`],
    ['getNftTransfersByCollection', { wallet_blacklist: ['0x1', 'ab'] }, 'limit=5&wallet_blacklist%5B0%5D=0x1&wallet_blacklist%5B1%5D=ab'],
    ['getNftsByCollection', { offset: 7 }, 'limit=5&offset=7'],
    ['getNftsByCollection', { cursor: 'c' }, 'limit=5&cursor=c'],
    ['getCollectionsByCreator', { offset: 7, creator_address: '0x1' }, 'limit=5&offset=7&creator_address=0x1'],
    ['getCollectionsByCreator', { cursor: 'c', creator_address: '0x1' }, 'limit=5&creator_address=0x1&cursor=c'],
    ['getNftTransfersByWallets', { wallet_addresses: ['a', 'b'], offset: 7 }, 'limit=5&offset=7&wallet_addresses%5B0%5D=a&wallet_addresses%5B1%5D=b'],
    [
      'getNftTransfersByWallets',
      { wallet_addresses: ['a'], collection_whitelist: [COLLECTION] },
      `limit=5&wallet_addresses%5B0%5D=a&collection_whitelist%5B0%5D=${COLLECTION}`,
    ],
    ['getNftTransfersByWallets', { wallet_addresses: ['a'], collection_blacklist: ['b'] }, 'limit=5&wallet_addresses%5B0%5D=a&collection_blacklist%5B0%5D=b'],
    ['getNftTransfersByWallets', { wallet_addresses: ['a'], cursor: 'c' }, 'limit=5&wallet_addresses%5B0%5D=a&cursor=c'],
    ['getStreams', { limit: 1 }, 'limit=1'],
    ['getStreams', { limit: 100, cursor: 'c' }, 'limit=100&cursor=c'],
  ])('%s with %o', async (name, params, query) => {
    expect((await asked(name, params)).query).toBe(query)
  })

  test.each([
    ['getNftsByCollection', { collection_data_id_hash: `0x${COLLECTION}` }, `/nfts/collections/0x${COLLECTION}/tokens`],
    ['getNftsByCollection', { collection_data_id_hash: '1' }, '/nfts/collections/1/tokens'],
    ['getNftTransfersByCollection', { collection_data_id_hash: '0x1' }, '/nfts/transfers/collections/0x1'],
    ['getWalletTokens', { address: ADDRESS.toLowerCase() }, `/api/v2.2/wallets/${ADDRESS.toLowerCase()}/tokens`],
  ] as const)('%s: %o goes into the path as it was given', async (name, params, path) => {
    expect((await asked(name, params)).path).toBe(path)
  })

  test.each([...Object.entries(dataChains).flat(), '0xaa37dc', '0x7e4', '0xFFFFFFFFFFFFFFFF'])(
    'the chain %s, by the name or id that was given',
    async (chain) => {
      const { query } = await asked('getTransaction', { chain })
      expect(query).toBe(`chain=${encodeURIComponent(chain)}`)
      expect(query).not.toContain('+')
    },
  )

  it('optimism sepolia has the id of the specification, and its real id is accepted, too', () => {
    expect(dataChains['optimism sepolia']).toBe('0xaa37d')
    expect(Object.keys(dataChains)).toHaveLength(25)
  })

  it('is appended to the path of the base address, with or without a trailing slash', async () => {
    for (const base of [`${server.url}/some/where`, `${server.url}/some/where/`]) {
      await getTransaction({ dataUrl: base, apiKey: 'k' }, { transaction_hash: HASH })
      expect(server.requests.at(-1)?.path).toBe(`/some/where/api/v2.2/transaction/${HASH}`)
    }
  })

  it("takes the caller's headers, over its own too", async () => {
    const { headers } = await asked('getStreams', {}, { headers: { 'X-Trace': 'a', 'User-Agent': 'mine' } })
    expect(headers).toMatchObject({ 'x-trace': 'a', 'user-agent': 'mine', 'x-api-key': KEY })
  })

  it('a lone surrogate in a cursor is replaced, as in URLSearchParams', async () => {
    const { query } = await asked('getStreams', { cursor: 'a\ud800b' })
    expect(query).toBe(`limit=5&${new URLSearchParams({ cursor: 'a\ud800b' })}`)
  })
})

describe('arrays', () => {
  const list = ['0xa', '0xb', 'c']
  test.each<[RestOptions['arrays'], string, string[]]>([
    [undefined, '%5B{}%5D', ['[0]', '[1]', '[2]']],
    ['indices', '%5B{}%5D', ['[0]', '[1]', '[2]']],
    ['brackets', '%5B%5D', ['[]', '[]', '[]']],
    ['repeat', '', ['', '', '']],
  ])('%s', async (arrays, wire, suffixes) => {
    const { query } = await asked('getNftTransfersByWallets', { wallet_addresses: list, collection_blacklist: ['d'] }, arrays && { arrays })
    const sentAs = (name: string, values: string[]) => values.map((value, i) => `${name}${wire.replace('{}', String(i))}=${value}`)
    expect(query).toBe(['limit=5', ...sentAs('wallet_addresses', list), ...sentAs('collection_blacklist', ['d'])].join('&'))
    // As the two kinds of servers parse it.
    expect([...new URLSearchParams(query)]).toEqual([
      ['limit', '5'],
      ...list.map((value, i) => [`wallet_addresses${suffixes[i]}`, value]),
      [`collection_blacklist${suffixes[0]}`, 'd'],
    ])
    // Repeated form with one entry is an array to no server.
    expect(qs.parse(query)).toEqual({ limit: '5', wallet_addresses: list, collection_blacklist: arrays === 'repeat' ? 'd' : ['d'] })
  })

  test.each<NonNullable<RestOptions['arrays']>>(['indices', 'brackets', 'repeat'])(
    'the longest one, %s, is parsed unchanged by a common server',
    async (arrays) => {
      const most = Array.from({ length: 20 }, (_, i) => `0x${i.toString(16)}`)
      expect(qs.parse((await asked('getNftTransfersByWallets', { wallet_addresses: most }, { arrays })).query).wallet_addresses).toEqual(most)
    },
  )

  it('may be longer if the caller says so', async () => {
    const many = Array.from({ length: 21 }, (_, i) => `0x${i.toString(16)}`)
    const { query } = await asked('getNftTransfersByWallets', { wallet_addresses: many }, { maxArrayLength: 21 })
    expect(new URLSearchParams(query).get('wallet_addresses[20]')).toBe('0x14')
  })
})

describe('on later pages', () => {
  const three = pages({ '': { result: [], cursor: 'b' }, b: { result: [], cursor: 'c' }, c: { result: [], cursor: null } })

  it('all parameters are sent again, except for offset', async () => {
    server.script(three)
    for await (const _ of getNftsByCollection(server.service, { collection_data_id_hash: '1', limit: 5, offset: 10 }).pages());
    expect(server.requests.map(({ query }) => query)).toEqual(['limit=5&offset=10', 'limit=5&cursor=b', 'limit=5&cursor=c'])
    server.script(three)
    for await (const _ of getNftTransfersByWallets(server.service, { limit: 5, wallet_addresses: ['a'] }, { arrays: 'brackets' }).pages());
    expect(server.requests.map(({ query }) => query)).toEqual(['', '&cursor=b', '&cursor=c'].map((cursor) => `limit=5&wallet_addresses%5B%5D=a${cursor}`))
    server.script(three)
    for await (const _ of getWalletTokens(server.service, { address: ADDRESS, chain: 'bsc testnet', exclude_native: false, limit: 9 }).pages());
    const first = 'chain=bsc%20testnet&limit=9&exclude_native=false'
    expect(server.requests.map(({ query }) => query)).toEqual([first, `${first}&cursor=b`, `${first}&cursor=c`])
  })
})

/** The error that a call throws synchronously. */
function thrownBy(call: () => unknown): HexlineError {
  try {
    call()
  } catch (error) {
    expect(error).toBeInstanceOf(HexlineError)
    return error as HexlineError
  }
  throw new Error('it was expected to throw at once')
}

describe('invalid parameters are refused at once, and nothing is sent', () => {
  const address = 'expected an address (0x and 40 hex digits), received'
  const checksum = 'expected an address with a valid EIP-55 checksum, or in lower case, received'
  const MISTYPED = '0xC02aaA39b224FE8D0A0e5C4F27eAD9083C756Cc2'
  const hash = 'expected a transaction hash (0x and 64 hex digits), received'
  const hex = 'expected up to 64 hex digits, received'
  const flag = 'expected true or false, received'
  const one = 'expected a whole number of at least 1, received'
  const zero = 'expected a whole number of at least 0, received'
  const chains = `expected one of ${Object.keys(dataChains).join(', ')}, or the hex id of any chain, received`
  const streams = 'limit: expected a whole number from 1 to 100, received'
  const cursor = 'cursor: expected the cursor of a page, received'

  test.each<[Name, Record<string, unknown>, string]>([
    ['getWalletTokens', { address: undefined }, `address: ${address} undefined`],
    ['getWalletTokens', { address: '' }, `address: ${address} ""`],
    ['getWalletTokens', { address: null }, `address: ${address} null`],
    ['getWalletTokens', { address: ADDRESS.slice(2) }, `address: ${address} "${ADDRESS.slice(2)}"`],
    ['getWalletTokens', { address: `${ADDRESS}\n` }, `address: ${address} "${ADDRESS}\\n"`],
    ['getWalletTokens', { address: `${ADDRESS}0` }, `address: ${address} "${ADDRESS}0"`],
    ['getWalletTokens', { address: MISTYPED }, `address: ${checksum} "${MISTYPED}"`],
    ['getWalletTokens', { token_addresses: [ADDRESS, MISTYPED] }, `token_addresses[1]: ${checksum} "${MISTYPED}"`],
    ['getWalletTokens', { chain: 'etherium' }, `chain: ${chains} "etherium"`],
    ['getWalletTokens', { chain: 'toString' }, `chain: ${chains} "toString"`],
    ['getWalletTokens', { chain: 1 }, `chain: ${chains} 1`],
    ['getWalletTokens', { chain: 'amoy' }, `chain: ${chains} "amoy"`],
    ['getTransaction', { chain: '0x' }, `chain: ${chains} "0x"`],
    ['getTransaction', { chain: '0x0' }, `chain: ${chains} "0x0"`],
    ['getTransaction', { chain: '0x7e4 ' }, `chain: ${chains} "0x7e4 "`],
    ['getWalletTokens', { chain: ADDRESS }, `chain: ${chains} "${ADDRESS}"`],
    ['getWalletTokens', { to_block: -1 }, `to_block: ${zero} -1`],
    ['getWalletTokens', { to_block: 2 ** 53 }, 'to_block: expected a whole number from 0 to 2^53 - 1, received 9007199254740992'],
    ['getWalletTokens', { to_block: '5' }, `to_block: ${zero} "5"`],
    ['getWalletTokens', { to_block: null }, `to_block: ${zero} null`],
    ['getWalletTokens', { token_addresses: [] }, 'token_addresses: expected at least one entry, received an array of 0'],
    ['getWalletTokens', { token_addresses: ADDRESS }, `token_addresses: expected an array, received "${ADDRESS}"`],
    ['getWalletTokens', { token_addresses: [ADDRESS, '0x1'] }, `token_addresses[1]: ${address} "0x1"`],
    ['getWalletTokens', { exclude_spam: 'false' }, `exclude_spam: ${flag} "false"`],
    ['getWalletTokens', { exclude_unverified_contracts: 1 }, `exclude_unverified_contracts: ${flag} 1`],
    ['getWalletTokens', { exclude_native: null }, `exclude_native: ${flag} null`],
    ['getWalletTokens', { cursor: '' }, `${cursor} ""`],
    ['getWalletTokens', { cursor: null }, `${cursor} null`],
    ['getWalletTokens', { limit: 0 }, `limit: ${one} 0`],
    ['getWalletTokens', { limit: 1.5 }, `limit: ${one} 1.5`],
    ['getWalletTokens', { limit: '5' }, `limit: ${one} "5"`],
    ['getTransaction', { transaction_hash: undefined }, `transaction_hash: ${hash} undefined`],
    ['getTransaction', { transaction_hash: ADDRESS }, `transaction_hash: ${hash} "${ADDRESS}"`],
    ['getTransaction', { transaction_hash: `${HASH}ff` }, `transaction_hash: ${hash} "${HASH}ff"`],
    ['getTransaction', { transaction_hash: HASH.replace('C', 'g') }, `transaction_hash: ${hash} "${HASH.replace('C', 'g')}"`],
    ['getTransaction', { include: 'logs' }, `include: expected 'internal_transactions', received "logs"`],
    ['getTransaction', { include: ['internal_transactions'] }, "include: expected 'internal_transactions', received an array of 1"],
    ['getNftTransfersByCollection', { collection_data_id_hash: undefined }, `collection_data_id_hash: ${hex} undefined`],
    ['getNftTransfersByCollection', { collection_data_id_hash: '../../streams' }, `collection_data_id_hash: ${hex} "../../streams"`],
    ['getNftTransfersByCollection', { limit: undefined }, `limit: ${one} undefined`],
    ['getNftTransfersByCollection', { offset: -1 }, `offset: ${zero} -1`],
    ['getNftTransfersByCollection', { offset: Number.NaN }, `offset: ${zero} NaN`],
    ...(['getNftTransfersByCollection', 'getNftsByCollection', 'getCollectionsByCreator', 'getNftTransfersByWallets'] as const).map(
      (name): [Name, Record<string, unknown>, string] => [
        name,
        { cursor: 'b', offset: 10 },
        'offset: expected no offset with a cursor, since it applies to the first page only, received 10',
      ],
    ),
    ['getNftTransfersByCollection', { wallet_whitelist: [] }, 'wallet_whitelist: expected at least one entry, received an array of 0'],
    ['getNftTransfersByCollection', { wallet_blacklist: [] }, 'wallet_blacklist: expected at least one entry, received an array of 0'],
    ['getNftTransfersByCollection', { wallet_blacklist: ['a', 5] }, `wallet_blacklist[1]: ${hex} 5`],
    ['getNftsByCollection', { collection_data_id_hash: '0x' }, `collection_data_id_hash: ${hex} "0x"`],
    ['getNftsByCollection', { collection_data_id_hash: '1'.repeat(65) }, `collection_data_id_hash: ${hex} "${'1'.repeat(65)}"`],
    ['getNftsByCollection', { limit: undefined }, `limit: ${one} undefined`],
    ['getCollectionsByCreator', { creator_address: undefined }, `creator_address: ${hex} undefined`],
    ['getCollectionsByCreator', { creator_address: 'me' }, `creator_address: ${hex} "me"`],
    ['getCollectionsByCreator', { limit: undefined }, `limit: ${one} undefined`],
    ['getNftTransfersByWallets', { wallet_addresses: undefined }, 'wallet_addresses: expected an array, received undefined'],
    ['getNftTransfersByWallets', { wallet_addresses: [] }, 'wallet_addresses: expected at least one entry, received an array of 0'],
    [
      'getNftTransfersByWallets',
      { wallet_addresses: Array(21).fill('a') },
      'wallet_addresses: expected at most 20 entries (maxArrayLength), received an array of 21',
    ],
    // A hole is not an entry.
    ['getNftTransfersByWallets', { wallet_addresses: [undefined] }, `wallet_addresses[0]: ${hex} undefined`],
    ['getNftTransfersByWallets', { collection_whitelist: 'a' }, 'collection_whitelist: expected an array, received "a"'],
    ['getNftTransfersByWallets', { collection_blacklist: [] }, 'collection_blacklist: expected at least one entry, received an array of 0'],
    ['getNftTransfersByWallets', { limit: undefined }, `limit: ${one} undefined`],
    ['getStreams', { limit: undefined }, `${streams} undefined`],
    ['getStreams', { limit: 0 }, `${streams} 0`],
    ['getStreams', { limit: 101 }, `${streams} 101`],
    ['getStreams', { limit: 1.5 }, `${streams} 1.5`],
    ['getStreams', { cursor: 5 }, `${cursor} 5`],
  ])('%s with %o', (name, params, message) => {
    const error = thrownBy(() => operations[name].call(server.service, { ...operations[name].params, ...params }))
    expect(error).toBeInstanceOf(CodecError)
    expect(error).toMatchObject({ message, kind: 'invalid', attempts: 0, path: message.slice(0, message.indexOf(':')) })
    expect(server.requests).toEqual([])
  })

  test.each<[Name, unknown, string]>([
    ['getStreams', { limit: 5, limits: 5 }, 'params: expected only limit, cursor, received "limits" (did you mean `limit`?)'],
    ['getStreams', { limit: 5, offset: 5 }, 'params: expected only limit, cursor, received "offset"'],
    ['getTransaction', { transaction_hash: HASH, hash: HASH }, 'params: expected only transaction_hash, chain, include, received "hash"'],
    ['getTransaction', HASH, 'params: expected an object, received a string'],
    ['getTransaction', null, 'params: expected an object, received null'],
    ['getTransaction', [HASH], 'params: expected an object, received an array of 1'],
    ['getStreams', undefined, 'params: expected an object, received undefined'],
  ])('%s with %o in their place', (name, params, message) => {
    const error = thrownBy(() => operations[name].call(server.service, params as object))
    expect(error).toBeInstanceOf(OptionError)
    expect(error.message).toBe(message)
    expect(server.requests).toEqual([])
  })
})

test('a hole in an array is not an entry', () => {
  const holed: string[] = ['a']
  holed.length = 3
  const error = thrownBy(() => getNftTransfersByWallets(server.service, { limit: 1, wallet_addresses: holed }))
  expect(error.message).toBe('wallet_addresses[1]: expected up to 64 hex digits, received undefined')
})
