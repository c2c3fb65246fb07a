import { Agent } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { inspect } from 'node:util'
import { FetchRequest, isError, JsonRpcProvider, Network } from 'ethers'
import { createClient, OptionError } from 'hexline'
import { HexlineProvider, type HexlineProviderOptions } from 'hexline/ethers'
import { Agent as Dispatcher } from 'undici'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { liveChain } from '../../support/live-chain.ts'
import { calls } from '../../support/node.ts'
import { type Answer, always, cut, deadPort, type Entry, each, errorOf, gate, honest, type Received, refuse, serve, silent } from '../../support/server.ts'

type Target = ConstructorParameters<typeof HexlineProvider>[0]

/** Answers as a node of chain 1, with `0x64` for every amount. */
const node: Answer = each(({ id, method }: Entry) => ({ jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x1' : '0x64' }))

/** A provider whose retries take no time, and that ends with the test. */
function made(target: Target, options: HexlineProviderOptions = {}, network?: number) {
  const isOwn = typeof (target as { send?: unknown } | undefined)?.send !== 'function'
  const provider = new HexlineProvider(target, network, { ...(isOwn && { retry: { baseDelayMs: 1, maxDelayMs: 5 } }), ...options })
  onTestFinished(() => provider.destroy())
  return provider
}

const methodsOf = ({ requests }: { requests: readonly Received[] }) => requests.flatMap(({ entries }) => entries.map(({ method }) => method))
const address = (i: number) => `0x${i.toString(16).padStart(40, '0')}`

describe('where it sends', () => {
  it('to a URL, to which nothing is sent before the first call', async () => {
    const server = await serve(node)
    const provider = made(server.url)
    expect(server.opened).toBe(0)
    expect(await provider.getBalance(address(1))).toBe(100n)
    expect(provider).toBeInstanceOf(JsonRpcProvider)
  })

  it('to the node on this machine by default', () => {
    expect(made(undefined).client.endpoints).toEqual(['http://localhost:8545'])
    expect(made(null).client.endpoints).toEqual(['http://localhost:8545'])
  })

  it('to a node of the service, by chain and key', async () => {
    const server = await serve(node)
    await made({ baseUrl: server.url, chain: 'base', apiKey: 'k1' }).send('eth_gasPrice', [])
    expect(server.requests.map(({ path }) => path)).toEqual(['/base/k1'])
  })

  it('to the next of several if one fails', async () => {
    const [first, second] = [await serve(always('', { status: 500 })), await serve(node)]
    expect(await made([first.url, second.url]).send('eth_gasPrice', [])).toBe('0x64')
    expect([first, second].map((server) => calls(server))).toEqual([['eth_gasPrice'], ['eth_gasPrice']])
  })

  it('over a WebSocket, where nothing is answered from a cache unless asked for', async () => {
    const { server, calls: asked } = await liveChain()
    for (const cacheTimeout of [undefined, 250]) {
      const provider = await HexlineProvider.connect(server.url, cacheTimeout === undefined ? {} : { cacheTimeout })
      onTestFinished(() => provider.destroy())
      const before = asked.length
      for (let i = 0; i < 2; i++) await provider.getBlockNumber()
      expect(asked.slice(before)).toHaveLength(cacheTimeout === undefined ? 2 : 1)
    }
  })

  it("by ethers' FetchRequest: URL, headers, credentials, timeout", async () => {
    const server = await serve(honest, silent)
    const request = new FetchRequest(`${server.url}/path`)
    request.setHeader('X-Key', 'k')
    request.setCredentials('me', 'secret')
    await made(request, { retry: false }).send('eth_gasPrice', [])
    request.timeout = 50
    const provider = made(request, { retry: false })
    expect(await errorOf(provider.send('eth_gasPrice', []))).toMatchObject({ code: 'TIMEOUT' })
    const { path, headers } = server.requests[0] as Received
    expect(path).toBe('/path')
    expect(headers).toMatchObject({ 'x-key': 'k', authorization: `Basic ${btoa('me:secret')}` })
    expect(provider._getConnection().url).toBe(`${server.url}/path`)
  })

  it('not by its functions, which are refused', () => {
    const request = new FetchRequest('http://127.0.0.1:1')
    request.preflightFunc = async (each) => each
    expect(() => new HexlineProvider(request)).toThrow('FetchRequest.preflightFunc: expected undefined (hexline makes its own requests;')
  })

  it('not by its own function, which may go through a proxy', () => {
    const request = new FetchRequest('http://127.0.0.1:1')
    request.getUrlFunc = FetchRequest.createGetUrlFunc({})
    expect(() => new HexlineProvider(request)).toThrow('FetchRequest.getUrlFunc: expected undefined (hexline makes its own requests;')
  })

  describe('not by a function registered for all requests, which may go through a proxy', () => {
    const own = new FetchRequest('http://127.0.0.1:1').getUrlFunc
    const register = () => {
      FetchRequest.registerGetUrl(FetchRequest.createGetUrlFunc({ agent: new Agent() }))
      onTestFinished(() => FetchRequest.registerGetUrl(own))
    }

    it('it is refused when the provider is made', async () => {
      const server = await serve(node)
      register()
      for (const target of [server.url, new FetchRequest(server.url), undefined])
        expect(() => new HexlineProvider(target)).toThrow('FetchRequest.registerGetUrl: expected undefined (hexline makes its own requests;')
      await expect(HexlineProvider.connect(server.url)).rejects.toThrow('FetchRequest.registerGetUrl')
      expect(server.opened).toBe(0)
    })

    it('it is refused at each call of an existing provider, and nothing is sent', async () => {
      const server = await serve(node)
      const provider = made(server.url, { staticNetwork: Network.from(1) })
      register()
      const calls = [
        provider.send('eth_gasPrice', []),
        provider.getBalance(address(1)),
        provider._send({ id: 1, jsonrpc: '2.0', method: 'eth_gasPrice', params: [] }),
      ]
      for (const call of [...calls, provider.getBlocks(0, 1).next()])
        expect(await errorOf(call)).toMatchObject({ code: 'UNSUPPORTED_OPERATION', operation: 'FetchRequest.registerGetUrl' })
      expect(server.opened).toBe(0)
    })

    it('it has no effect if the caller has chosen how to send', async () => {
      const server = await serve(node)
      const dispatcher = new Dispatcher()
      const client = createClient(server.url)
      onTestFinished(async () => void (await Promise.all([dispatcher.close(), client.close()])))
      register()
      for (const provider of [made(server.url, { dispatcher }), made(client)]) expect(await provider.send('eth_gasPrice', [])).toBe('0x64')
    })
  })

  it('through a shared client, which it does not close', async () => {
    const server = await serve(node)
    const client = createClient(server.url)
    onTestFinished(() => client.close())
    const [one, two] = [made(client), made(client)]
    await Promise.all([one.send('eth_gasPrice', []), two.send('eth_blockNumber', [])])
    expect(server.requests).toHaveLength(1)
    one.destroy()
    expect(await two.send('eth_gasPrice', [])).toBe('0x64')
    expect(await client.call('eth_gasPrice')).toBe(100n)
  })
})

function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  return undefined
}

describe('options', () => {
  it.each<[string, HexlineProviderOptions, number[]]>([
    ['calls of one turn travel together', {}, [5]],
    ['batchMaxCount: 1', { batchMaxCount: 1 }, [1, 1, 1, 1, 1]],
    ['batchMaxCount: 2', { batchMaxCount: 2, batchStallTime: 50 }, [2, 2, 1]],
    ["hexline's own batch goes before", { batchMaxCount: 1, batch: { maxCalls: 3 } }, [3, 2]],
  ])('%s', async (_, options, lengths) => {
    const server = await serve(node)
    const provider = made(server.url, { staticNetwork: Network.from(1), ...options })
    await Promise.all(Array.from({ length: 5 }, (_, i) => provider.getBalance(address(i))))
    expect(server.requests.map(({ entries }) => entries.length)).toEqual(lengths)
  })

  it('batchStallTime: calls within that time share a batch, as in ethers', async () => {
    const [own, other] = [await serve(node), await serve(node)]
    const options = { staticNetwork: Network.from(1), batchStallTime: 100, cacheTimeout: -1 }
    const stock = new JsonRpcProvider(other.url, undefined, options)
    onTestFinished(() => stock.destroy())
    for (const provider of [made(own.url, options), stock]) {
      const first = provider.send('eth_gasPrice', [])
      await turn()
      await turn()
      await Promise.all([first, provider.send('eth_blockNumber', [])])
    }
    expect(own.requests.map(({ entries }) => entries.map(({ method }) => method))).toEqual([['eth_gasPrice', 'eth_blockNumber']])
    expect(other.requests.map(({ entries }) => entries.length)).toEqual([2])
  })

  it('batchStallTime: waiting calls end with the provider', async () => {
    const server = await serve(node)
    const provider = made(server.url, { staticNetwork: Network.from(1), batchStallTime: 600_000 })
    const call = errorOf(provider.send('eth_gasPrice', []))
    await turn()
    provider.destroy()
    expect(await call).toMatchObject({ code: 'UNSUPPORTED_OPERATION', operation: 'eth_gasPrice' })
    expect(server.opened).toBe(0)
  })

  it("of ethers' own are kept", () => {
    const provider = made('http://127.0.0.1:1', { polling: true, pollingInterval: 123, cacheTimeout: -1 })
    expect(provider.pollingInterval).toBe(123)
    expect(provider._getOption('polling')).toBe(true)
    expect(provider._getOption('cacheTimeout')).toBe(-1)
  })

  it.each<[string, Target, object, string]>([
    ['an unknown one', 'http://127.0.0.1:1', { pollInterval: 1 }, 'options: expected only polling, staticNetwork, '],
    ['an invalid client option', 'http://127.0.0.1:1', { concurrency: 0 }, 'concurrency: expected a whole number from 1 to 1000, received 0'],
    ['an invalid URL', 'nonsense', {}, 'endpoint: expected an http, https, ws or wss URL, such as'],
    ['batchMaxSize', 'http://127.0.0.1:1', { batchMaxSize: 1 << 20 }, 'batchMaxSize: expected undefined (a batch that is too large for the node is split'],
    ['an invalid batchStallTime', 'http://127.0.0.1:1', { batchStallTime: -1 }, 'batchStallTime: expected a number of ms from 0 to 2147483647, received -1'],
    [
      'an invalid pollingInterval',
      'http://127.0.0.1:1',
      { pollingInterval: Number.NaN },
      'pollingInterval: expected a number of ms from 0 to 2147483647, received NaN',
    ],
    ['a batch size with a client', createClient('http://127.0.0.1:1'), { batchMaxCount: 1 }, 'batchMaxCount: expected undefined with a client'],
    ['client options with a client', createClient('http://127.0.0.1:1'), { retry: false }, 'retry: expected undefined with a client'],
  ])('%s: refused at once', (_, target, options, message) => {
    expect(() => new HexlineProvider(target, undefined, options as HexlineProviderOptions)).toThrow(message)
  })

  it("fail with ethers' code, and are hexline's OptionError: at once, for blocks, and in connect", async () => {
    const failures = [
      thrownBy(() => new HexlineProvider('http://127.0.0.1:1', 1, { concurrency: 0 })),
      thrownBy(() => new HexlineProvider('nonsense')),
      thrownBy(() => made('http://127.0.0.1:1').getBlocks(0, 1, { maxBytes: 0 })),
      await errorOf(HexlineProvider.connect('http://127.0.0.1:1', { polling: true, pollInterval: 1 } as HexlineProviderOptions)),
    ]
    for (const failure of failures) {
      expect(failure).toBeInstanceOf(OptionError)
      expect(isError(failure, 'INVALID_ARGUMENT')).toBe(true)
    }
    expect(failures[0]).toMatchObject({ argument: 'concurrency', value: '0', shortMessage: 'concurrency: expected a whole number from 1 to 1000, received 0' })
  })
})

describe('the network', () => {
  it('is requested with a call, as in ethers, and in the same POST', async () => {
    const server = await serve(node)
    const provider = made(server.url, { cacheTimeout: -1 })
    await provider.getBalance(address(1))
    await provider.getBalance(address(1))
    expect(methodsOf(server).sort()).toEqual(['eth_chainId', 'eth_chainId', 'eth_getBalance', 'eth_getBalance'])
    expect(server.requests).toHaveLength(2)
    expect(provider._network.chainId).toBe(1n)
  })

  it('is requested once if connect reads it', async () => {
    const server = await serve(node)
    const provider = await HexlineProvider.connect(server.url, { cacheTimeout: -1 })
    onTestFinished(() => provider.destroy())
    expect(provider._network.chainId).toBe(1n)
    await provider.getBalance(address(1))
    await provider.getFeeData().catch(() => {})
    expect(methodsOf(server).filter((method) => method === 'eth_chainId')).toHaveLength(1)
  })

  it('is never requested if it is given and static', async () => {
    const server = await serve(node)
    const provider = made(server.url, { staticNetwork: true }, 1)
    expect((await provider.getNetwork()).chainId).toBe(1n)
    await provider.getBalance(address(1))
    expect(methodsOf(server)).toEqual(['eth_getBalance'])
  })

  it('that differs from the given one is an error', async () => {
    const server = await serve(node)
    expect(await errorOf(made(server.url, {}, 5).getBalance(address(1)))).toMatchObject({ code: 'NETWORK_ERROR', event: 'changed' })
  })

  it('is not known before a call has requested it', async () => {
    expect(() => made('http://127.0.0.1:1')._network).toThrow('network is not available yet')
  })
})

describe('a dead node', () => {
  const lines: unknown[][] = []
  const listen = () => {
    lines.length = 0
    for (const name of ['log', 'warn', 'error'] as const) vi.spyOn(console, name).mockImplementation((...line) => void lines.push(line))
    onTestFinished(() => void vi.restoreAllMocks())
  }

  it('is one clear rejection for each call, and no line on the console', async () => {
    listen()
    const port = await deadPort()
    const provider = made(`http://127.0.0.1:${port}`)
    const calls = [provider.getBlockNumber(), provider.getBalance(address(1)), provider.getNetwork(), provider.send('eth_chainId', [])].map((call) =>
      errorOf(call),
    )
    for (const call of calls) {
      expect(await call).toMatchObject({
        code: 'NETWORK_ERROR',
        shortMessage: expect.stringMatching(/^127\.0\.0\.1:\d+: no connection.*ECONNREFUSED/),
      })
    }
    expect(await errorOf(provider.waitForTransaction(`0x${'1'.repeat(64)}`))).toMatchObject({ code: 'NETWORK_ERROR' })
    expect(lines).toEqual([])
  })

  it('that comes back is used again', async () => {
    listen()
    const server = await serve(cut)
    const provider = made(server.url, { retry: false })
    expect(await errorOf(provider.getBalance(address(1)))).toMatchObject({ code: 'NETWORK_ERROR' })
    expect(await errorOf(provider.getBalance(address(2)))).toMatchObject({ code: 'NETWORK_ERROR' })
    server.script(node)
    // A call that starts now may share the end of the last request for the chain.
    await eventually(async () => expect(await provider.getBalance(address(3))).toBe(100n))
    expect(lines).toEqual([])
  })

  it('is an error of connect, which leaves nothing open', async () => {
    listen()
    const server = await serve(always('no', { status: 500 }))
    expect(await errorOf(HexlineProvider.connect(server.url, { retry: false }))).toMatchObject({ code: 'SERVER_ERROR' })
    await eventually(() => expect(server.sockets.size).toBe(0))
    expect(lines).toEqual([])
  })
})

describe('destroy', () => {
  it('ends the calls in flight and in the queue, and the connections', async () => {
    const server = await serve(silent)
    const provider = made(server.url, { concurrency: 1, staticNetwork: Network.from(1) })
    const first = errorOf(provider.getBalance(address(1)))
    const { hungUp } = await server.received(1)
    const second = errorOf(provider.getTransactionCount(address(2)))
    const waiting = errorOf(provider.waitForTransaction(`0x${'1'.repeat(64)}`))
    await new Promise((resolve) => setImmediate(resolve))
    provider.destroy()
    const cancelled = { code: 'UNSUPPORTED_OPERATION', shortMessage: 'provider destroyed; cancelled request' }
    expect(await first).toMatchObject({ ...cancelled, operation: 'eth_getBalance' })
    expect(await second).toMatchObject({ ...cancelled, operation: 'eth_getTransactionCount' })
    expect(await waiting).toMatchObject(cancelled)
    await hungUp
    await eventually(() => expect(server.sockets.size).toBe(0))
  })

  it('ends later calls, too, and may be called again', async () => {
    const provider = made('http://127.0.0.1:1')
    provider.destroy()
    provider.destroy()
    expect(provider.destroyed).toBe(true)
    expect(await errorOf(provider.send('eth_gasPrice', []))).toMatchObject({ code: 'UNSUPPORTED_OPERATION', operation: 'eth_gasPrice' })
  })

  it('ends only the calls of this provider on a shared client', async () => {
    const { open, answer } = gate(node)
    const server = await serve(answer)
    const client = createClient(server.url)
    onTestFinished(() => client.close())
    const [one, two] = [made(client), made(client)]
    const calls = [errorOf(one.send('eth_gasPrice', [])), two.send('eth_blockNumber', [])]
    await server.received(1)
    one.destroy()
    open()
    expect(await calls[0]).toMatchObject({ code: 'UNSUPPORTED_OPERATION' })
    expect(await calls[1]).toBe('0x64')
  })
})

describe("on('debug')", () => {
  it('reports requests and results as ethers does', async () => {
    const server = await serve(node)
    const events: [unknown[], unknown[]] = [[], []]
    const providers = [new JsonRpcProvider(server.url, 1, { staticNetwork: true, batchMaxCount: 1 }), made(server.url, { staticNetwork: true }, 1)]
    for (const [i, provider] of providers.entries()) {
      await provider.on('debug', (event) => events[i]?.push(event))
      await provider.getBalance(address(1))
      provider.destroy()
    }
    expect(events[1]).toEqual(events[0])
    expect(events[1]).toEqual([
      { action: 'sendRpcPayload', payload: { method: 'eth_getBalance', params: [address(1), 'latest'], id: 1, jsonrpc: '2.0' } },
      { action: 'receiveRpcResult', result: [{ jsonrpc: '2.0', id: 1, result: '0x64' }] },
    ])
  })

  it('reports errors', async () => {
    const server = await serve(always('no', { status: 500 }))
    const events: { action: string }[] = []
    const provider = made(server.url, { retry: false })
    await provider.on('debug', (event) => events.push(event))
    await errorOf(provider.send('eth_gasPrice', []))
    expect(events.map(({ action }) => action)).toEqual(['sendRpcPayload', 'receiveRpcError'])
    expect(events[1]).toMatchObject({ error: { code: 'SERVER_ERROR' } })
  })
})

describe('a subclass', () => {
  it('sees every call with its own `_send`', async () => {
    const server = await serve(node)
    const seen: unknown[] = []
    class Mine extends HexlineProvider {
      override async _send(payload: Parameters<HexlineProvider['_send']>[0]) {
        seen.push((payload as { method: string }).method)
        return super._send(payload)
      }
    }
    const provider = new Mine(server.url, 1, { staticNetwork: true })
    onTestFinished(() => provider.destroy())
    expect(await provider.getBlockNumber()).toBe(100)
    expect(seen).toEqual(['eth_blockNumber'])
  })

  it('gets an error if it loses a reply', async () => {
    class Mine extends HexlineProvider {
      override async _send(): Promise<never[]> {
        return []
      }
    }
    const provider = new Mine('http://127.0.0.1:1', 1, { staticNetwork: true })
    onTestFinished(() => provider.destroy())
    expect(await errorOf(provider.getBlockNumber())).toMatchObject({ code: 'BAD_DATA', shortMessage: 'missing response for request' })
  })

  it('is what its own connect resolves to', async () => {
    const server = await serve(node)
    class Mine extends HexlineProvider {}
    const provider = await Mine.connect(server.url)
    onTestFinished(() => provider.destroy())
    expect(provider).toBeInstanceOf(Mine)
  })
})

describe('waitForTransaction', () => {
  const hash = `0x${'1'.repeat(64)}`

  it('ends at its timeout, also while the node does not answer', async () => {
    const server = await serve(silent)
    expect(await errorOf(made(server.url).waitForTransaction(hash, 1, 100))).toMatchObject({ code: 'TIMEOUT', reason: 'timeout' })
  })

  it('may be called many times without a warning', async () => {
    const warned = vi.fn()
    process.on('warning', warned)
    onTestFinished(() => void process.off('warning', warned))
    const server = await serve(each(({ id, method }) => ({ id, result: method === 'eth_chainId' ? '0x1' : method === 'eth_blockNumber' ? '0x64' : null })))
    const provider = made(server.url)
    const waits = Array.from({ length: 20 }, (_, i) => errorOf(provider.waitForTransaction(`0x${i.toString(16).padStart(64, '0')}`)))
    await eventually(() => expect(methodsOf(server).filter((method) => method === 'eth_getTransactionReceipt').length).toBeGreaterThan(19))
    provider.destroy()
    for (const wait of waits) expect(await wait).toMatchObject({ code: 'UNSUPPORTED_OPERATION' })
    expect(warned).not.toHaveBeenCalled()
  })
})

describe('_send', () => {
  it("resolves to the node's replies in the order of the payloads, with the errors", async () => {
    const server = await serve(
      each(({ id, method }) => (method === 'eth_call' ? { id, error: { code: 3, message: 'no', data: '0x' } } : { id, result: '0x64' })),
    )
    const payload = (id: number, method: string) => ({ id, method, params: [], jsonrpc: '2.0' as const })
    expect(await made(server.url)._send([payload(7, 'eth_call'), payload(8, 'eth_gasPrice')])).toEqual([
      { jsonrpc: '2.0', id: 7, error: { code: 3, message: 'no', data: '0x' } },
      { jsonrpc: '2.0', id: 8, result: '0x64' },
    ])
    expect(server.requests).toHaveLength(1)
  })
})

describe('an unknown method', () => {
  it.each(['Method not found', 'the method eth_nope does not exist/is not available', 'nope'])(
    'is UNSUPPORTED_OPERATION, in whatever words (%s)',
    async (words) => {
      const server = await serve(refuse(-32601, words))
      expect(await errorOf(made(server.url).send('eth_nope', []))).toMatchObject({
        code: 'UNSUPPORTED_OPERATION',
        operation: 'eth_nope',
        info: { error: { code: -32601, message: words }, payload: { method: 'eth_nope' } },
      })
    },
  )
})

describe('getBlockReceipts', () => {
  it('is null for a block that does not exist', async () => {
    const server = await serve(each(({ id, method }) => ({ id, result: method === 'eth_chainId' ? '0x1' : null })))
    expect(await made(server.url).getBlockReceipts(10n)).toBeNull()
    expect(server.requests.flatMap(({ entries }) => entries).at(-1)?.params).toEqual(['0xa'])
  })

  it.each<[unknown, unknown]>([
    ['latest', 'latest'],
    [17, '0x11'],
    [`0x${'ab'.repeat(32)}`, `0x${'ab'.repeat(32)}`],
    [undefined, 'latest'],
  ])('of %s asks for %o', async (block, param) => {
    const server = await serve(each(({ id, method }) => ({ id, result: method === 'eth_chainId' ? '0x1' : [] })))
    expect(await made(server.url).getBlockReceipts(block as number)).toEqual([])
    expect(server.requests.flatMap(({ entries }) => entries).find(({ method }) => method === 'eth_getBlockReceipts')?.params).toEqual([param])
  })
})

describe('receipts of a block', () => {
  const receipt = {
    transactionHash: `0x${'1'.repeat(64)}`,
    transactionIndex: '0x0',
    blockHash: `0x${'2'.repeat(64)}`,
    blockNumber: '0x1',
    from: address(1),
    to: address(2),
  }
  const whole = { ...receipt, gasUsed: '0x1', cumulativeGasUsed: '0x1', logs: [], logsBloom: '0x' }

  it("without a price get their transactions', as a single one does", async () => {
    const block = { transactions: [{ hash: receipt.transactionHash, gasPrice: '0x9' }] }
    const results: Record<string, unknown> = { eth_chainId: '0x1', eth_getBlockReceipts: [whole], eth_getBlockByHash: block }
    const server = await serve(each(({ id, method }) => ({ id, result: results[method] })))
    expect((await made(server.url).getBlockReceipts(1))?.[0]?.gasPrice).toBe(9n)
  })

  it('that are invalid are a clear error', async () => {
    const server = await serve(each(({ id, method }) => ({ id, result: method === 'eth_chainId' ? '0x1' : {} })))
    expect(await errorOf(made(server.url).getBlockReceipts(1))).toMatchObject({ code: 'BAD_DATA' })
  })

  it('of an invalid block are refused before anything is sent', async () => {
    const port = await deadPort()
    expect(await errorOf(made(`http://127.0.0.1:${port}`).getBlockReceipts('bogus'))).toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

it("vendor-specific fields reach ethers' mapping", async () => {
  const server = await serve(each(({ id }) => ({ id, error: { code: -32000, message: 'no', details: 'Unauthorized method: eth_x' } })))
  expect(await errorOf(made(server.url).send('eth_x', []))).toMatchObject({ code: 'UNSUPPORTED_OPERATION', operation: 'eth_x' })
})

it('the password of credentials is never shown', async () => {
  const server = await serve(always('no, secret-password, no', { status: 500 }))
  const request = new FetchRequest(server.url)
  request.setCredentials('me', 'secret-password')
  request.allowInsecureAuthentication = true
  const error = await errorOf(made(request, { retry: false }).send('eth_gasPrice', []))
  expect(`${inspect(error, { showHidden: true, depth: 9 })}${JSON.stringify(error)}`).not.toContain('secret-password')
  expect(error).toMatchObject({ code: 'SERVER_ERROR', info: { responseBody: 'no, [hidden], no' } })
})

it('params by name are sent unchanged', async () => {
  const server = await serve(node)
  await made(server.url).send('wallet_watchAsset', { type: 'ERC20' })
  expect(server.requests[0]?.entries[0]?.params).toEqual({ type: 'ERC20' })
})

it('a result is the node’s own', async () => {
  const server = await serve(each(({ id }) => ({ id, result: null })))
  expect(await made(server.url).send('eth_getTransactionByHash', ['0x1'])).toBeNull()
})

it.each([null, undefined])('send without params sends none: %s', async (params) => {
  const server = await serve(node)
  const provider = made(server.url)
  expect(await provider.send('eth_gasPrice', params as never)).toBe('0x64')
  const [answer] = await provider._send({ id: 1, jsonrpc: '2.0', method: 'eth_gasPrice', params: params as never })
  expect(answer).toMatchObject({ result: '0x64' })
  expect(server.requests.flatMap(({ entries }) => entries.map((entry) => entry.params))).toEqual([[], []])
})
