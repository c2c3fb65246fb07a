import { describe, expect, test } from 'vitest'
import { type Client, CodecError, HexlineError, isHexlineError, MalformedReplyError, RpcError, TimeoutError } from '../src/index.ts'
import { getBlocks } from '../src/index-bulk.ts'
import { getStreams, type Service, ServiceError } from '../src/rest/index.ts'
import { copyError } from '../src/rpc/copy-error.ts'
import { always, serveRest } from './support/rest-server.ts'
import { clientOf, cut, deadPort, each, errorOf, failed, refuse, serve, silent } from './support/server.ts'

const to = '0x00000000219ab540356cbb839cbe05303d7705fa'

/** A user's functions, whose names and lines the stack of a failure has to show. */
async function readBalance(client: Client): Promise<bigint> {
  return await client.call('eth_getBalance', to)
}
async function requestBalance(client: Client): Promise<unknown> {
  return await client.request({ method: 'eth_getBalance', params: [to] })
}
async function sendBalance(client: Client): Promise<unknown> {
  return (await client.send({ method: 'eth_getBalance', params: [to] })).take()
}
async function readManyBalances(client: Client): Promise<unknown> {
  return await Promise.all([readBalance(client), readBalance(client)])
}
async function readStreams(service: Service): Promise<unknown> {
  return await getStreams(service, { limit: 5 }, { retry: false })
}
async function readBlocks(client: Client): Promise<void> {
  for await (const _ of getBlocks(client, { from: 1n, to: 2n }));
}

/** A line of a stack. Source maps leave its `async` out. */
const frameOf = (name: string) => new RegExp(`at (?:async )?${name} .*errors\\.test\\.ts`)

const refused = refuse(-32000, 'out of order')

describe('the stack of a failed call names its caller', () => {
  test.each([
    ['call', readBalance],
    ['request', requestBalance],
    ['send', sendBalance],
    ['calls side by side', readManyBalances],
    ['a range of blocks', readBlocks],
  ])('%s', async (_, fail) => {
    const server = await serve(refused)
    const { stack } = await errorOf(fail(clientOf(server.url)))
    expect(stack).toMatch(frameOf(fail.name))
    expect(stack).toContain('RpcError: ')
  })

  test('of the REST helpers, whether the service refuses or is unreachable', async () => {
    const refusing = await serveRest(always({ message: 'no such key' }, { status: 401 }))
    const error = await errorOf(readStreams(refusing.service))
    expect(error).toBeInstanceOf(ServiceError)
    expect(error.stack).toMatch(frameOf('readStreams'))
    const dead = { ...refusing.service, streamsUrl: `http://127.0.0.1:${await deadPort()}` }
    expect((await errorOf(readStreams(dead))).stack).toMatch(frameOf('readStreams'))
  })

  test('after retries', async () => {
    const server = await serve(cut, cut, refused)
    const error = await errorOf(readBalance(clientOf(server.url)))
    expect(error).toMatchObject({ name: 'RpcError', attempts: 3 })
    expect(error.stack).toMatch(frameOf('readBalance'))
  })

  test('for any failure: no connection, a timeout, a closed client', async () => {
    const dead = await errorOf(readBalance(clientOf(`http://127.0.0.1:${await deadPort()}`, { retry: false })))
    const slow = await errorOf(readBalance(clientOf((await serve(silent)).url, { deadlineMs: 50 })))
    const closed = clientOf((await serve(refused)).url)
    await closed.close()
    const late = await errorOf(readBalance(closed))
    expect([dead, slow, late].map(({ name }) => name)).toEqual(['NetworkError', 'TimeoutError', 'ClosedError'])
    for (const { stack } of [dead, slow, late]) expect(stack).toMatch(frameOf('readBalance'))
  })

  test('with several endpoints, hedging, and a signal on both sides', async () => {
    const [a, b] = await Promise.all([serve(refused), serve(refused)])
    const client = clientOf([a.url, b.url], { hedge: {} }).with({ signal: new AbortController().signal })
    const error = await errorOf(
      (async function readTwice() {
        await client.request({ method: 'eth_gasPrice' }, { signal: new AbortController().signal })
      })(),
    )
    expect(error.stack).toMatch(frameOf('readTwice'))
  })
})

describe('the message of an RpcError', () => {
  test('names the endpoint and the method, and `said` is the node’s own', async () => {
    const server = await serve(refused)
    const error = await errorOf<RpcError>(readBalance(clientOf(server.url)))
    expect(error).toMatchObject({ message: `127.0.0.1:${server.port}: eth_getBalance: out of order`, said: 'out of order', code: -32000 })
  })

  test('from a user’s post has only what it was given', () => {
    expect(new RpcError({ code: 1, message: 'no' }).message).toBe('no')
  })

  test('names the given call', () => {
    const error = new RpcError({ code: 1, message: 'no' }, { method: 'eth_call', endpoint: 'node' })
    expect(copyError(error, 'eth_gasPrice')).toMatchObject({ message: 'node: eth_gasPrice: no', method: 'eth_gasPrice', said: 'no' })
    const malformed = new MalformedReplyError('node: eth_call: too many requests', { method: 'eth_call', endpoint: 'node' })
    expect(copyError(malformed, 'eth_gasPrice').message).toBe('node: eth_gasPrice: too many requests')
  })
})

describe('an invalid result', () => {
  const results: Readonly<Record<string, unknown>> = { eth_blockNumber: '0x10', eth_getBlockByNumber: { number: '0x' }, eth_getBalance: 'odd' }
  const odd = each(({ id, method }) => ({ jsonrpc: '2.0', id, result: results[method] }))

  test('names endpoint and attempts', async () => {
    const server = await serve(cut, odd)
    expect(await errorOf(readBalance(clientOf(server.url)))).toMatchObject({
      name: 'CodecError',
      kind: 'malformed',
      method: 'eth_getBalance',
      endpoint: `127.0.0.1:${server.port}`,
      attempts: 2,
    })
  })

  test('names them for a range of blocks, too', async () => {
    const server = await serve(odd)
    const error = await errorOf(readBlocks(clientOf(server.url)))
    expect(error).toBeInstanceOf(CodecError)
    expect(error).toMatchObject({ method: 'eth_getBlockByNumber', endpoint: `127.0.0.1:${server.port}`, attempts: 1 })
  })

  test('and an invalid argument names none', async () => {
    const server = await serve(refused)
    const error = await errorOf(clientOf(server.url).call('eth_getBalance', '0x12'))
    expect(error).toMatchObject({ name: 'CodecError', kind: 'invalid', endpoint: undefined, attempts: 0 })
  })
})

test('isHexlineError distinguishes hexline errors from others', async () => {
  const server = await serve(each((entry) => failed(entry, 3, 'execution reverted')))
  expect(isHexlineError(await errorOf(readBalance(clientOf(server.url))))).toBe(true)
  expect(isHexlineError(new Error('no'))).toBe(false)
})

test('a subclass of ours matches only its own errors, even if it has the name of another of ours', () => {
  const named = { TimeoutError: class extends HexlineError {} }.TimeoutError
  expect(named.name).toBe('TimeoutError')
  expect(new TimeoutError('late')).not.toBeInstanceOf(named)
  expect(new named('late', 'timeout')).toBeInstanceOf(named)
  expect(new named('late', 'timeout')).toBeInstanceOf(HexlineError)
})
