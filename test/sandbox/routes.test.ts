import { describe, expect, it } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { settingsFrom } from '../../src/sandbox/options.ts'
import { json, Refusal, type Reply } from '../../src/sandbox/reply.ts'
import { serviceHandler } from '../../src/sandbox/routes.ts'
import type { Incoming } from '../../src/sandbox/server.ts'
import { clientOf } from '../support/server.ts'

const settings = settingsFrom({ apiKey: 'KEY', chain: 'base' })
const forwarded = json(200, { forwarded: true })

/** The reply to a request, and the calls counted for it. */
async function asked(path: string, { key = 'KEY', method = 'GET', body = '{}' }: { key?: string | null; method?: string; body?: string } = {}) {
  let counted = 0
  const handler = serviceHandler({
    settings,
    client: clientOf('http://127.0.0.1:1', { retry: false }) as Client,
    forward: { send: async () => forwarded, close: async () => {} },
    limit(calls) {
      counted += calls
    },
  })
  const { pathname, searchParams } = new URL(`http://sandbox/${path}`)
  const incoming: Incoming = {
    method,
    path: pathname.slice(1).split('/').map(decodeURIComponent),
    search: searchParams,
    headers: key === null ? {} : { 'x-api-key': key },
    body: async () => Buffer.from(body),
    signal: new AbortController().signal,
  }
  const reply = await (async () => handler(incoming))().catch((error): Reply => {
    if (error instanceof Refusal) return error.reply
    throw error
  })
  return { status: reply.status, headers: reply.headers, body: JSON.parse(reply.body.toString()), counted }
}

describe('an operation', () => {
  it.each([
    ['streams/evm?limit=1', 200],
    ['collections/creators?limit=1&creator_address=0x1', 200],
    ['nfts/transfers/wallets?limit=1&wallet_addresses=0x1', 200],
    ['nfts/transfers/collections/ab?limit=1', 200],
    ['nfts/collections/ab/tokens?limit=1', 200],
    ['streams/evm/', 404],
    ['api/v2.2/wallets', 404],
    ['api/v2.2/wallets/0x1', 404],
    ['', 404],
  ])('%s answers %i, and counts as one call if it exists', async (path, status) => {
    expect(await asked(path)).toMatchObject({ status, counted: status === 200 ? 1 : 0 })
  })

  it.each<[string, string, RegExp]>([
    ['an invalid address', 'api/v2.2/wallets/0x12/tokens', /^address must be 20 bytes in hex$/],
    ['an invalid hash', 'api/v2.2/transaction/0x12', /^transaction_hash must be 32 bytes in hex$/],
    ['a chain that it does not serve', 'api/v2.2/transaction/0x12?chain=eth', /^this sandbox serves only base$/],
    ['no chain at all', 'api/v2.2/transaction/0x12?chain=SECRET', /^chain must be the name or hex id/],
  ])('refuses %s with 400', async (_, path, message) => {
    expect(await asked(path)).toMatchObject({ status: 400, body: { message: expect.stringMatching(message) } })
  })

  it.each([
    [null, 'missing API key: send it in the header X-API-Key'],
    ['KEY2', 'invalid API key: send it in the header X-API-Key'],
    ['KEY-used-up', 'quota exceeded: the quota of this API key is used up'],
  ])('refuses the key %s with 401, and counts nothing', async (key, message) => {
    expect(await asked('streams/evm?limit=1', { key })).toMatchObject({ status: 401, body: { message }, counted: 0 })
  })

  it('accepts only GET', async () => {
    expect(await asked('streams/evm', { method: 'POST' })).toMatchObject({ status: 405, headers: { allow: 'GET' } })
  })
})

describe('JSON-RPC', () => {
  const post = (path: string, body = '{"id":1}') => asked(path, { method: 'POST', body, key: null })
  it('goes to the node; each call of a batch counts', async () => {
    expect(await post('base/KEY')).toMatchObject({ status: 200, body: { forwarded: true }, counted: 1 })
    expect(await post('base/KEY', '[{"id":1},{"id":2},{"id":3}]')).toMatchObject({ status: 200, counted: 3 })
  })

  it.each<[string, number, string | undefined]>([
    ['base/KEY2', 401, 'invalid API key: it is the last part of the path'],
    ['base/KEY-used-up', 401, 'quota exceeded: the quota of this API key is used up'],
    ['eth/KEY', 404, 'this sandbox serves base, not eth'],
    ['SECRET/KEY', 404, 'no such path'],
    ['toString/KEY', 404, 'no such path'],
    ['base/', 404, 'no such path'],
    ['base', 404, 'no such path'],
  ])('%s is refused with %i: %s', async (path, status, message) => {
    expect(await post(path)).toMatchObject({ status, body: { message }, counted: 0 })
  })

  it('that is invalid JSON, or sent with GET, is refused', async () => {
    expect(await post('base/KEY', '{')).toMatchObject({ status: 400, body: { error: { code: -32700 } }, counted: 0 })
    expect(await asked('base/KEY')).toMatchObject({ status: 405, headers: { allow: 'POST' } })
  })
})
