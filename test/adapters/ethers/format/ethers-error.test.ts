import { inspect } from 'node:util'
import { FallbackProvider, FetchRequest, FetchResponse, isError, type JsonRpcProvider, TransactionReceipt } from 'ethers'
import { createClient } from 'hexline'
import type { HexlineProvider, HexlineProviderOptions } from 'hexline/ethers'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Anvil, startAnvil } from '../../../support/anvil.ts'
import { CHAIN, expectSame, hexlineErrorOf, overEthers, overHexline, portraitOf } from '../../../support/ethers-failures.ts'
import { contractAt, nodeRows, wordRows } from '../../../support/ethers-failures-node.ts'
import { transportRows } from '../../../support/ethers-failures-transport.ts'
import { isNewEthers } from '../../../support/peers.ts'
import { type Answer, always, cut, deadPort, each, errorOf, type Received, refuse, send, serve, silent } from '../../../support/server.ts'
import { contracts, errorData, holder } from '../../../support/viem-failures.ts'

const reads = {
  eth_getBalance: (provider: JsonRpcProvider) => provider.getBalance(holder),
  eth_call: (provider: JsonRpcProvider) => provider.call({ to: holder }),
}
const both = ['eth_getBalance', 'eth_call'] as const
/** A node that refuses every call with this error object. */
const saying = (error: unknown): Answer => each(({ id }) => ({ jsonrpc: '2.0', id, error }))

describe("an error of a node is the same with hexline as with ethers' own provider:", () => {
  let anvil: Anvil
  beforeAll(async () => {
    anvil = await startAnvil()
    const client = createClient(anvil.url)
    for (const { address, code } of Object.values(contracts)) await client.request({ method: 'anvil_setCode', params: [address, code] })
    // So that a nonce of 0 is too low.
    await client.request({ method: 'eth_sendTransaction', params: [{ from: holder, to: holder }] })
    await client.close()
  })
  afterAll(() => anvil.stop())

  test.each(nodeRows)('$name', async ({ run, is, has = {}, better }) => {
    const expected = portraitOf(await errorOf(run(overEthers(anvil.url))))
    const error = await errorOf(run(overHexline(anvil.url)))
    expectSame(portraitOf(error), expected, better)
    expect(expected).toMatchObject({ code: is, ...has })
    expectToWalk(error)
  })

  test("custom errors are decoded by the contract's interface", async () => {
    const contract = contractAt(contracts.custom.address, overHexline(anvil.url))
    const error = await errorOf(contract.getFunction('withdraw').estimateGas(7n))
    expect(contract.interface.parseError((error as unknown as { data: string }).data)).toMatchObject({ name: 'TooMuch', args: [holder, 7n, 5n] })
  })
})

describe('ethers maps a node’s message the same with hexline as with its own provider:', () => {
  test.each(wordRows)('$name', async ({ method, params = [], error: said, is, has = {}, better }) => {
    const { url } = await serve(saying(said))
    const expected = portraitOf(await errorOf(overEthers(url).send(method, [...params])))
    const error = await errorOf(overHexline(url).send(method, [...params]))
    if (isNewEthers) expect(expected).toMatchObject({ code: is, ...has })
    expectSame(portraitOf(error), expected, better)
    expectToWalk(error)
  })
})

describe("an error of the connection is the same with hexline as with ethers' own provider:", () => {
  const cases = transportRows.flatMap((row) => (row.methods ?? both).map((method) => ({ ...row, method })))

  test.each(cases)('$name ($method)', async ({ answer, method, options = {}, is, has = {}, under, better, crashesOld = false }) => {
    const { url } = await serve(answer)
    const expected = crashesOld && !isNewEthers ? undefined : portraitOf(await errorOf(reads[method](overEthers(url, options))))
    const error = await errorOf(reads[method](overHexline(url, options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs })))
    expect(portraitOf(error)).toMatchObject({ code: is, ...has })
    if (expected !== undefined) expectSame(portraitOf(error), expected, better)
    expect(isError(error, is as 'SERVER_ERROR')).toBe(true)
    expect(hexlineErrorOf(error)).toMatchObject({ name: under, attempts: 1 })
    expectToWalk(error)
  })

  test('a connection that is refused', async () => {
    const url = `http://127.0.0.1:${await deadPort()}`
    const expected = portraitOf(await errorOf(reads.eth_getBalance(overEthers(url))))
    const error = await errorOf(reads.eth_getBalance(overHexline(url)))
    expectSame(portraitOf(error), expected, {
      why: 'ethers lets an error of Node.js through, which has no code of ethers',
      ethers: { ...expected, code: 'ECONNREFUSED', syscall: 'connect' },
      hexline: {
        class: 'Error',
        code: 'NETWORK_ERROR',
        shortMessage: expect.stringMatching(/^127\.0\.0\.1:\d+: no connection: connect ECONNREFUSED/),
        event: 'connection',
        info: { requestUrl: url, errno: 'ECONNREFUSED' },
      },
    })
    expect(hexlineErrorOf(error)).toMatchObject({ name: 'NetworkError', unsent: true })
  })

  test('a body that is too large, which ethers does not limit', async () => {
    const { url } = await serve(each(({ id }) => ({ id, result: `0x${'1'.repeat(60)}` })))
    expect(await reads.eth_getBalance(overEthers(url))).toBe(BigInt(`0x${'1'.repeat(60)}`))
    const error = await errorOf(reads.eth_getBalance(overHexline(url, { maxResponseBytes: 50 })))
    expect(portraitOf(error)).toMatchObject({
      code: 'SERVER_ERROR',
      shortMessage: expect.stringMatching(/maxResponseBytes allows 50$/),
      info: { requestUrl: url },
    })
    expect(hexlineErrorOf(error)).toMatchObject({ name: 'LimitError', kind: 'response-too-large' })
  })
})

describe('an error after the end says so:', () => {
  test('a provider that was destroyed, before a call', async () => {
    const { url } = await serve(silent)
    const providers = [overEthers(url), overHexline(url)]
    for (const provider of providers) provider.destroy()
    const [expected, portrait] = await Promise.all(providers.map(async (provider) => portraitOf(await errorOf(reads.eth_getBalance(provider)))))
    expect(portrait).toEqual(expected)
    expect(portrait).toMatchObject({ code: 'UNSUPPORTED_OPERATION', operation: 'eth_getBalance' })
  })

  test('a provider that is destroyed while its call is queued', async () => {
    const { url } = await serve(silent)
    const portraits = [overEthers(url), overHexline(url)].map(async (provider) => {
      const error = errorOf(provider.send('eth_getBalance', [holder, 'latest']))
      // ethers takes a call into its queue in a later microtask.
      await Promise.resolve()
      provider.destroy()
      return portraitOf(await error)
    })
    expect(await portraits[1]).toEqual(await portraits[0])
    expect(await portraits[1]).toMatchObject({ code: 'UNSUPPORTED_OPERATION', shortMessage: 'provider destroyed; cancelled request' })
  })

  test('a shared client closed by its owner', async () => {
    const client = createClient((await serve(silent)).url)
    await client.close()
    const error = await errorOf(reads.eth_getBalance(overHexline(client)))
    expect(portraitOf(error)).toEqual({
      class: 'Error',
      code: 'UNSUPPORTED_OPERATION',
      shortMessage: 'client closed; cancelled request',
      operation: 'eth_getBalance',
    })
    expect(hexlineErrorOf(error)).toMatchObject({ name: 'ClosedError', attempts: 0 })
  })
})

describe("hexline's own error is the cause of ethers' error", () => {
  test.each<[string, Answer, object]>([
    ['of a node’s message', refuse(-32000, 'nonce too low'), { name: 'RpcError', kind: 'execution', attempts: 1 }],
    ['of an unknown method', refuse(-32601, 'Method not found'), { name: 'RpcError', kind: 'unsupported', attempts: 1 }],
    ['of a lagging node, after retries', refuse(-32000, 'header not found'), { name: 'RpcError', kind: 'lagging', attempts: 3 }],
    ['of an HTTP status, after retries', always('oops', { status: 500 }), { name: 'HttpError', kind: 'server', attempts: 3 }],
    ['of a cut connection, after retries', cut, { name: 'NetworkError', kind: 'network', attempts: 3 }],
  ])('%s', async (_, answer, cause) => {
    const { url } = await serve(answer)
    const provider = overHexline(url, { retry: { attempts: 3, baseDelayMs: 1 } })
    expect(hexlineErrorOf(await errorOf(reads.eth_getBalance(provider)))).toMatchObject(cause)
  })
})

test('FallbackProvider, which walks through errors, leaves them unchanged', async () => {
  for (const answer of [
    always('oops', { status: 500 }),
    cut,
    refuse(-32601, 'none'),
    saying({ code: 3, message: 'execution reverted', data: errorData('Error', ['no']) }),
  ]) {
    const { url } = await serve((request, response) =>
      request.entries.some(({ method }) => method === 'eth_call')
        ? answer(request, response)
        : each(({ id, method }) => ({ id, result: method === 'eth_chainId' ? '0x7a69' : '0x1' }))(request, response),
    )
    const member = overHexline(url, { batch: false })
    const provider = new FallbackProvider([member], CHAIN, { cacheTimeout: -1 })
    onTestFinished(() => provider.destroy())
    expect(portraitOf(await errorOf(provider.call({ to: holder })))).toEqual(portraitOf(await errorOf(member.call({ to: holder }))))
  }
})

describe('no error with hexline shows the key,', () => {
  const secrets = ['kEy0fThePath', 'kEy0fTheQuery', 'us3rOfTheUrl', 'pa55OfTheUrl', 't0kenOfTheHeader', btoa('us3rOfTheUrl:pa55OfTheUrl')]
  const withKeys = (url: string) => url.replace('http://', 'http://us3rOfTheUrl:pa55OfTheUrl@').concat('/v3/kEy0fThePath?key=kEy0fTheQuery')
  const overKeys = (url: string, options: HexlineProviderOptions = {}) =>
    overHexline({ url: withKeys(url), headers: { 'x-token': 't0kenOfTheHeader' } }, { headers: { 'x-other': 't0kenOfTheHeader' }, ...options })
  const told = ({ path, headers: sent }: Received) =>
    `you asked http://us3rOfTheUrl:pa55OfTheUrl@${sent.host}${path} as ${sent.authorization} with ${sent['x-token']}`
  const echo =
    (make: (said: string, request: Received) => unknown, how: Parameters<typeof send>[2] = {}): Answer =>
    (request, response) => {
      const body = make(told(request), request)
      send(response, typeof body === 'string' ? body : JSON.stringify(body), how)
    }
  const errorObject = (error: object, how: Parameters<typeof send>[2] = {}): Answer =>
    echo((said, { entries }) => ({ id: entries[0]?.id, error: { code: -32000, message: said, data: { [said]: [said] }, ...error } }), how)

  const echoRows: { name: string; answer: Answer; options?: HexlineProviderOptions }[] = [
    ...transportRows.map(({ name, answer, options }) => ({ name, answer, options: { timeoutMs: options?.timeoutMs ?? 30_000 } })),
    { name: 'a body that is too large', answer: each(({ id }) => ({ id, result: 'x'.repeat(500) })), options: { maxResponseBytes: 50 } },
    { name: '500 that echoes the URL', answer: echo((said) => said, { status: 500 }) },
    { name: '404 that echoes it in JSON', answer: echo((said) => ({ error: said, path: said }), { status: 404 }) },
    { name: '429 that echoes it in JSON-RPC', answer: errorObject({ code: -32005 }, { status: 429 }) },
    { name: '502 that echoes it in a page', answer: echo((said) => `<a href="${said}">${encodeURIComponent(said)}</a>`, { status: 502 }) },
    {
      name: '302 that echoes it in headers',
      answer: (request, response) => send(response, '', { status: 302, headers: { location: told(request), 'x-asked': request.path } }),
    },
    { name: '200 that echoes it in a page', answer: echo((said) => `<html>${said}</html>`) },
    { name: 'a reply to another call that echoes it', answer: echo((said) => ({ id: 999_999, result: said })) },
    { name: 'a JSON-RPC error that echoes it', answer: errorObject({}) },
    { name: 'a revert that echoes it', answer: errorObject({ code: 3 }) },
    { name: 'an unknown method that echoes it', answer: errorObject({ code: -32601 }) },
    { name: 'something that is not HTTP', answer: ({ path, socket }) => void socket.end(`${path} kEy0fThePath`) },
    { name: 'an invalid encoding', answer: (request, response) => send(response, '{}', { headers: { 'content-encoding': request.path } }) },
  ]

  test.each(echoRows)('$name', async ({ answer, options = {} }) => {
    const { url } = await serve(answer)
    const failures = [
      ...Object.values(reads),
      (provider: JsonRpcProvider) => provider.send('eth_sendRawTransaction', ['0x12']),
      (provider: JsonRpcProvider) => contractAt(holder, provider).getFunction('check')(),
      (provider: HexlineProvider) => provider.getBlocks(1, 2).next(),
    ]
    const events: unknown[] = []
    // Each with a provider of its own, since a client that was throttled waits.
    for (const fail of failures) {
      const provider = overKeys(url, options)
      await provider.on('debug', (event) => events.push(event))
      const error = await errorOf(fail(provider))
      expectNoSecret(error)
      expectToWalk(error)
      expectNoSecret(provider)
    }
    expect(events.length).toBeGreaterThanOrEqual(8)
    for (const event of events) expectNoSecret(event)
  })

  test('a connection that is refused', async () => {
    expectNoSecret(await errorOf(reads.eth_call(overKeys(`http://127.0.0.1:${await deadPort()}`))))
  })

  test('a provider that is destroyed', async () => {
    const server = await serve(silent)
    const provider = overKeys(server.url)
    const error = errorOf(reads.eth_call(provider))
    await server.received(1)
    provider.destroy()
    expectNoSecret(await error)
  })

  test('and the search would find a key', async () => {
    const { url } = await serve(always('oops', { status: 500 }))
    const error = await errorOf(reads.eth_call(overEthers(`${url}/v3/kEy0fThePath?key=kEy0fTheQuery`)))
    expect(textsOf(error).filter((text) => text.includes('kEy0fThePath')).length).toBeGreaterThan(3)
    expect(() => expectNoSecret({ request: new FetchRequest('http://x/kEy0fThePath') })).toThrow()
    expect(() => expectNoSecret(new Error('', { cause: new Error('', { cause: { deep: ['kEy0fThePath'] } }) }))).toThrow()
    expect(() => expectNoSecret(Object.defineProperty(new Error(), 'hidden', { value: { deep: ['kEy0fThePath'] }, enumerable: false }))).toThrow()
  })

  function expectNoSecret(value: unknown): void {
    for (const text of textsOf(value)) for (const secret of secrets) expect(text).not.toContain(secret)
  }
})

/** Everything that can be read from an error or an object, and from its causes. */
function textsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [String(value)]
  const { message, shortMessage, stack, info, request, response, error, cause } = value as Record<string, unknown>
  const json = (each: unknown) => JSON.stringify(each, (_, part) => (typeof part === 'bigint' ? `${part}` : part)) ?? ''
  const deep = inspect(value, { depth: 10, showHidden: true, maxStringLength: null, maxArrayLength: null })
  const texts = [
    deep,
    inspect(value),
    String(value),
    json([message, shortMessage, stack, info]),
    json(value instanceof Error ? { ...value } : Object.keys(value)),
  ]
  return [...texts, ...[request, response, error, cause].flatMap(textsOfPart)]
}

/** ethers' requests and responses have private fields, which `inspect` does not see. */
function textsOfPart(part: unknown): string[] {
  if (part instanceof FetchRequest) return [part.url, JSON.stringify(part.headers), String(part), String(part.credentials)]
  if (part instanceof FetchResponse) return [part.bodyText, part.statusMessage, JSON.stringify(part.headers), ...textsOfPart(part.request)]
  return part === undefined || part === null ? [] : textsOf(part)
}

/** Nothing that can be enumerated on it is a function or a cycle. */
function expectToWalk(value: unknown, path: readonly unknown[] = []): void {
  expect(typeof value).not.toBe('function')
  // A receipt is ethers' own, and has its provider.
  if (typeof value !== 'object' || value === null || value instanceof TransactionReceipt) return
  expect(path).not.toContain(value)
  for (const each of Object.values(value)) expectToWalk(each, [...path, value])
}
