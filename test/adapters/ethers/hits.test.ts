import { Contract, FallbackProvider, type JsonRpcProvider, JsonRpcSigner, Network, Transaction, Wallet } from 'ethers'
import { HexlineProvider, type HexlineProviderOptions } from 'hexline/ethers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { CHAIN, closing, overHexline } from '../../support/ethers-failures.ts'
import { eventually } from '../../support/eventually.ts'
import { type Answer, always, cut, type Entry, each, errorOf, failed, type Received, refuse, serve, type TestServer } from '../../support/server.ts'
import { holder } from '../../support/viem-failures.ts'

const broken = always('Internal Server Error', { status: 500, headers: { 'content-type': 'text/plain' } })
const throttled = (headers: Record<string, string> = {}): Answer => always('slow down', { status: 429, headers: { 'content-type': 'text/plain', ...headers } })
const page = always('<html>')
const address = (i: number) => `0x${i.toString(16).padStart(40, '0')}`

/** A node's answer to a call. */
const replyTo = ({ id, method }: Entry) => ({ jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x7a69' : '0x64' })
const node = each(replyTo)
/**
 * POSTs with a call of this method get these answers in turn, the last one repeatedly; all other
 * calls are answered correctly.
 */
function failing(method: string, ...answers: [Answer, ...Answer[]]): Answer {
  let asked = 0
  return (request, response) => {
    const isIt = request.entries.some((entry) => entry.method === method)
    const answer = isIt ? (answers[Math.min(asked++, answers.length - 1)] as Answer) : node
    return answer(request, response)
  }
}

const methodsAt = ({ requests }: TestServer) => requests.flatMap(({ entries }) => entries.map(({ method }) => method))
const hitsOf = (method: string, server: TestServer) => methodsAt(server).filter((each) => each === method).length
const read = (provider: JsonRpcProvider, i = 1) => provider.getBalance(address(i))
/** Without a static network, as in most programs, and with the shortest waits. */
const plainOver = (url: string, options: HexlineProviderOptions = {}) =>
  closing(new HexlineProvider(url, undefined, { retry: { baseDelayMs: 1, maxDelayMs: 5 }, cacheTimeout: -1, ...options }))
/** With a static network, so that each call is one request. */
const over = (url: string, options: HexlineProviderOptions = {}) => overHexline(url, { retry: { baseDelayMs: 1, maxDelayMs: 5 }, ...options })

describe('a read over the default provider', () => {
  test('that fails once is sent twice', async () => {
    const server = await serve(broken, node)
    expect(await read(closing(new HexlineProvider(server.url, CHAIN, { staticNetwork: true })))).toBe(100n)
    expect(server.requests).toHaveLength(2)
  })

  test('that keeps failing is sent four times', async () => {
    const server = await serve(broken)
    const provider = closing(new HexlineProvider(server.url, CHAIN, { staticNetwork: true }))
    expect(await errorOf(read(provider))).toMatchObject({ code: 'SERVER_ERROR', cause: { attempts: 4 } })
    expect(server.requests).toHaveLength(4)
  })
})

describe('a read', () => {
  test.each<[string, Answer]>([
    ['HTTP 500', broken],
    ['HTTP 502 with a page', always('<html>', { status: 502 })],
    ['a connection that is cut', cut],
    ['a page instead of JSON', page],
    ['an internal error', refuse(-32603, 'Internal error')],
    ['a node that lags', refuse(-32000, 'header not found')],
  ])('is sent four times in all after %s, and once with `retry: false`', async (_, answer) => {
    const server = await serve(answer)
    await errorOf(read(over(server.url)))
    expect(server.requests).toHaveLength(4)
    await errorOf(read(over(server.url, { retry: false })))
    expect(server.requests).toHaveLength(5)
  })

  test.each<[string, Answer]>([
    ['a revert', refuse(3, 'execution reverted')],
    ['invalid params', refuse(-32602, 'invalid argument')],
    ['an unknown method', refuse(-32601, 'Method not found')],
    ['HTTP 401', always('no', { status: 401 })],
    ['HTTP 403', always('no', { status: 403 })],
    ['HTTP 404', always('no', { status: 404 })],
  ])('is sent once after %s, which a retry would not change', async (_, answer) => {
    const server = await serve(answer)
    await errorOf(read(over(server.url)))
    expect(server.requests).toHaveLength(1)
  })

  test('is retried as often as it has failed, and so is the eth_chainId beside it', async () => {
    const failures = new Map([
      ['eth_chainId', 1],
      ['eth_getBalance', 2],
    ])
    const server = await serve(
      each((entry) => {
        const left = failures.get(entry.method) ?? 0
        failures.set(entry.method, left - 1)
        return left > 0 ? failed(entry, -32603, 'Internal error') : replyTo(entry)
      }),
    )
    expect(await read(plainOver(server.url))).toBe(100n)
    expect([hitsOf('eth_chainId', server), hitsOf('eth_getBalance', server)]).toEqual([2, 3])
  })

  test('is retried alone if its entry of a batch fails', async () => {
    let isFirst = true
    const server = await serve(
      each((entry) => {
        if (entry.params[0] !== address(3) || !isFirst) return replyTo(entry)
        isFirst = false
        return failed(entry, -32603, 'Internal error')
      }),
    )
    const provider = over(server.url)
    expect(await Promise.all([1, 2, 3, 4].map((i) => read(provider, i)))).toEqual([100n, 100n, 100n, 100n])
    expect(server.requests.map(({ entries }) => entries.map(({ params }) => params[0]))).toEqual([[1, 2, 3, 4].map(address), [address(3)]])
  })
})

describe('a call that must not run twice', () => {
  const failures: [string, Answer][] = [
    ['HTTP 500', broken],
    ['a connection that is cut', cut],
    ['a page instead of JSON', page],
    ['an internal error', refuse(-32603, 'Internal error')],
  ]

  test.each(failures)('is sent once, since %s leaves open whether it ran', async (_, answer) => {
    for (const method of ['eth_sendTransaction', 'anvil_mine', 'evm_increaseTime', 'personal_sign', 'somethingNew']) {
      const server = await serve(answer)
      await errorOf(over(server.url).send(method, []))
      expect(methodsAt(server)).toEqual([method])
    }
  })

  test.each(failures)('from a signer of the node is sent once after %s', async (_, answer) => {
    const server = await serve(failing('eth_sendTransaction', answer, node))
    const signer = new JsonRpcSigner(over(server.url), holder)
    await errorOf(signer.sendTransaction({ to: address(1), gasLimit: 21_000n }))
    expect(hitsOf('eth_sendTransaction', server)).toBe(1)
  })

  test('is sent again after throttling, since the node did not start it', async () => {
    const server = await serve(throttled(), node)
    expect(await over(server.url).send('anvil_mine', [])).toBe('0x64')
    expect(methodsAt(server)).toEqual(['anvil_mine', 'anvil_mine'])
  })

  describe('because it is signed,', () => {
    const wallet = new Wallet('0x1111111111111111111111111111111111111111111111111111111111111111')
    const sign = () => wallet.signTransaction({ chainId: CHAIN, to: holder, gasLimit: 21_000n, gasPrice: 1n, nonce: 0, type: 0 })
    test.each(failures)('is looked up after %s, and is there', async (_, answer) => {
      const raw = await sign()
      const { hash } = Transaction.from(raw)
      const server = await serve(withTransaction(true, answer, hash))
      expect(await over(server.url).broadcastTransaction(raw)).toMatchObject({ hash })
      expect(hitsOf('eth_sendRawTransaction', server)).toBe(1)
      expect(hitsOf('eth_getTransactionByHash', server)).toBe(1)
      expect(server.requests.flatMap(({ entries }) => entries).find(({ method }) => method === 'eth_getTransactionByHash')?.params).toEqual([hash])
    })

    test.each(failures)('is sent again after %s only if a look-up does not find it', async (_, answer) => {
      const raw = await sign()
      const { hash } = Transaction.from(raw)
      const server = await serve(withTransaction(false, answer, hash))
      expect(await over(server.url).broadcastTransaction(raw)).toMatchObject({ hash })
      const about = methodsAt(server).filter((method) => /sendRaw|ByHash/.test(method))
      expect(about).toEqual(['eth_sendRawTransaction', 'eth_getTransactionByHash', 'eth_sendRawTransaction'])
    })

    test('is not looked up if the node refused it', async () => {
      const server = await serve(failing('eth_sendRawTransaction', refuse(-32000, 'nonce too low')))
      expect(await errorOf(over(server.url).broadcastTransaction(await sign()))).toMatchObject({ code: 'NONCE_EXPIRED' })
      expect(methodsAt(server).filter((method) => /sendRaw|ByHash/.test(method))).toEqual(['eth_sendRawTransaction'])
    })

    test('is looked up, and not sent again, with `retry: false`', async () => {
      const raw = await sign()
      const server = await serve(withTransaction(false, cut, Transaction.from(raw).hash))
      expect(await errorOf(over(server.url, { retry: false }).broadcastTransaction(raw))).toMatchObject({ code: 'NETWORK_ERROR' })
      expect(methodsAt(server).filter((method) => /sendRaw|ByHash/.test(method))).toEqual(['eth_sendRawTransaction', 'eth_getTransactionByHash'])
    })
  })
})

/** A node to which a transaction is sent with this failure at first. */
function withTransaction(isKnown: boolean, answer: Answer, hash: string | null): Answer {
  const entryOf = (entry: Entry) => {
    if (entry.method === 'eth_sendRawTransaction') return { id: entry.id, result: hash }
    return entry.method === 'eth_getTransactionByHash' ? { id: entry.id, result: isKnown ? { hash } : null } : replyTo(entry)
  }
  let sent = 0
  return (request, response) => {
    const isSent = request.entries.some(({ method }) => method === 'eth_sendRawTransaction')
    return (isSent && sent++ === 0 ? answer : each(entryOf))(request, response)
  }
}

describe('being throttled', () => {
  test('the default provider obeys Retry-After, in seconds or as a date', async () => {
    const date = 'Sun, 06 Nov 1994 08:49:37 GMT'
    const ways: Record<string, string>[] = [{ 'retry-after': '1' }, { date, 'retry-after': 'Sun, 06 Nov 1994 08:49:38 GMT' }]
    await Promise.all(
      ways.map(async (headers) => {
        // eth_chainId and the read share a POST or, on a busy machine, go one after the other.
        const since = ({ at }: Received) => at - (server.requests[0] as Received).at
        const server: TestServer = await serve((request, response) => (since(request) < 500 ? throttled(headers) : node)(request, response))
        expect(await read(closing(new HexlineProvider(server.url)))).toBe(100n)
        const late = server.requests.map(since).filter((ms) => ms >= 500)
        expect(Math.min(...late)).toBeGreaterThanOrEqual(999)
        expect(server.requests.length - late.length).toBeLessThanOrEqual(2)
      }),
    )
  })

  test('does not count as an attempt', async () => {
    const server = await serve(throttled(), ...Array.from({ length: 7 }, () => throttled()), broken, node)
    expect(await read(over(server.url, { retry: { attempts: 2, baseDelayMs: 1, maxDelayMs: 5 } }))).toBe(100n)
    expect(server.requests).toHaveLength(10)
  })

  test('by a JSON-RPC error is the same', async () => {
    const server = await serve(refuse(-32005, 'limit exceeded'), refuse(-32005, 'limit exceeded', { status: 429 }), node)
    expect(await read(over(server.url, { retry: { attempts: 2, baseDelayMs: 1, maxDelayMs: 5 } }))).toBe(100n)
    expect(server.requests).toHaveLength(3)
  })

  test('is final with `retry: false`', async () => {
    const server = await serve(throttled(), node)
    expect(await errorOf(read(over(server.url, { retry: false })))).toMatchObject({ code: 'SERVER_ERROR', cause: { status: 429 } })
    expect(server.requests).toHaveLength(1)
  })
})

describe('calls of one turn', () => {
  test('go in one POST, with one eth_chainId', async () => {
    const server = await serve(node)
    const provider = plainOver(server.url)
    await Promise.all([read(provider, 1), read(provider, 2), provider.getBlockNumber(), provider.getTransactionCount(holder), provider.getStorage(holder, 1)])
    expect(server.requests).toHaveLength(1)
    expect(hitsOf('eth_chainId', server)).toBe(1)
    expect(methodsAt(server)).toHaveLength(6)
  })

  test('that are identical are one entry, and those that write are not', async () => {
    const server = await serve(node)
    const provider = over(server.url)
    await Promise.all([read(provider), read(provider), provider.send('eth_getBalance', [address(1), 'latest'])])
    expect(methodsAt(server)).toEqual(['eth_getBalance'])
    await Promise.all([provider.send('anvil_mine', []), provider.send('anvil_mine', [])])
    expect(hitsOf('anvil_mine', server)).toBe(2)
  })
})

describe('eth_chainId', () => {
  const callsOf = async (provider: JsonRpcProvider) => {
    for (let i = 1; i <= 3; i++) await read(provider, i)
    await provider.getNetwork()
    await provider.getCode(holder)
  }

  test.each<[string, (url: string) => Promise<HexlineProvider> | HexlineProvider, number, number]>([
    ['is requested once after connect', async (url) => closing(await HexlineProvider.connect(url, { cacheTimeout: -1 })), 1, 5],
    ['is requested once, with the first call, with `staticNetwork: true`', (url) => plainOver(url, { staticNetwork: true }), 1, 4],
    ['is never requested when the network is given', (url) => plainOver(url, { staticNetwork: Network.from(CHAIN) }), 0, 4],
  ])('%s', async (_, make, expected, posts) => {
    const server = await serve(node)
    await callsOf(await make(server.url))
    expect(hitsOf('eth_chainId', server)).toBe(expected)
    expect(server.requests).toHaveLength(posts)
  })

  test('requested by connect is retried like any read', async () => {
    const server = await serve(broken, node)
    closing(await HexlineProvider.connect(server.url, { retry: { baseDelayMs: 1 } }))
    expect(methodsAt(server)).toEqual(['eth_chainId', 'eth_chainId'])
  })
})

describe('a Contract', () => {
  const word = `0x${'0'.repeat(62)}64`
  const answering = each((entry) => (entry.method === 'eth_call' ? { id: entry.id, result: word } : replyTo(entry)))
  const contractOver = (provider: HexlineProvider, i = 1) =>
    new Contract(address(i), ['function a() view returns (uint256)', 'function b(uint256) view returns (uint256)'], provider)
  const call = (contract: Contract, name: string, ...args: unknown[]) => contract.getFunction(name)(...args)

  test('makes one POST for functions called in one turn', async () => {
    const server = await serve(answering)
    const provider = closing(await HexlineProvider.connect(server.url))
    const [one, two] = [contractOver(provider, 1), contractOver(provider, 2)]
    expect(await Promise.all([call(one, 'a'), call(one, 'b', 1n), call(one, 'b', 2n), call(two, 'a')])).toEqual([100n, 100n, 100n, 100n])
    expect(methodsAt(server)).toEqual(['eth_chainId', 'eth_call', 'eth_call', 'eth_call', 'eth_call'])
    expect(server.requests).toHaveLength(2)
  })

  test('is called twice if the node fails once, and once if it reverts', async () => {
    const server = await serve(broken, answering)
    expect(await call(contractOver(over(server.url)), 'a')).toBe(100n)
    expect(methodsAt(server)).toEqual(['eth_call', 'eth_call'])
    server.script(refuse(3, 'execution reverted'))
    expect(await errorOf(call(contractOver(over(server.url)), 'a'))).toMatchObject({ code: 'CALL_EXCEPTION' })
    expect(server.requests).toHaveLength(3)
  })
})

describe('under FallbackProvider', () => {
  /**
   * Three providers with a quorum of two. ethers calls the third after `stallTimeout`, however
   * early one of the others fails.
   */
  async function three(answers: readonly Answer[], options: HexlineProviderOptions = {}, stallTimeout = 30_000) {
    const servers = await Promise.all(answers.map((answer) => serve(failing('eth_getBalance', answer))))
    const configs = servers.map(({ url }, i) => ({ provider: over(url, options), priority: i + 1, stallTimeout, weight: 1 }))
    const provider = new FallbackProvider(configs, CHAIN, { quorum: 2, cacheTimeout: -1 })
    onTestFinished(() => provider.destroy())
    return { balance: () => provider.getBalance(holder), hits: () => servers.map((server) => hitsOf('eth_getBalance', server)) }
  }

  test('providers that agree are called once each', async () => {
    const { balance, hits } = await three([node, node, node])
    expect(await balance()).toBe(100n)
    expect(hits()).toEqual([1, 1, 0])
  })

  test.each<[string, Answer, HexlineProviderOptions, number]>([
    ['fails is called four times', broken, {}, 4],
    ['fails is called once with `retry: false`', cut, { retry: false }, 1],
    ['throttles is not waited for with `retry: false`', throttled({ 'retry-after': '3600' }), { retry: false }, 1],
  ])('a provider that %s, and the third one answers in its place', async (_, answer, options, expected) => {
    const { balance, hits } = await three([answer, node, node], options, 50)
    expect(await balance()).toBe(100n)
    // The other two may agree before it has failed for good.
    await eventually(() => expect(hits()).toEqual([expected, 1, 1]))
  })

  test('an error on which providers agree is final', async () => {
    const { balance, hits } = await three([refuse(-32602, 'invalid argument'), refuse(-32602, 'invalid argument'), node])
    expect(await errorOf(balance())).toMatchObject({ code: 'UNKNOWN_ERROR', error: { code: -32602 } })
    expect(hits()).toEqual([1, 1, 0])
  })

  test('a transaction is sent to each provider once, and looked up if that fails', async () => {
    const wallet = new Wallet('0x1111111111111111111111111111111111111111111111111111111111111111')
    const raw = await wallet.signTransaction({ chainId: CHAIN, to: holder, gasLimit: 21_000n, gasPrice: 1n, nonce: 0, type: 0 })
    const { hash } = Transaction.from(raw)
    const servers = [await serve(withTransaction(true, cut, hash)), await serve(withTransaction(true, cut, hash))]
    const provider = new FallbackProvider(
      servers.map(({ url }) => over(url)),
      CHAIN,
      { quorum: 1 },
    )
    onTestFinished(() => provider.destroy())
    expect(await provider.broadcastTransaction(raw)).toMatchObject({ hash })
    // The first answer is enough for ethers; the other provider continues.
    await eventually(() => expect(servers.map((server) => hitsOf('eth_getTransactionByHash', server))).toEqual([1, 1]))
    expect(servers.map((server) => hitsOf('eth_sendRawTransaction', server))).toEqual([1, 1])
  })
})
