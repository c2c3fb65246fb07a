import { describe, expect, it, test } from 'vitest'
import { CodecError } from '../../src/errors.ts'
import { getNftTransfersByCollection, getStreams, getTransaction, getWalletTokens } from '../../src/rest/operations.ts'
import { ADDRESS, HASH } from '../support/rest-operations.ts'
import { always, emptyPage, KEY, pages, quick, serveRest } from '../support/rest-server.ts'

const urls = async (ask: (service: Awaited<ReturnType<typeof serveRest>>['service']) => PromiseLike<unknown>, answer = emptyPage) => {
  const server = await serveRest(answer)
  await ask(server.service)
  return server.requests.map(({ url }) => url)
}

describe('the request', () => {
  it('has the path parameter in the path, and the others in the query', async () => {
    expect(await urls((service) => getWalletTokens(service, { address: ADDRESS, limit: 5, exclude_spam: true, token_addresses: [ADDRESS] }))).toEqual([
      `/api/v2.2/wallets/${ADDRESS}/tokens?token_addresses%5B0%5D=${ADDRESS}&exclude_spam=true&limit=5`,
    ])
  })

  it('has the key in its header, not in its URL', async () => {
    const server = await serveRest(emptyPage)
    await getStreams(server.service, { limit: 5 })
    expect(server.requests[0]).toMatchObject({ url: '/streams/evm?limit=5', headers: { 'x-api-key': KEY, accept: 'application/json' } })
  })

  it('has the offset on the first page only, and then the cursor', async () => {
    const answer = pages({ '': { result: [], cursor: 'a/b' }, 'a/b': { result: [], cursor: '' } })
    const read = async (service: Parameters<typeof getStreams>[0]) => {
      for await (const _ of getNftTransfersByCollection(service, { collection_data_id_hash: HASH, limit: 5, offset: 10 }).pages());
    }
    const asked = await urls(read, answer)
    expect(asked.map((url) => new URLSearchParams(url.split('?')[1]))).toEqual([
      new URLSearchParams({ limit: '5', offset: '10' }),
      new URLSearchParams({ limit: '5', cursor: 'a/b' }),
    ])
  })
})

test('nothing is sent before a list is used; invalid parameters are refused at once', async () => {
  const server = await serveRest(emptyPage)
  getStreams(server.service, { limit: 5 })
  expect(() => getStreams(server.service, { limit: 101 })).toThrow(CodecError)
  expect(() => getTransaction(server.service, { transaction_hash: '0x12' })).toThrow(CodecError)
  expect(server.requests).toEqual([])
})

test('an absent or empty cursor is null; a lone record is a page', async () => {
  const server = await serveRest(always({ result: { id: 'a' }, total: '1' }))
  expect(await getStreams(server.service, { limit: 5 })).toEqual({ result: [{ id: 'a' }], cursor: null, total: 1 })
  server.script(always({ result: [], cursor: '' }))
  expect(await getStreams(server.service, { limit: 5 })).toEqual({ result: [], cursor: null })
})

test('a lenient list keeps invalid values, except for its cursor', async () => {
  const server = await serveRest(always({ result: [{ id: 5 }], cursor: null, total: 'many' }))
  expect(await getStreams(server.service, { limit: 5 }, { lenient: true })).toMatchObject({ result: [{ id: 5 }], total: 'many' })
  await expect(getStreams(server.service, { limit: 5 }, { retry: quick })).rejects.toThrow('result[0].id: expected a string')
  server.script(always({ result: [], cursor: 5 }))
  await expect(getStreams(server.service, { limit: 5 }, { lenient: true })).rejects.toThrow('cursor: expected a string')
})
