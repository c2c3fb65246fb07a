import { describe, expect, it, test } from 'vitest'
import { CodecError } from '../../src/errors.ts'
import type { RestOptions } from '../../src/rest/index.ts'
import { type Name, operations } from '../support/rest-operations.ts'
import { samples } from '../support/rest-records.ts'
import { always, KEY, serveRest } from '../support/rest-server.ts'
import { errorOf } from '../support/server.ts'

// Times without a zone must not be read as local times.
process.env.TZ = 'Asia/Tokyo'

type Kind = keyof typeof samples
type Fields = Record<string, unknown>

/** The operation for each kind of record; two return transfers. */
const sources: Record<Kind, readonly Name[]> = {
  tokenBalance: ['getWalletTokens'],
  transaction: ['getTransaction'],
  nftTransfer: ['getNftTransfersByCollection', 'getNftTransfersByWallets'],
  nft: ['getNftsByCollection'],
  nftCollection: ['getCollectionsByCreator'],
  stream: ['getStreams'],
}
const kinds = Object.keys(samples) as Kind[]
/** Without these nobody could say what a record is of. */
const required: Record<Kind, readonly string[]> = {
  tokenBalance: ['token_address', 'balance'],
  transaction: ['hash'],
  nftTransfer: ['token_data_id_hash'],
  nft: ['token_data_id_hash'],
  nftCollection: ['collection_data_id_hash'],
  stream: ['id'],
}

/** The result of a helper for a body. */
async function readBody(name: Name, body: unknown, options: RestOptions = {}): Promise<Fields> {
  const server = await serveRest(always(body))
  return (await operations[name].call(server.service, operations[name].params, { retry: false, ...options })) as Fields
}

/** The result of a helper for a record, alone or as the last of two on a page. */
async function read(kind: Kind, record: unknown, options?: RestOptions, name: Name = sources[kind][0] as Name): Promise<Fields> {
  if (kind === 'transaction') return readBody(name, record, options)
  const page = await readBody(name, { result: [samples[kind].sent, record], cursor: null }, options)
  return (page.result as Fields[])[1] as Fields
}

const whole = (kind: Kind): Fields => ({ ...samples[kind].sent, ...samples[kind].read })

describe('as in the specification', () => {
  test.each(kinds.flatMap((kind) => sources[kind].map((name) => [kind, name] as const)))('%s of %s: every field', async (kind, name) => {
    expect(await read(kind, samples[kind].sent, {}, name)).toEqual(whole(kind))
  })

  test.each(kinds)('%s: unknown fields are kept as they came', async (kind) => {
    const more = { brand_new: { a: ['1', 2, null] }, constructor: 'x', toString: 5, supply_date: 'soon' }
    expect(await read(kind, { ...samples[kind].sent, ...more })).toEqual({ ...whole(kind), ...more })
  })

  test.each(kinds)('%s: fields that do not identify it may be absent', async (kind) => {
    const least = Object.fromEntries(required[kind].map((name) => [name, samples[kind].sent[name]]))
    const dates = Object.fromEntries(Object.keys(whole(kind)).flatMap((name) => (name.endsWith('_date') ? [[name, null]] : [])))
    const asRead = Object.fromEntries(required[kind].map((name) => [name, whole(kind)[name]]))
    expect(await read(kind, least)).toEqual({ ...asRead, ...dates })
  })

  test.each(kinds.flatMap((kind) => required[kind].map((name) => [kind, name] as const)))('%s: %s has to be there', async (kind, name) => {
    const { [name]: _, ...rest } = samples[kind].sent as Fields
    const error = await errorOf<CodecError>(read(kind, rest))
    expect(error).toBeInstanceOf(CodecError)
    expect(error).toMatchObject({ path: kind === 'transaction' ? name : `result[1].${name}`, received: 'undefined' })
  })

  test.each(kinds)('%s: null where a value would stand is null', async (kind) => {
    const nulls = Object.fromEntries(Object.keys(samples[kind].sent).map((name) => [name, null]))
    const dates = Object.fromEntries(Object.keys(whole(kind)).flatMap((name) => (name.endsWith('_date') ? [[name, null]] : [])))
    const lists = kind === 'transaction' ? { logs: [], internal_transactions: [] } : {}
    expect(await read(kind, nulls)).toEqual({ ...nulls, ...dates, ...lists })
  })
})

describe('as in practice', () => {
  const UNIX = { last_transaction_timestamp: '2023-01-01' }
  test.each<[Kind, Fields, Fields]>([
    // '' is not an amount, although BigInt('') is 0n.
    ['tokenBalance', { balance: '' }, { balance: null }],
    ['tokenBalance', { balance: '0' }, { balance: 0n }],
    ['tokenBalance', { balance: '007' }, { balance: 7n }],
    ['tokenBalance', { balance: 5 }, { balance: 5n }],
    ['tokenBalance', { balance: '9'.repeat(78) }, { balance: BigInt('9'.repeat(78)) }],
    ['tokenBalance', { decimals: 18 }, { decimals: 18 }],
    ['tokenBalance', { decimals: '0' }, { decimals: 0 }],
    ['tokenBalance', { decimals: '' }, { decimals: null }],
    ['tokenBalance', { possible_spam: true }, { possible_spam: true }],
    ['tokenBalance', { possible_spam: 'true', verified_contract: '' }, { possible_spam: true, verified_contract: null }],
    ['tokenBalance', { usd_price: '0.000000012' }, { usd_price: 1.2e-8 }],
    ['tokenBalance', { usd_price: '', usd_value: null, portfolio_percentage: 0 }, { usd_price: null, usd_value: null, portfolio_percentage: 0 }],
    ['tokenBalance', { usd_value: '-1.5e-7' }, { usd_value: -1.5e-7 }],
    ['nftTransfer', { coin_type: null, coin_amount: '' }, { coin_type: null, coin_amount: null }],
    ['nftTransfer', { transaction_version: 13957777 }, { transaction_version: 13957777n }],
    ['nft', { default_properties: { a: 1 } }, { default_properties: { a: 1 } }],
    ['nft', { default_properties: '' }, { default_properties: null }],
    ['nft', { default_properties: '{}' }, { default_properties: {} }],
    ['nft', { description_mutable: true, uri_mutable: false, royalty_mutable: null }, { description_mutable: true, uri_mutable: false, royalty_mutable: null }],
    ['nft', { last_transaction_timestamp: '' }, { last_transaction_timestamp: '', last_transaction_timestamp_date: null }],
    ['nft', UNIX, { ...UNIX, last_transaction_timestamp_date: new Date('2023-01-01T00:00:00Z') }],
    [
      'nft',
      { last_transaction_timestamp: '2022-10-16T23:07:19.123456' },
      // UTC without a zone, not the reader's local time.
      { last_transaction_timestamp: '2022-10-16T23:07:19.123456', last_transaction_timestamp_date: new Date('2022-10-16T23:07:19.123Z') },
    ],
    [
      'nft',
      { last_transaction_timestamp: '2022-10-16 23:07:19+02:00' },
      { last_transaction_timestamp: '2022-10-16 23:07:19+02:00', last_transaction_timestamp_date: new Date('2022-10-16T21:07:19Z') },
    ],
    ['transaction', { receipt_status: 1, gas: 21000 }, { receipt_status: 1, gas: 21000n }],
    ['transaction', { receipt_status: '0', gas_price: '' }, { receipt_status: 0, gas_price: null }],
    [
      'transaction',
      { internal_transactions: [{ block_number: '12' }, { block_number: 12 }] },
      { internal_transactions: [{ block_number: 12n }, { block_number: 12n }] },
    ],
    ['transaction', { internal_transactions: { block_number: 12 } }, { internal_transactions: [{ block_number: 12n }] }],
    ['transaction', { logs: [] }, { logs: [] }],
    ['stream', { abi: [{ name: 'A' }], triggers: [], advancedOptions: [{}], getNativeBalances: [] }, {}],
    ['stream', { abi: null, triggers: null, advancedOptions: null, getNativeBalances: null }, {}],
    [
      'stream',
      { abi: { anonymous: false, inputs: [{ name: 'from', type: 'address', indexed: 'true', new: 1 }], gas: '21000' } },
      { abi: { anonymous: false, inputs: [{ name: 'from', type: 'address', indexed: true, new: 1 }], gas: 21_000 } },
    ],
    [
      'stream',
      { getNativeBalances: { selectors: ['$from'], type: 'tx' }, advancedOptions: { topic0: 'T()', includeNativeTxs: 'false' } },
      { advancedOptions: { topic0: 'T()', includeNativeTxs: false } },
    ],
    ['stream', { triggers: { callFrom: '0xa', functionAbi: { name: 'f', outputs: { name: '', type: 'bool' } } } }, {}],
    ['stream', { status: 'paused' }, {}],
    ['stream', { status: 'error' }, {}],
    ['stream', { status: 'terminated' }, {}],
    ['stream', { status: 'hibernating' }, {}],
    ['stream', { topic0: null, chainIds: [] }, {}],
    ['stream', { demo: 'true', allAddresses: 'false' }, { demo: true, allAddresses: false }],
  ])('%s with %o', async (kind, sent, expected) => {
    expect(await read(kind, { ...samples[kind].sent, ...sent })).toEqual({ ...whole(kind), ...sent, ...expected })
  })

  test.each<[Name, Fields, Fields]>([
    ['getWalletTokens', { cursor: 'c', page: 1, page_size: '100' }, { cursor: 'c', page: 1, page_size: 100 }],
    ['getWalletTokens', { cursor: '', page: null }, { cursor: null, page: null }],
    ['getStreams', { total: 12 }, { cursor: null, total: 12 }],
    ['getNftsByCollection', { hasNextPage: 'true', cursor: 'c', extra: [1] }, { hasNextPage: true, cursor: 'c', extra: [1] }],
  ])('around the records of %s: %o', async (name, around, expected) => {
    expect(await readBody(name, { result: [], ...around })).toEqual({ result: [], ...expected })
  })
})

/** Invalid values for a field of this name. Prices may be negative. */
const wrongFor = (name: string) => (/^usd_|percentage/.test(name) ? [{}, 'an object'] : [-1.5, '-1.5'])
const fields = kinds.flatMap((kind) => Object.keys(samples[kind].sent).map((name) => [kind, name] as const))

describe('an invalid field', () => {
  test.each(fields)('%s: %s is an error with its path; leniently it is kept, and all others are read', async (kind, name) => {
    const [wrong, shown] = wrongFor(name)
    const record = { ...samples[kind].sent, [name]: wrong }
    const error = await errorOf<CodecError>(read(kind, record))
    expect(error).toBeInstanceOf(CodecError)
    expect(error).toMatchObject({ path: kind === 'transaction' ? name : `result[1].${name}`, received: shown, kind: 'malformed', method: sources[kind][0] })
    expect(error.message).toBe(`${error.path}: expected ${error.expected}, received ${shown}`)
    // In hexline's words, not zod's.
    expect(error.expected).toMatch(/^(?:an?|true) [^:]+$/)

    const date = `${name}_date` in whole(kind) ? { [`${name}_date`]: null } : {}
    expect(await read(kind, record, { lenient: true })).toEqual({ ...whole(kind), [name]: wrong, ...date })
  })

  test.each<[Kind, Fields, string]>([
    ['tokenBalance', { balance: '1.5' }, 'balance: expected a whole number in decimal digits, received "1.5"'],
    ['tokenBalance', { balance: '-1' }, 'balance: expected a whole number in decimal digits, received "-1"'],
    ['tokenBalance', { balance: '0x10' }, 'balance: expected a whole number in decimal digits, received "0x10"'],
    ['tokenBalance', { balance: ' 1' }, 'balance: expected a whole number in decimal digits, received " 1"'],
    ['tokenBalance', { balance: 1e21 }, 'balance: expected a whole number in decimal digits, received 1e+21'],
    ['tokenBalance', { balance: '1'.repeat(101) }, `balance: expected a whole number in decimal digits, received "${'1'.repeat(77)}..."`],
    ['tokenBalance', { decimals: 'eighteen' }, 'decimals: expected a small whole number, received "eighteen"'],
    ['tokenBalance', { usd_price: 'NaN' }, 'usd_price: expected a number, received "NaN"'],
    ['tokenBalance', { usd_price: '1e999' }, 'usd_price: expected a number, received "1e999"'],
    ['tokenBalance', { usd_price: '1,5' }, 'usd_price: expected a number, received "1,5"'],
    ['tokenBalance', { possible_spam: 'maybe' }, 'possible_spam: expected true or false, received "maybe"'],
    ['tokenBalance', { possible_spam: 1 }, 'possible_spam: expected true or false, received 1'],
    ['tokenBalance', { symbol: 5 }, 'symbol: expected a string, received 5'],
    ['nft', { default_properties: '{"a":' }, 'default_properties: expected a JSON object, or one in a string, received "{\\"a\\":"'],
    ['nft', { default_properties: '[]' }, 'default_properties: expected a JSON object, or one in a string, received "[]"'],
    ['nft', { last_transaction_timestamp: 'block 5' }, 'last_transaction_timestamp: expected a time in ISO 8601, received "block 5"'],
    ['nft', { last_transaction_timestamp: '2022-13-45T00:00:00Z' }, 'last_transaction_timestamp: expected a time in ISO 8601, received "2022-13-45T00:00:00Z"'],
    ['nft', { last_transaction_timestamp: 1665961639 }, 'last_transaction_timestamp: expected a time in ISO 8601, received 1665961639'],
    ['stream', { triggers: 'none' }, 'triggers: expected an object or an array of objects, with fields of the documented types, received "none"'],
    ['stream', { abi: [{ payable: 'maybe' }] }, 'abi: expected an object or an array of objects, with fields of the documented types, received an array of 1'],
    ['stream', { topic0: 'Transfer()' }, 'topic0: expected an array of strings, received "Transfer()"'],
  ])('%s with %o is reported in plain words', async (kind, wrong, message) => {
    const error = await errorOf(read(kind, { ...samples[kind].sent, ...wrong }))
    expect(error.message).toBe(kind === ('transaction' as Kind) ? message : `result[1].${message}`)
  })

  const { logs, internal_transactions } = samples.transaction.sent as { logs: Fields[]; internal_transactions: Fields[] }
  const inside = [
    ...Object.keys(logs[0] as Fields).map((name) => ['logs', name] as const),
    ...Object.keys(internal_transactions[0] as Fields).map((name) => ['internal_transactions', name] as const),
  ]
  test.each(inside)('transaction: %s[1].%s, inside, too', async (list, name) => {
    const good = (list === 'logs' ? logs : internal_transactions)[0] as Fields
    const sent = { ...samples.transaction.sent, [list]: [good, { ...good, [name]: -1.5 }] }
    expect(await errorOf(read('transaction', sent))).toMatchObject({ path: `${list}[1].${name}`, kind: 'malformed' })
    const [asRead] = whole('transaction')[list] as Fields[]
    const date = name === 'block_timestamp' ? { block_timestamp_date: null } : {}
    expect(await read('transaction', sent, { lenient: true })).toEqual({
      ...whole('transaction'),
      [list]: [asRead, { ...asRead, [name]: -1.5, ...date }],
    })
  })

  it('of a single object is reported, too', async () => {
    const error = await errorOf(readBody('getWalletTokens', { result: { token_address: 'a', balance: 'x' } }))
    expect(error.message).toBe('result[0].balance: expected a whole number in decimal digits, received "x"')
  })

  it('around the records is kept leniently, unless the next page depends on it', async () => {
    const body = { result: [], cursor: null, page: 'one', page_size: {}, total: -1 }
    expect(await errorOf(readBody('getStreams', body))).toMatchObject({ path: 'page' })
    expect(await readBody('getStreams', body, { lenient: true })).toEqual(body)
    for (const wrong of [{ cursor: 5 }, { cursor: {} }, { hasNextPage: 'maybe' }])
      expect(await errorOf(readBody('getStreams', { result: [], ...wrong }, { lenient: true }))).toMatchObject({
        path: Object.keys(wrong)[0],
        kind: 'malformed',
      })
  })

  test.each<[unknown, string]>([
    [null, 'body: expected an object, received null'],
    [[], 'body: expected an object, received an array of 0'],
    ['"text"', 'body: expected an object, received "text"'],
    ['5', 'body: expected an object, received 5'],
    [{}, 'result: expected an array, received undefined'],
    [{ error: 'no such\nindex' }, 'result: expected an array, received undefined and the message "no such\\nindex"'],
    [{ result: 'text' }, 'result: expected an array, received "text"'],
    [{ result: [5] }, 'result[0]: expected an object, received 5'],
    [{ result: [{ token_data_id_hash: 'a' }, null] }, 'result[1]: expected an object, received null'],
    [{ result: [[]] }, 'result[0]: expected an object, received an array of 0'],
  ])('%j in place of a list of records is an error, even leniently', async (body, message) => {
    for (const lenient of [false, true]) expect((await errorOf(readBody('getNftsByCollection', body, { lenient }))).message).toBe(message)
  })

  it('is shown without the key, which a server may echo', async () => {
    const error = await errorOf(readBody('getWalletTokens', { result: [{ token_address: 'a', balance: `for ${KEY}` }] }))
    expect(error.message).toBe('result[0].balance: expected a whole number in decimal digits, received "for [hidden]"')
    expect(JSON.stringify(error)).not.toContain(KEY)
  })
})

test('a name from the reply cannot change an object’s prototype', async () => {
  const record = '{"token_address":"a","balance":"1","__proto__":{"isAdmin":true}}'
  const page = await readBody('getWalletTokens', `{"result":[${record}],"__proto__":{"isAdmin":true}}`)
  expect(page.isAdmin).toBeUndefined()
  expect((page.result as Fields[])[0]?.isAdmin).toBeUndefined()
  expect(({} as Fields).isAdmin).toBeUndefined()
})
