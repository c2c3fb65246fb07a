import { hexline } from 'hexline/viem'
import { createPublicClient, encodeFunctionResult, fallback, keccak256, multicall3Abi, parseAbi, toHex } from 'viem'
import { mainnet } from 'viem/chains'
import { describe, expect, onTestFinished, test } from 'vitest'
import { holdTime } from '../../support/held-time.ts'
import {
  type Answer,
  always,
  answerTo,
  cut,
  each,
  errorOf,
  failed,
  gate,
  honest,
  type Received,
  refuse,
  right,
  serve,
  silent,
  type TestServer,
} from '../../support/server.ts'
import { account, clientOver, closing, overHexline, overHttp, readOver, request } from '../../support/viem-clients.ts'

const broken = always('Internal Server Error', { status: 500, headers: { 'content-type': 'text/plain' } })
const throttled = (headers: Record<string, string> = {}): Answer => always('slow down', { status: 429, headers: { 'content-type': 'text/plain', ...headers } })
const readWith = (retryCount: number) => (client: { request: unknown }) => readOver(client, 1, { retryCount })
const methodsAt = ({ requests }: TestServer) => requests.flatMap(({ entries }) => entries.map(({ method }) => method))
const answered = answerTo([1, 'latest'])

describe('a read over the default client', () => {
  test('that fails once is sent twice', async () => {
    const server = await serve(broken, honest)
    const client = createPublicClient({ transport: closing(hexline(server.url)) })
    expect(await readOver(client, 1)).toEqual(answered)
    expect(server.requests).toHaveLength(2)
  })

  test('that keeps failing is sent four times, by viem’s default retryCount of 3', async () => {
    const server = await serve(broken)
    const client = createPublicClient({ transport: closing(hexline(server.url)) })
    expect(await errorOf(readOver(client))).toMatchObject({ name: 'HttpRequestError', status: 500 })
    expect(server.requests).toHaveLength(4)
  })
})

describe('a read', () => {
  test.each<[string, Answer]>([
    ['HTTP 500', broken],
    ['HTTP 502 with a page', always('<html>', { status: 502 })],
    ['a connection that is cut', cut],
    ['a page instead of JSON', always('<html>')],
    ['an internal error', refuse(-32603, 'Internal error')],
    ['a node that lags', refuse(-32000, 'header not found')],
  ])('is sent four times in all after %s', async (_, answer) => {
    const server = await serve(answer)
    await errorOf(readOver(overHexline(server.url)))
    expect(server.requests).toHaveLength(4)
  })

  test.each<[string, Answer]>([
    ['a revert', refuse(3, 'execution reverted', { status: 200 })],
    ['invalid params', refuse(-32602, 'invalid argument')],
    ['an unknown method', refuse(-32601, 'Method not found')],
    ['HTTP 401', always('no', { status: 401 })],
    ['HTTP 403', always('no', { status: 403 })],
  ])('is sent once after %s, which a retry would not change', async (_, answer) => {
    const server = await serve(answer)
    await errorOf(readOver(overHexline(server.url)))
    expect(server.requests).toHaveLength(1)
  })

  test.each<[string, unknown]>([
    ['no code', { message: 'no reason given' }],
    ['text for a code', { code: 'UPSTREAM_DOWN', message: 'no reason given' }],
    ['null for a code', { code: null, message: 'no reason given' }],
    ['the code of an unknown error', { code: -1, message: 'no reason given' }],
    ['an unknown code', { code: -32050, message: 'no reason given' }],
    ['a code that means nothing', { code: 0, message: 'no reason given' }],
  ])('that gets an error with %s is sent as often as by http()', async (_, error) => {
    const hits = async (client: (url: string) => { request: unknown }) => {
      const server = await serve(each(({ id }) => ({ id, error })))
      await errorOf(readOver(client(server.url)))
      return server.requests.length
    }
    expect(await hits(overHexline)).toBe(await hits(overHttp))
  })

  test('is sent as many times as the transport sets, unless the call sets it', async () => {
    const server = await serve(broken)
    const hits = async (config: { retryCount?: number }, ask: (client: { request: unknown }) => Promise<unknown>) => {
      const before = server.requests.length
      await errorOf(ask(overHexline(server.url, config)))
      return server.requests.length - before
    }
    expect(await hits({ retryCount: 0 }, readOver)).toBe(1)
    expect(await hits({ retryCount: 1 }, readOver)).toBe(2)
    expect(await hits({}, readWith(0))).toBe(1)
    expect(await hits({}, readWith(1))).toBe(2)
    expect(await hits({ retryCount: 0 }, readWith(5))).toBe(6)
  })

  test('of another namespace is retried, too', async () => {
    for (const method of ['debug_traceTransaction', 'zks_getBlockDetails', 'trace_block', 'arbtrace_call']) {
      const server = await serve(broken, cut, honest)
      expect(await request(overHexline(server.url), method, [1])).toEqual(answerTo([1]))
      expect(server.requests).toHaveLength(3)
    }
  })

  test('that joins others into one multicall is one call, also in retries', async () => {
    const abi = parseAbi(['function number() view returns (uint256)'])
    const returnData = [1n, 2n, 3n].map((n) => ({ success: true, returnData: toHex(n, { size: 32 }) }))
    const result = encodeFunctionResult({ abi: multicall3Abi, functionName: 'aggregate3', result: returnData })
    const server = await serve(
      broken,
      each(({ id }) => ({ id, result })),
    )
    const client = createPublicClient({ chain: mainnet, transport: closing(hexline(server.url, { retryDelay: 2 })), batch: { multicall: true } })
    const addresses = ['0x00000000000000000000000000000000000c0001', '0x00000000000000000000000000000000000c0002', account.address] as const
    expect(await Promise.all(addresses.map((address) => client.readContract({ abi, address, functionName: 'number' })))).toEqual([1n, 2n, 3n])
    expect(methodsAt(server)).toEqual(['eth_call', 'eth_call'])
  })
})

describe('a call that must not run twice', () => {
  const failures: [string, Answer][] = [
    ['HTTP 500', broken],
    ['a connection that is cut', cut],
    ['a page instead of JSON', always('<html>')],
  ]

  test.each(failures)('is sent once, whatever its retryCount, and since %s leaves open whether it ran', async (_, answer) => {
    for (const method of ['eth_sendTransaction', 'anvil_mine', 'evm_increaseTime', 'zks_doSomething', 'somethingNew']) {
      const server = await serve(answer)
      await errorOf(request(overHexline(server.url), method, [], { retryCount: 3 }))
      expect(methodsAt(server)).toEqual([method])
    }
  })

  test('goes to one of two endpoints, even if that one throttles: a user operation, a transaction, a wallet method', async () => {
    for (const method of ['eth_sendUserOperation', 'eth_sendTransaction', 'wallet_sendCalls', 'somethingNew']) {
      const [first, second] = [await serve(honest, throttled({ 'retry-after': '0' }), honest), await serve(honest)]
      const client = overHexline([first.url, second.url])
      await readOver(client)
      const before = methodsAt(second).length
      await request(client, method, [])
      expect(methodsAt(first).slice(-2)).toEqual([method, method])
      expect(methodsAt(second)).toHaveLength(before)
    }
  })

  test('as an action of viem’s is sent once', async () => {
    const server = await serve(broken)
    const client = overHexline(server.url)
    await errorOf(client.sendTransaction({ account: account.address, chain: null, to: account.address }))
    await errorOf(client.mine({ blocks: 1 }))
    expect(methodsAt(server)).toEqual(['eth_sendTransaction', 'anvil_mine'])
  })

  describe('because it is signed, and viem asks for no retries,', () => {
    const sign = () => account.signTransaction({ chainId: 31_337, to: account.address, gas: 21_000n, gasPrice: 1n, nonce: 0 })
    const lookUp = (found: (params: readonly unknown[]) => unknown): Answer => each(({ id, params }) => ({ id, result: found(params) }))

    test.each(failures)('is looked up after %s, and resolves to its hash if the node has it', async (_, answer) => {
      const serializedTransaction = await sign()
      const server = await serve(
        answer,
        lookUp(([hash]) => ({ hash })),
      )
      expect(await overHexline(server.url).sendRawTransaction({ serializedTransaction })).toBe(keccak256(serializedTransaction))
      expect(methodsAt(server)).toEqual(['eth_sendRawTransaction', 'eth_getTransactionByHash'])
      expect(server.requests[1]?.entries[0]?.params).toEqual([keccak256(serializedTransaction)])
    })

    test.each(failures)('fails after %s if the node does not have it, and is never sent again', async (_, answer) => {
      const server = await serve(
        answer,
        lookUp(() => null),
      )
      expect(await errorOf(overHexline(server.url).sendRawTransaction({ serializedTransaction: await sign() }))).toMatchObject({ name: 'HttpRequestError' })
      expect(methodsAt(server)).toEqual(['eth_sendRawTransaction', 'eth_getTransactionByHash'])
    })

    test('fails at once if the node refused it', async () => {
      const server = await serve(refuse(-32000, 'nonce too low'))
      await errorOf(overHexline(server.url).sendRawTransaction({ serializedTransaction: await sign() }))
      expect(methodsAt(server)).toEqual(['eth_sendRawTransaction'])
    })

    test('waits while the node throttles, and is sent again, since it has not run', async () => {
      const serializedTransaction = await sign()
      const hash = keccak256(serializedTransaction)
      const accept: Answer = each(({ id }) => ({ id, result: hash }))
      const server = await serve(throttled({ 'retry-after': '0' }), throttled({ 'retry-after': '0' }), accept)
      expect(await overHexline(server.url).sendRawTransaction({ serializedTransaction })).toBe(hash)
      expect(methodsAt(server)).toEqual(Array(3).fill('eth_sendRawTransaction'))
    })

    test('fails at once under fallback, which tries the next transport', async () => {
      const server = await serve(throttled())
      const transport = hexline(server.url)
      const { request: send } = transport({ retryCount: 0 })
      await errorOf(send({ method: 'eth_sendRawTransaction', params: [await sign()] } as never, { retryCount: 0 }))
      expect(methodsAt(server)).toEqual(['eth_sendRawTransaction'])
    })
  })
})

describe('under fallback', () => {
  async function pair(a: [Answer, ...Answer[]], b: [Answer, ...Answer[]], ofA: { retryCount?: number } = {}) {
    const servers = [await serve(...a), await serve(...b)] as const
    const members = [closing(hexline(servers[0].url, { retryDelay: 2, ...ofA })), closing(hexline(servers[1].url, { retryDelay: 2 }))] as const
    return { client: clientOver(fallback(members, { retryDelay: 2 })), hits: () => servers.map(({ requests }) => requests.length) }
  }

  test('a failing node is called once, and then the next one', async () => {
    const { client, hits } = await pair([broken, honest], [honest])
    expect(await readOver(client, 1)).toEqual(answered)
    expect(hits()).toEqual([1, 1])
  })

  test('failing nodes are called once in each of fallback’s four rounds: 8 requests in all, since retries do not multiply', async () => {
    const { client, hits } = await pair([broken], [broken])
    expect(await errorOf(readOver(client))).toMatchObject({ name: 'HttpRequestError', status: 500 })
    expect(hits()).toEqual([4, 4])
  })

  test.each<[string, { retryCount?: number }]>([
    ['', {}],
    [', also when its own retryCount is 0', { retryCount: 0 }],
    [', also when its own retryCount is 1', { retryCount: 1 }],
  ])('no call waits for a throttling node%s', async (_, ofA) => {
    for (const answer of [throttled({ 'retry-after': '60' }), refuse(-32005, 'limit exceeded', { status: 429, headers: { 'retry-after': '60' } })]) {
      const { client, hits } = await pair([answer, honest], [honest], ofA)
      // A call that waited would outlast the test.
      for (let i = 1; i <= 5; i++) expect(await readOver(client, i)).toEqual(answerTo([i, 'latest']))
      expect(hits()).toEqual([1, 5])
    }
  })

  test('throttling nodes are called again after the Retry-After of the last one', async () => {
    const headers = { date: 'Sun, 06 Nov 1994 08:49:37 GMT', 'retry-after': 'Sun, 06 Nov 1994 08:49:38 GMT' }
    const { client, hits } = await pair([throttled(headers), honest], [throttled(headers), honest])
    const started = performance.now()
    expect(await readOver(client, 1)).toEqual(answered)
    expect(performance.now() - started).toBeGreaterThanOrEqual(999)
    expect(hits()[1]).toBe(1)
  })

  test('a node with its own retryCount gets that many retries before the next one is called, as with http()', async () => {
    const { client, hits } = await pair([broken], [honest], { retryCount: 2 })
    expect(await readOver(client, 1)).toEqual(answered)
    expect(hits()).toEqual([3, 1])
  })

  test('a revert is final', async () => {
    const { client, hits } = await pair([refuse(3, 'execution reverted')], [honest])
    await errorOf(client.call({ to: account.address }))
    expect(hits()).toEqual([1, 0])
  })
})

describe('being throttled', () => {
  const waits = (requests: readonly Received[]) => requests.slice(1).map(({ at }, i) => at - (requests[i] as Received).at)

  test('the default client obeys Retry-After, in seconds or as a date', async () => {
    const date = 'Sun, 06 Nov 1994 08:49:37 GMT'
    const ways: Record<string, string>[] = [{ 'retry-after': '1' }, { date, 'retry-after': 'Sun, 06 Nov 1994 08:49:38 GMT' }]
    await Promise.all(
      ways.map(async (headers) => {
        const server = await serve(throttled(headers), honest)
        const client = createPublicClient({ transport: closing(hexline(server.url)) })
        expect(await readOver(client, 1)).toEqual(answered)
        expect(server.requests).toHaveLength(2)
        expect(waits(server.requests)[0]).toBeGreaterThanOrEqual(999)
      }),
    )
  })

  test('does not count as an attempt', async () => {
    const server = await serve(throttled(), ...Array.from({ length: 7 }, () => throttled()), broken, honest)
    expect(await readOver(overHexline(server.url, { retryCount: 1 }), 1)).toEqual(answered)
    expect(server.requests).toHaveLength(10)
  })

  test('is final without retries', async () => {
    const server = await serve(throttled(), honest)
    expect(await errorOf(readOver(overHexline(server.url, { retryCount: 0 })))).toMatchObject({ name: 'HttpRequestError', status: 429 })
    expect(server.requests).toHaveLength(1)
  })

  test('lets a call that must not run twice be sent again: the node did not start it', async () => {
    const server = await serve(throttled(), honest)
    expect(await request(overHexline(server.url), 'anvil_mine', [1])).toEqual(answerTo([1]))
    expect(methodsAt(server)).toEqual(['anvil_mine', 'anvil_mine'])
  })
})

test('waitForTransactionReceipt survives a failed poll', async () => {
  const hash = keccak256('0x01')
  const transaction = { hash, blockNumber: null, from: account.address, to: account.address, nonce: '0x0', value: '0x0', input: '0x', type: '0x0' }
  const receipts: ((entry: { id: number }) => object)[] = [
    ({ id }) => ({ id, result: null }),
    (entry) => failed(entry, -32603, 'Internal error'),
    ({ id }) => ({ id, result: { transactionHash: hash, blockNumber: '0x2', status: '0x1', type: '0x0', logs: [] } }),
  ]
  let asked = 0
  const server = await serve(
    each((entry) => {
      if (entry.method === 'eth_getTransactionReceipt') return receipts[asked++]?.(entry)
      return { id: entry.id, result: entry.method === 'eth_blockNumber' ? '0x2' : transaction }
    }),
  )
  expect(await overHexline(server.url).waitForTransactionReceipt({ hash })).toMatchObject({ status: 'success', blockNumber: 2n })
  expect(asked).toBe(3)
})

describe('calls of one turn', () => {
  const lengths = (server: TestServer) => server.requests.map(({ entries }) => entries.length)
  const fiveOver = (client: { request: unknown }) => Promise.all([1, 2, 3, 4, 5].map((i) => readOver(client, i)))
  const fiveAnswers = [1, 2, 3, 4, 5].map((i) => answerTo([i, 'latest']))

  test.each<[string, Parameters<typeof overHexline>[1], number[]]>([
    ['travel in one POST', {}, [5]],
    ['travel in one POST with `batch: true`', { batch: true }, [5]],
    ['travel in a POST each with `batch: false`', { batch: false }, [1, 1, 1, 1, 1]],
    ['travel in batches of two at most with `batchSize: 2`', { batch: { batchSize: 2 } }, [2, 2, 1]],
  ])('%s', async (_, config, expected) => {
    const server = await serve(honest)
    expect(await fiveOver(overHexline(server.url, config))).toEqual(fiveAnswers)
    expect(lengths(server)).toEqual(expected)
    expect(server.requests.map(({ isBatch }) => isBatch)).toEqual(expected.map((length) => length > 1))
  })

  test('are retried separately', async () => {
    let isFirst = true
    const server = await serve(
      each((entry) => {
        if (entry.params[0] !== 3 || !isFirst) return right(entry)
        isFirst = false
        return failed(entry, -32603, 'Internal error')
      }),
    )
    expect(await fiveOver(overHexline(server.url))).toEqual(fiveAnswers)
    expect(lengths(server)).toEqual([5, 1])
  })
})

describe('identical calls that viem dedupes', () => {
  const deduped = (client: { request: unknown }) => readOver(client, 1, { dedupe: true })

  test('are one request while the first is in flight, and two without viem’s dedupe', async () => {
    const { open, answer } = gate()
    const server = await serve(answer)
    const client = overHexline(server.url)
    const first = deduped(client)
    await server.received(1)
    const same = deduped(client)
    const another = readOver(client, 1)
    await server.received(2)
    open()
    expect(await Promise.all([first, same, another])).toEqual([answered, answered, answered])
    expect(server.requests.map(({ entries }) => entries.length)).toEqual([1, 1])
  })

  test('of two transports never mix', async () => {
    const named = (name: string) => each(({ id }) => ({ id, result: name }))
    const [a, b] = [await serve(named('a')), await serve(named('b'))]
    const clients = [overHexline(a.url), overHexline(b.url), overHexline(a.url, { fetchOptions: { headers: { 'x-who': 'another' } } })]
    expect(await Promise.all(clients.map(deduped))).toEqual(['a', 'b', 'a'])
    expect(a.requests.map(({ headers }) => headers['x-who']).sort()).toEqual(['another', undefined])
    expect(b.requests).toHaveLength(1)
  })

  test('of one transport for two chains never mix', async () => {
    const named = (name: string) => each(({ id }) => ({ id, result: name }))
    const transport = hexline()
    const clients = await Promise.all(
      ['a', 'b'].map(async (name) => {
        const { url } = await serve(named(name))
        const client = createPublicClient({ chain: { ...mainnet, rpcUrls: { default: { http: [url] } } }, transport })
        onTestFinished(() => client.transport.client.close())
        return client
      }),
    )
    expect(await Promise.all(clients.map(deduped))).toEqual(['a', 'b'])
  })

  test('end together when the node does not answer', async () => {
    const server = await serve(silent)
    const time = holdTime()
    const client = overHexline(server.url, { timeout: 60, retryCount: 1 })
    const errors = Promise.all([errorOf(deduped(client)), errorOf(deduped(client))])
    await server.received(1)
    await time.pass(60)
    // The delay before the second attempt.
    await time.pass(20)
    await server.received(2)
    await time.pass(60)
    expect((await errors).map(({ name }) => name)).toEqual(['TimeoutError', 'TimeoutError'])
    expect(server.requests).toHaveLength(2)
  })
})
