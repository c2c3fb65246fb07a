import { getEventListeners } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, expectTypeOf, onTestFinished, test, vi } from 'vitest'
import { type Call, type ClientOptions, createClient, type Layer, MalformedReplyError, OptionError, type Post, RpcError, replyOf } from '../../src/index.ts'
import {
  type Answer,
  always,
  answerTo,
  clientOf,
  cut,
  deadPort,
  each,
  errorOf,
  failed,
  honest,
  read,
  refuse,
  right,
  send,
  serve,
  silent,
  type TestServer,
} from '../support/server.ts'

const url = 'https://rpc.example.com/KEY'

/** `JSON.stringify` names its class. */
class BigInteger {
  readonly itself = this
}

const throwing = {
  toJSON() {
    throw 'why not'
  },
}

function refusal(make: () => unknown): OptionError {
  try {
    make()
  } catch (error) {
    expect(error).toBeInstanceOf(OptionError)
    expect(error).toMatchObject({ name: 'OptionError', kind: 'invalid' })
    return error as OptionError
  }
  throw new Error('it was expected to be refused')
}

describe('createClient checks', () => {
  test.each<[unknown, string | RegExp]>([
    [null, 'options: expected an object, received null'],
    [[], 'options: expected an object, received an array of 0'],
    [
      { batchSize: 10 },
      'options: expected only batch, concurrency, rate, retry, timeoutMs, deadlineMs, maxResponseBytes, dedupe, hedge, headers, dispatcher, compression, layers, received "batchSize"',
    ],
    [{ bacth: false }, /, received "bacth" \(did you mean `batch`\?\)$/],
    [{ timeoutms: 1 }, /, received "timeoutms" \(did you mean `timeoutMs`\?\)$/],
    [{ batch: true }, 'batch: expected an object or false, received true'],
    [{ batch: 10 }, 'batch: expected an object or false, received 10'],
    [{ batch: { max: 10 } }, 'batch: expected only maxCalls, received "max"'],
    [{ batch: { maxCalls: 0 } }, 'batch.maxCalls: expected a whole number of at least 1, received 0'],
    [{ batch: { maxCalls: 1.5 } }, 'batch.maxCalls: expected a whole number of at least 1, received 1.5'],
    [{ batch: { maxCalls: '10' } }, 'batch.maxCalls: expected a whole number of at least 1, received "10"'],
    [{ concurrency: 0 }, 'concurrency: expected a whole number from 1 to 1000, received 0'],
    [{ concurrency: 1001 }, 'concurrency: expected a whole number from 1 to 1000, received 1001'],
    [{ concurrency: Number.POSITIVE_INFINITY }, 'concurrency: expected a whole number from 1 to 1000, received Infinity'],
    [{ rate: 10 }, 'rate: expected an object, received 10'],
    [{ rate: { callsPerSecond: 0 } }, 'rate.callsPerSecond: expected a number above 0, received 0'],
    [{ rate: {} }, 'rate: expected callsPerSecond or unitsPerSecond, received neither'],
    [{ rate: { perSecond: 1 } }, 'rate: expected only callsPerSecond, unitsPerSecond, units, received "perSecond"'],
    [{ rate: { unitsPerSecond: '330' } }, 'rate.unitsPerSecond: expected a number above 0, received "330"'],
    [{ rate: { callsPerSecond: 1, unitsPerSecond: 1 } }, 'rate: expected either callsPerSecond or unitsPerSecond, received both'],
    [{ rate: { callsPerSecond: 1, units: {} } }, 'rate.units: expected unitsPerSecond as well, received callsPerSecond'],
    [{ rate: { unitsPerSecond: 330, units: [75] } }, 'rate.units: expected a plain object of numbers, by method, received an array of 1'],
    [{ rate: { unitsPerSecond: 330, units: { eth_getLogs: -1 } } }, 'rate.units.eth_getLogs: expected a number of at least 0, received -1'],
    [{ retry: true }, 'retry: expected an object or false, received true'],
    [{ retry: { attempts: 0 } }, 'retry.attempts: expected a whole number of at least 1 (the first attempt counts), or Infinity, received 0'],
    [{ retry: { attempts: 2.5 } }, 'retry.attempts: expected a whole number of at least 1 (the first attempt counts), or Infinity, received 2.5'],
    [{ retry: { baseDelayMs: 0 } }, 'retry.baseDelayMs: expected a number above 0, received 0'],
    [{ retry: { maxDelayMs: Number.NaN } }, 'retry.maxDelayMs: expected a number above 0, received NaN'],
    [{ retry: { count: 1 } }, 'retry: expected only attempts, baseDelayMs, maxDelayMs, received "count"'],
    [{ timeoutMs: 0 }, 'timeoutMs: expected a number of ms above 0, at most 2147483647, received 0'],
    [{ timeoutMs: 2 ** 31 }, 'timeoutMs: expected a number of ms above 0, at most 2147483647, received 2147483648'],
    [{ timeoutMs: Number.POSITIVE_INFINITY }, 'timeoutMs: expected a number of ms above 0, at most 2147483647, received Infinity'],
    [{ deadlineMs: -1 }, 'deadlineMs: expected a number of ms above 0, or Infinity, received -1'],
    [{ deadlineMs: Number.NaN }, 'deadlineMs: expected a number of ms above 0, or Infinity, received NaN'],
    [{ maxResponseBytes: 0.5 }, 'maxResponseBytes: expected a whole number of at least 1, received 0.5'],
    [{ dedupe: 'yes' }, 'dedupe: expected true or false, received "yes"'],
    [{ hedge: 1 }, 'hedge: expected an object, true or false, received 1'],
    [{ hedge: { percentile: 95 } }, 'hedge.percentile: expected a number between 0 and 1, received 95'],
    [{ hedge: { maxExtra: 0 } }, 'hedge.maxExtra: expected a number between 0 and 1, received 0'],
    [{ hedge: { after: 1 } }, 'hedge: expected only percentile, maxExtra, received "after"'],
    [{ compression: 'gzip' }, 'compression: expected true or false, received "gzip"'],
    [{ headers: [] }, /^headers: expected an? .*object of strings, received an array of 0$/],
    [{ headers: { 'a b': 'c' } }, 'headers: expected valid header names, received a name with invalid characters'],
    [{ headers: { a: 1 } }, 'headers["a"]: expected a string, received a value of type number'],
    [{ headers: { a: 'b\r\nc: d' } }, 'headers["a"]: expected printable Latin-1 characters, received a control character, or one beyond Latin-1'],
    [{ headers: { Expect: '100-continue' } }, 'headers["Expect"]: expected a header that you may set, received one that is set for each request'],
    [{ headers: { 'Content-Length': '1' } }, 'headers["Content-Length"]: expected a header that you may set, received one that is set for each request'],
    [{ dispatcher: {} }, 'dispatcher: expected an undici dispatcher, received an object'],
    [{ dispatcher: null }, 'dispatcher: expected an undici dispatcher, received null'],
    [{ layers: [] }, 'layers: expected a function of the default layers, received an array of 0'],
  ])('%j', (options, message) => {
    const error = refusal(() => createClient(url, options as ClientOptions))
    if (typeof message === 'string') expect(error.message).toBe(message)
    else expect(error.message).toMatch(message)
    expect(error.option).toBe(error.message.slice(0, error.message.indexOf(':')))
  })

  test('that headers are a plain object, since any other would be read as empty', () => {
    for (const headers of [new Headers({ authorization: 'x' }), new Map([['authorization', 'x']])])
      expect(refusal(() => createClient(url, { headers: headers as never })).option).toBe('headers')
  })

  test('what the layers function returns', () => {
    for (const layers of [() => undefined, () => ['retry'], () => [() => undefined]])
      expect(refusal(() => createClient(url, { layers: layers as never })).option).toBe('layers')
  })

  test('every option, and accepts it at its limits', async () => {
    for (const options of [
      {},
      { batch: false },
      { batch: {} },
      { hedge: true },
      { hedge: {} },
      { retry: false },
      { retry: { attempts: Number.POSITIVE_INFINITY } },
      { concurrency: 1000 },
      { timeoutMs: 2 ** 31 - 1 },
      { deadlineMs: Number.POSITIVE_INFINITY },
      { rate: { callsPerSecond: 0.1 } },
      { headers: { 'x-a': 'é\t' } },
    ] satisfies ClientOptions[]) {
      await createClient(url, options).close()
    }
  })

  test.each<[unknown, string | RegExp]>([
    ['', 'endpoint: expected an http, https, ws or wss URL, such as https://rpc.example.com/KEY, received an empty string'],
    ['rpc.example.com', 'endpoint: expected an http, https, ws or wss URL, such as https://rpc.example.com/KEY, received an invalid URL'],
    [
      'ftp://rpc.example.com',
      'endpoint: expected an http, https, ws or wss URL, such as https://rpc.example.com/KEY, received a URL without http://, https://, ws:// or wss://',
    ],
    [undefined, 'endpoint: expected a URL, { url }, { baseUrl, chain, apiKey } or a function, received undefined'],
    [7, 'endpoint: expected a URL, { url }, { baseUrl, chain, apiKey } or a function, received 7'],
    [[], 'endpoint: expected at least one, received an empty array'],
    [[url, null], 'endpoint[1]: expected a URL, { url }, { baseUrl, chain, apiKey } or a function, received null'],
    [{ url: 7 }, 'endpoint.url: expected an http, https, ws or wss URL, such as https://rpc.example.com/KEY, received 7'],
    [{ url, header: {} }, 'endpoint: expected only url, headers, since, received "header" (did you mean `headers`?)'],
    [{ url, headers: { 'a b': '' } }, 'endpoint.headers: expected valid header names, received a name with invalid characters'],
    [{ baseUrl: 'https://rpc.example.com', chain: 'eth', apiKey: '' }, 'apiKey: expected a key, received an empty string'],
    [{ baseUrl: 'https://rpc.example.com', chain: 'eth' }, 'apiKey: expected a key, received undefined'],
    [
      ['https://rpc.example.com/KEY', { url: '' }],
      'endpoint[1].url: expected an http, https, ws or wss URL, such as https://rpc.example.com/KEY, received an empty string',
    ],
    [
      { baseUrl: 'nonsense', chain: 'eth', apiKey: 'KEY' },
      'baseUrl: expected an http, https, ws or wss URL, such as https://rpc.example.com, received an invalid URL',
    ],
    [
      { baseUrl: 'ftp://rpc.example.com', chain: 'eth', apiKey: 'KEY' },
      'baseUrl: expected an http, https, ws or wss URL, such as https://rpc.example.com, received a URL without http://, https://, ws:// or wss://',
    ],
    [
      { baseUrl: 'https://rpc.example.com', chain: 'eth', apiKey: 'KEY', key: 1 },
      'endpoint: expected only baseUrl, chain, apiKey, headers, since, received "key"',
    ],
  ])('the endpoint %j', (endpoint, message) => {
    const error = refusal(() => createClient(endpoint as string))
    if (typeof message === 'string') expect(error.message).toBe(message)
    else expect(error.message).toMatch(message)
  })

  test('the chain of an endpoint, and lists the known ones', () => {
    const { message } = refusal(() => createClient({ baseUrl: 'https://rpc.example.com', chain: 'ethereum' as 'eth', apiKey: 'KEY' }))
    expect(message).toMatch(/^chain: expected one of eth, sepolia, .*, opbnb, received "ethereum"$/)
  })
})

describe('an endpoint', () => {
  test('by base URL, chain and key is {baseUrl}/{chain}/{key}', async () => {
    const server = await serve(honest)
    await read(clientOf({ baseUrl: server.url, chain: 'base', apiKey: 'a b/c' }), 1)
    await read(clientOf({ baseUrl: `${server.url}/rpc/`, chain: 'eth', apiKey: 'KEY' }), 2)
    expect(server.requests.map(({ path }) => path)).toEqual(['/base/a%20b%2Fc', '/rpc/eth/KEY'])
  })

  test('is named by host and port in errors, and by nothing else', async () => {
    const server = await serve(cut)
    expect((await errorOf(read(clientOf(`${server.url}/eth/KEY`, { retry: false }), 1))).endpoint).toBe(`127.0.0.1:${server.port}`)
  })
})

describe('request', () => {
  test('is EIP-1193: raw JSON in and out, any method', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    expect(await client.request({ method: 'debug_traceBlock', params: ['0x1', { tracer: 'callTracer' }] })).toEqual(answerTo(['0x1', { tracer: 'callTracer' }]))
    expect(await client.request({ method: 'eth_chainId' })).toEqual(answerTo([]))
    expect(await client.request({ method: 'eth_chainId', params: undefined })).toEqual(answerTo([]))
    expect(server.requests[1]?.entries[0]).toMatchObject({ jsonrpc: '2.0', method: 'eth_chainId', params: [] })
    expect(await client.request({ method: 'wallet_watchAsset', params: { type: 'ERC20' } })).toEqual(answerTo({ type: 'ERC20' } as never))
  })

  test('rejects with the node’s code, message and data', async () => {
    const server = await serve(each((entry) => failed(entry, 4001, 'User rejected the request.', { a: 1 })))
    const error = await errorOf(clientOf(server.url).request({ method: 'eth_chainId' }))
    expect(error).toBeInstanceOf(RpcError)
    expect(error).toMatchObject({ code: 4001, said: 'User rejected the request.', data: { a: 1 }, method: 'eth_chainId' })
  })

  test.each<[string, unknown]>([
    ['method: expected the name of a method, received undefined', undefined],
    ['method: expected the name of a method, received ""', { method: '' }],
    ['method: expected the name of a method, received 7', { method: 7 }],
    ['params: expected an array or an object, received "x"', { method: 'eth_call', params: 'x' }],
    [
      'params: expected values that JSON can represent, received a bigint, which client.call encodes; elsewhere, use encodeQuantity',
      { method: 'eth_call', params: [1n] },
    ],
    [
      'params: expected values that JSON can represent, received a bigint, which client.call encodes; elsewhere, use encodeQuantity',
      { method: 'eth_call', params: [{ value: 1n }] },
    ],
    [
      expect.stringMatching(/^params: expected values that JSON can represent, received something else \(Converting circular structure/),
      { method: 'eth_call', params: [new BigInteger()] },
    ],
    ['params: expected values that JSON can represent, received something else (why not)', { method: 'eth_call', params: [throwing] }],
  ])('refuses before a byte is sent: %s', async (message, request) => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    expect(await errorOf(client.request(request as { method: string }))).toMatchObject({ name: 'CodecError', message })
    expect(await errorOf(client.send(request as { method: string }))).toMatchObject({ name: 'CodecError', message })
    expect(server.requests).toHaveLength(0)
  })

  test('sends the original params, also in retries, even if the caller changes them', async () => {
    const server = await serve(refuse(429, 'Too many requests', { status: 429 }), honest)
    const transaction = { to: '0xalice', nonce: '0x1' }
    const params: unknown[] = [transaction, ['latest']]
    const given = structuredClone(params)
    const reply = clientOf(server.url).request({ method: 'eth_sendTransaction', params })
    transaction.to = '0xbob'
    params[1] = 'pending'
    params.push('more')
    expect(await reply).toEqual(answerTo(given))
    expect(server.requests.map(({ entries }) => entries[0]?.params)).toEqual([given, given])
  })

  test('refuses an invalid signal', async () => {
    expect(await errorOf(clientOf(url).request({ method: 'eth_chainId' }, { signal: {} as AbortSignal }))).toMatchObject({
      name: 'OptionError',
      option: 'signal',
    })
  })
})

describe('call', () => {
  test('encodes the arguments, and decodes the result', async () => {
    const server = await serve(each(({ id }) => ({ id, result: '0x10' })))
    const client = clientOf(server.url)
    const balance = await client.call('eth_getBalance', '0x000000000000000000000000000000000000dEaD')
    expect(balance).toBe(16n)
    expectTypeOf(balance).toEqualTypeOf<bigint>()
    expect(await client.call('eth_chainId')).toBe(16)
    expect(server.requests[0]?.entries[0]?.params).toEqual(['0x000000000000000000000000000000000000dEaD', 'latest'])
  })

  test('refuses invalid arguments before a byte is sent', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    expect(await errorOf(client.call('eth_getBalance', 'nobody' as '0x'))).toMatchObject({ name: 'CodecError', method: 'eth_getBalance' })
    expect(await errorOf(client.call('eth_nonsense' as 'eth_chainId'))).toMatchObject({ name: 'CodecError' })
    expect(server.requests).toHaveLength(0)
  })

  test('rejects with the path of the node’s wrong value', async () => {
    const server = await serve(each(({ id }) => ({ id, result: '0x' })))
    expect(await errorOf(clientOf(server.url).call('eth_blockNumber'))).toMatchObject({
      name: 'CodecError',
      kind: 'malformed',
      path: 'result',
      method: 'eth_blockNumber',
    })
  })
})

describe('send', () => {
  test('yields the reply once; taking it empties it', async () => {
    const server = await serve(honest)
    const reply = await clientOf(server.url).send({ method: 'eth_chainId' })
    expect(reply.bytes).toBeGreaterThan(0)
    expect(reply.take()).toEqual(answerTo([]))
    expect(reply.take()).toBeUndefined()
  })

  test('checks the settings of the call as `with` does', async () => {
    const client = clientOf((await serve(honest)).url)
    for (const settings of [{ deadlineMs: Number.NaN }, { attempts: 0 }, { priority: 'high' }, { signal: {} }, { required: 1 }]) {
      const [option] = Object.keys(settings)
      expect(await errorOf(client.send({ method: 'eth_chainId', ...(settings as object) }))).toMatchObject({ name: 'OptionError', option })
    }
  })
})

test.each(['cut', null, 1])('send refuses the result form %j', async (as) => {
  const client = createClient(url)
  expect(await errorOf(client.send({ method: 'eth_chainId', as: as as never }))).toMatchObject({
    name: 'OptionError',
    option: 'as',
    expected: "'value' or 'bytes'",
  })
})

describe('with', () => {
  test.each<[unknown, string]>([
    [
      { deadline: 1 },
      'settings: expected only signal, deadlineMs, priority, attempts, timeoutMs, whilePaused, received "deadline" (did you mean `deadlineMs`?)',
    ],
    [{ deadlineMs: 0 }, 'deadlineMs: expected a number of ms above 0, or Infinity, received 0'],
    [{ attempts: 0 }, 'attempts: expected a whole number of at least 1 (the first attempt counts), or Infinity, received 0'],
    [{ priority: 'high' }, "priority: expected 'interactive' or 'bulk', received \"high\""],
    [{ signal: 'x' }, 'signal: expected an AbortSignal, received "x"'],
    [{ timeoutMs: -1 }, 'timeoutMs: expected a number of ms above 0, at most 2147483647, received -1'],
    [{ whilePaused: 'no' }, "whilePaused: expected 'wait' or 'fail', received \"no\""],
    [null, 'settings: expected an object, received null'],
  ])('%j is refused', (settings, message) => {
    expect(refusal(() => createClient(url).with(settings as object)).message).toBe(message)
  })

  test('shares the queue, the sockets and the limits', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    await Promise.all([read(client, 1), read(client.with({ attempts: 2 }), 2), read(client.with({ deadlineMs: 1000 }).with({ attempts: 1 }), 3)])
    expect(server.requests).toHaveLength(1)
    expect(server.opened).toBe(1)
  })

  test('changes the settings of its own calls only, and keeps the others', async () => {
    const server = await serve(always('oops', { status: 500 }))
    const client = clientOf(server.url)
    const twice = client.with({ attempts: 2 })
    expect(await errorOf(read(twice, 1))).toMatchObject({ attempts: 2 })
    expect(await errorOf(read(twice.with({ deadlineMs: 50_000 }), 1))).toMatchObject({ attempts: 2 })
    expect(await errorOf(read(twice.with({ attempts: 1 }), 1))).toMatchObject({ attempts: 1 })
    expect(await errorOf(read(client, 1))).toMatchObject({ attempts: 4 })
  })

  test('keeps what is given as undefined', async () => {
    const server = await serve(always('oops', { status: 500 }))
    const twice = clientOf(server.url).with({ attempts: 2 })
    expect(await errorOf(read(twice.with({ attempts: undefined } as object), 1))).toMatchObject({ attempts: 2 })
  })

  test('combines a new signal with the earlier one', async () => {
    for (const which of [0, 1, 2]) {
      const server = await serve(silent)
      const aborters = [new AbortController(), new AbortController(), new AbortController()]
      let client = clientOf(server.url)
      for (const { signal } of aborters) client = client.with({ signal })
      const error = errorOf(read(client, 1))
      await server.received(1)
      aborters[which]?.abort(`by ${which}`)
      expect(await error).toBe(`by ${which}`)
    }
  })

  test('leaves nothing on the signal once its calls have ended', async () => {
    const { signal } = new AbortController()
    await read(clientOf((await serve(honest)).url).with({ signal }), 1)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('leaves nothing on an earlier signal, which may live as long as the program', async () => {
    const { signal } = new AbortController()
    const client = clientOf((await serve(honest)).url).with({ signal })
    // On Node.js 20, it would keep a trace of each signal that depends on this one.
    const any = vi.spyOn(AbortSignal, 'any')
    onTestFinished(() => any.mockRestore())
    for (let n = 0; n < 3; n++) await read(client.with({ signal: new AbortController().signal }), n)
    expect([getEventListeners(signal, 'abort').length, any.mock.calls.length]).toEqual([0, 0])
  })

  test('closing it does nothing; closing the first one ends it too', async () => {
    const server = await serve(honest)
    const client = clientOf(server.url)
    const other = client.with({ attempts: 1 })
    await other.close()
    await other[Symbol.asyncDispose]()
    expect(await read(client, 1)).toEqual(answerTo([1]))
    expect(await read(other, 2)).toEqual(answerTo([2]))
    await client.close()
    expect(await errorOf(read(other, 3))).toMatchObject({ name: 'ClosedError' })
  })
})

describe('layers', () => {
  test('of the user are applied in order: a cache before the retries sends one call', async () => {
    const server = await serve(cut, honest)
    const seen: Call[] = []
    const known = new Map<string, unknown>()
    const cache: Layer = (next) => async (call) => {
      seen.push(call)
      const key = JSON.stringify([call.method, call.params])
      if (!known.has(key)) known.set(key, (await next(call)).take())
      return replyOf(known.get(key))
    }
    const client = clientOf(server.url, { layers: (defaults) => [cache, ...defaults], retry: { baseDelayMs: 1 } })
    expect(await read(client, 1)).toEqual(answerTo([1]))
    expect(await read(client, 1)).toEqual(answerTo([1]))
    expect(server.requests).toHaveLength(2)
    expect(seen).toHaveLength(2)
    expect(seen[0]).toMatchObject({ method: 'eth_getBalance', params: [1], priority: 'interactive', as: 'value', safe: true, required: false, attempts: 4 })
  })

  test('may keep what they take and give it again: it is decoded as a copy', async () => {
    const server = await serve((request, response) =>
      send(response, JSON.stringify(request.entries.map(({ id }) => ({ jsonrpc: '2.0', id, result: { oldestBlock: '0x5', baseFeePerGas: ['0x7'] } })))),
    )
    const known: unknown[] = []
    const cache: Layer = (next) => async (call) => {
      known[0] ??= (await next(call)).take()
      return replyOf(known[0])
    }
    const client = clientOf(server.url, { layers: (defaults) => [cache, ...defaults] })
    for (let i = 0; i < 2; i++) expect(await client.call('eth_feeHistory', 1, 'latest', [])).toMatchObject({ oldestBlock: 5n, baseFeePerGas: [7n] })
    expect(known).toEqual([{ oldestBlock: '0x5', baseFeePerGas: ['0x7'] }])
  })

  test('after the retries see each attempt', async () => {
    const server = await serve(cut, cut, honest)
    let attempts = 0
    const count: Layer = (next) => (call) => {
      attempts++
      return next(call)
    }
    await read(clientOf(server.url, { layers: (defaults) => [...defaults, count] }), 1)
    expect(attempts).toBe(3)
  })

  test('receive the defaults, which are the retries; omitting these disables retries', async () => {
    const server = await serve(cut)
    let given: readonly Layer[] = []
    const client = clientOf(server.url, {
      layers: (defaults) => {
        given = defaults
        return []
      },
    })
    await errorOf(read(client, 1))
    expect(given).toHaveLength(1)
    expect(server.requests).toHaveLength(1)
  })

  test('are composed once for a client and all that `with` makes of it', async () => {
    let composed = 0
    const layers = (defaults: readonly Layer[]) => {
      composed++
      return defaults
    }
    const client = clientOf((await serve(honest)).url, { layers })
    await Promise.all([read(client, 1), read(client.with({ attempts: 1 }), 2), read(client.with({ attempts: 1 }).with({ deadlineMs: 100 }), 3)])
    expect(composed).toBe(1)
  })
})

describe('an endpoint that is a function', () => {
  const options: ClientOptions = { retry: { attempts: 2, baseDelayMs: 1 }, deadlineMs: 2_000 }

  test('makes the POSTs, with an outcome for each call', async () => {
    const posts: (readonly Call[])[] = []
    const node: Post = async (calls) => {
      posts.push(calls)
      return calls.map(({ params }) => (params[0] === 2 ? new RpcError({ code: 3, message: 'no' }) : replyOf(answerTo(params), 10)))
    }
    const client = clientOf(node, options)
    const [a, b] = await Promise.allSettled([read(client, 1), read(client, 2)])
    expect(a).toMatchObject({ value: answerTo([1]) })
    expect(b).toMatchObject({ reason: { name: 'RpcError', kind: 'execution' } })
    expect(posts.map((calls) => calls.length)).toEqual([2])
  })

  test.each<[string, unknown]>([
    // One more or fewer than the calls; when they are repeated, each may come alone.
    ['too few outcomes', async (calls: readonly Call[]) => calls.slice(1).map(() => replyOf(1))],
    ['too many outcomes', async (calls: readonly Call[]) => [replyOf(0), ...calls.map(() => replyOf(1))]],
    ['no outcomes', async () => undefined],
    ['something else', async () => 'ok'],
    ['invalid outcomes', async () => [undefined, undefined]],
    ['values in place of replies', async () => [{}, 1]],
  ])('that gives %s is malformed for every call', async (_, node) => {
    const client = clientOf(Object.defineProperty(node as Post, 'name', { value: 'node' }), options)
    for (const outcome of await Promise.allSettled([read(client, 1), read(client, 2)])) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'MalformedReplyError', method: 'eth_getBalance', attempts: 2, endpoint: 'node' } })
    }
  })

  test.each<[string, unknown]>([
    ['rejects', async () => Promise.reject(new Error('out of order'))],
    [
      'throws',
      () => {
        throw new Error('out of order')
      },
    ],
  ])('that %s is malformed for every call, with its message', async (_, node) => {
    const client = clientOf(node as Post, options)
    for (const outcome of await Promise.allSettled([read(client, 1), read(client, 2)])) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'MalformedReplyError', message: expect.stringContaining('out of order') } })
    }
  })

  test('that rejects with a hexline error gives each call its own copy', async () => {
    const client = clientOf(async () => Promise.reject(new MalformedReplyError('no', { kind: 'auth' })), options)
    const [a, b] = await Promise.all([errorOf(read(client, 1)), errorOf(read(client, 2))])
    expect(a).toMatchObject({ name: 'MalformedReplyError', kind: 'auth', message: 'no', method: 'eth_getBalance' })
    expect(a).toBeInstanceOf(MalformedReplyError)
    expect(a).not.toBe(b)
  })

  test('gets a new signal for each POST, so its listeners do not pile up', async () => {
    const warnings: Error[] = []
    const onWarning = (warning: Error) => void warnings.push(warning)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const signals = new Set<AbortSignal>()
    const node: Post = async (calls, signal) => {
      signals.add(signal)
      signal.addEventListener('abort', () => {})
      return calls.map(({ params }) => replyOf(answerTo(params)))
    }
    const client = clientOf(node, options)
    for (let i = 0; i < 50; i++) await read(client, i)
    await turn()
    expect(signals.size).toBe(50)
    expect(warnings).toEqual([])
  })

  test('is aborted once no call waits for it', async () => {
    let told: unknown
    const aborter = new AbortController()
    const node: Post = (calls, signal) => {
      setImmediate(() => aborter.abort('enough'))
      return new Promise((resolve) =>
        signal.addEventListener('abort', () => {
          told = 'aborted'
          resolve(calls.map(() => new MalformedReplyError('aborted')))
        }),
      )
    }
    const error = errorOf(read(clientOf(node, options).with({ signal: aborter.signal }), 1))
    expect(await error).toBe('enough')
    expect(told).toBe('aborted')
  })
})

describe('several endpoints', () => {
  /** The POSTs with calls, without those that only request an endpoint's chain and newest block. */
  const reads = (server: TestServer) => server.requests.filter(({ entries }) => entries.some(({ method }) => method === 'eth_getBalance'))
  /** Answers those requests correctly. */
  const failing =
    (answer: Answer): Answer =>
    (request, response) =>
      (request.entries.some(({ method }) => method === 'eth_getBalance') ? answer : honest)(request, response)
  const quick: ClientOptions = { retry: { attempts: 4, baseDelayMs: 1, maxDelayMs: 2 } }

  test('a call that failed at one goes to the next', async () => {
    const [first, second, third] = [await serve(cut), await serve(failing(always('oops', { status: 500 }))), await serve(honest)]
    expect(await read(clientOf([first.url, second.url, third.url], quick), 1)).toEqual(answerTo([1]))
    expect([first, second, third].map((server) => reads(server).length)).toEqual([1, 1, 1])
  })

  test('also if the first is down', async () => {
    const second = await serve(honest)
    expect(await read(clientOf([`http://127.0.0.1:${await deadPort()}`, second.url], quick), 1)).toEqual(answerTo([1]))
  })

  test('also if the first lags: the next is asked for results that must exist', async () => {
    const [first, second] = [await serve(each(({ id }) => ({ id, result: null }))), await serve(honest)]
    const reply = await clientOf([first.url, second.url], quick).send({ method: 'eth_getBlockByNumber', params: ['0x1', false], required: true })
    expect(reply.take()).toEqual(answerTo(['0x1', false]))
  })

  test('also if the first rejects the key: a retry there would be useless', async () => {
    for (const answer of [always('unauthorized', { status: 401 }), refuse(-32000, 'daily request count exceeded')]) {
      const [first, second] = [await serve(answer), await serve(honest)]
      expect(await read(clientOf([first.url, second.url], quick), 1)).toEqual(answerTo([1]))
      expect(first.requests).toHaveLength(1)
    }
  })

  test('also if the first throttles: the next is called without waiting', async () => {
    const [first, second] = [await serve(refuse(429, 'Too many requests', { status: 429, headers: { 'retry-after': '60' } })), await serve(honest)]
    expect(await read(clientOf([first.url, second.url], { ...quick, deadlineMs: 20_000 }), 1)).toEqual(answerTo([1]))
  })

  test('are tried again in turn, starting with the one that failed longest ago', async () => {
    const log: string[] = []
    const named = async (name: string) =>
      serve((request, response) => {
        // The first call to each comes with eth_chainId, or in a separate POST if that endpoint has
        // answered no batch.
        if (request.entries.some(({ method }) => method === 'eth_getBalance')) log.push(name)
        return always('oops', { status: 500 })(request, response)
      })
    const [a, b] = [await named('a'), await named('b')]
    const error = await errorOf(read(clientOf([a.url, b.url], quick), 1))
    expect(log).toEqual(['a', 'b', 'a', 'b'])
    expect(error).toMatchObject({ attempts: 4, endpoint: `127.0.0.1:${b.port}` })
  })

  test('a final answer from one is final', async () => {
    const [first, second] = [await serve(refuse(3, 'execution reverted')), await serve(honest)]
    expect(await errorOf(read(clientOf([first.url, second.url], quick), 1))).toMatchObject({ name: 'RpcError', code: 3 })
    expect(reads(second)).toEqual([])
  })

  describe('of which one gives a result that cannot be decoded', () => {
    const address = '0x000000000000000000000000000000000000dEaD'
    const giving = (result: unknown) => each(({ id, method }) => ({ id, result: method === 'eth_chainId' ? '0x1' : result }))
    /** How many calls of this method came. */
    const asked = (server: TestServer, method: string) => server.requests.flatMap(({ entries }) => entries).filter((entry) => entry.method === method).length

    test('another one is asked, and none twice', async () => {
      const [first, second, third] = [await serve(giving({})), await serve(giving('0x')), await serve(giving('0x10'))]
      const servers = [first, second, third]
      expect(await clientOf([first.url, second.url, third.url], quick).call('eth_getBalance', address)).toBe(16n)
      expect(servers.map((server) => asked(server, 'eth_getBalance'))).toEqual([1, 1, 1])
      third.script(giving('sixteen'))
      const error = await errorOf(clientOf([first.url, second.url, third.url], quick).call('eth_getBalance', address))
      expect(error).toMatchObject({ name: 'CodecError', kind: 'malformed', path: 'result', received: 'an object', endpoint: `127.0.0.1:${first.port}` })
      expect(servers.map((server) => asked(server, 'eth_getBalance'))).toEqual([2, 2, 2])
    })

    test('the error is that of the result where the others fail', async () => {
      const [first, second] = [await serve(giving({})), await serve(failing(always('oops', { status: 500 })))]
      const error = await errorOf(clientOf([first.url, second.url], quick).call('eth_getBalance', address))
      expect(error).toMatchObject({ name: 'CodecError', endpoint: `127.0.0.1:${first.port}` })
    })

    test('no other is asked by a pinned client, or for what is no read', async () => {
      const [first, second] = [await serve(giving({})), await serve(giving('0x10'))]
      const client = clientOf([first.url, second.url], quick)
      expect(await errorOf(client.pinned().call('eth_getBalance', address))).toMatchObject({ name: 'CodecError' })
      expect(await errorOf(client.call('eth_newBlockFilter'))).toMatchObject({ name: 'CodecError' })
      expect(['eth_getBalance', 'eth_newBlockFilter'].map((method) => asked(second, method))).toEqual([0, 0])
    })

    test('the signal ends the call at the other one, too', async () => {
      const [first, second] = [await serve(giving({})), await serve(failing(silent))]
      const stop = new AbortController()
      const client = clientOf([first.url, second.url], quick)
      const called = errorOf(client.with({ signal: stop.signal }).call('eth_getBalance', address))
      await expect.poll(() => asked(second, 'eth_getBalance')).toBe(1)
      stop.abort('enough')
      expect(await called).toBe('enough')
    })
  })

  test('of one host have different names', async () => {
    const server = await serve((request, response) => (request.path === '/a' ? cut : each(right))(request, response))
    expect(await read(clientOf([`${server.url}/a`, `${server.url}/b`], quick), 1)).toEqual(answerTo([1]))
    expect(reads(server).map(({ path }) => path)).toEqual(['/a', '/b'])
  })

  test('of one host are numbered, however many there are', async () => {
    const broken = failing(always('Bad Gateway', { status: 502 }))
    const server = await serve((request, response) => (request.path === '/c' ? honest : broken)(request, response))
    const urls = ['a', 'b', 'c'].map((path) => `${server.url}/${path}`) as [string, string, string]
    expect(await read(clientOf(urls, quick), 1)).toEqual(answerTo([1]))
    expect(reads(server).map(({ path }) => path)).toEqual(['/a', '/b', '/c'])

    server.script(broken)
    const host = `127.0.0.1:${server.port}`
    const names = [1, 2, 3].map(async (attempts) => (await errorOf(read(clientOf(urls, { retry: { attempts, baseDelayMs: 1 } }), 1))).endpoint)
    expect(await Promise.all(names)).toEqual([host, `${host}#2`, `${host}#3`])
  })

  test('a paused one is skipped while another is idle', async () => {
    const [first, second] = [await serve(refuse(429, 'Too many requests', { status: 429, headers: { 'retry-after': '30' } })), await serve(honest)]
    const client = clientOf([first.url, second.url], quick)
    for (let i = 0; i < 3; i++) expect(await read(client, i)).toEqual(answerTo([i]))
    expect([first, second].map((server) => reads(server).length)).toEqual([1, 3])
  })

  test('have their own headers', async () => {
    const [first, second] = [await serve(cut), await serve(honest)]
    await read(
      clientOf(
        [
          { url: first.url, headers: { 'x-key': 'first' } },
          { url: second.url, headers: { 'x-key': 'second' } },
        ],
        quick,
      ),
      1,
    )
    expect([first, second].map(({ requests }) => requests[0]?.headers['x-key'])).toEqual(['first', 'second'])
  })

  test('are all closed', async () => {
    const [first, second] = [await serve(cut), await serve(silent)]
    const client = clientOf([first.url, second.url], quick)
    const error = errorOf(read(client, 1))
    const { hungUp } = await second.received(1)
    await client.close()
    expect(await error).toMatchObject({ name: 'ClosedError' })
    await hungUp
  })
})
