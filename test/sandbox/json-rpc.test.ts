import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { JsonRpcProvider } from 'ethers'
import { createClient as createHexline } from 'hexline'
import { request } from 'undici'
import { createPublicClient, createWalletClient, http, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { base } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts'
import { each, gate, serve } from '../support/server.ts'
import { alice } from './contracts.ts'

/** A node that answers every call with its chain id. */
const ofEth = each(({ id }) => ({ jsonrpc: '2.0', id, result: '0x1' }))

let sandbox: Sandbox

beforeAll(async () => {
  sandbox = await startSandbox({ chain: 'base' })
})
afterAll(() => sandbox?.stop())

async function post(url: string, body: string | Buffer, method: 'POST' | 'GET' | 'PUT' = 'POST') {
  const response = await request(url, { method, headers: { 'content-type': 'application/json' }, ...(method !== 'GET' && { body }) })
  const bytes = Buffer.from(await response.body.arrayBuffer())
  return { status: response.statusCode, type: response.headers['content-type'], allow: response.headers.allow, bytes, json: () => JSON.parse(bytes.toString()) }
}

it('an error that repeats the key of the upstream node is passed on without it', async () => {
  const answers = each(({ id, method }) => {
    const message = 'quota of project /v3/UPSTREAMKEY exhausted'
    return method === 'eth_gasPrice' ? { jsonrpc: '2.0', id, error: { code: -32000, message } } : { jsonrpc: '2.0', id, result: '0x1' }
  })
  const node = await serve(answers)
  const own = await startSandbox({ upstream: `${node.url}/v3/UPSTREAMKEY` })
  onTestFinished(() => own.stop())
  const { bytes, json } = await post(own.nodeUrl(), '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice","params":[]}')
  expect(json()).toMatchObject({ id: 1, error: { code: -32000, message: 'quota of project [hidden] exhausted' } })
  expect(bytes.toString()).not.toContain('UPSTREAMKEY')
})

describe('POST /:chain/:apiKey', () => {
  it.each([
    ['a call', '{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x0",true]}'],
    ['an id of any kind, and spaces', '{ "jsonrpc": "2.0", "id": "a \\u00fc", "method": "eth_chainId", "params": [] }'],
    ['a call that fails', '{"jsonrpc":"2.0","id":7,"method":"eth_nope","params":[]}'],
    [
      'a batch',
      '[{"jsonrpc":"2.0","id":3,"method":"eth_blockNumber","params":[]},{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x12","latest"]},{"jsonrpc":"2.0","id":2,"method":"eth_chainId","params":[]}]',
    ],
    ['an empty batch', '[]'],
    ['JSON that is not a call', '5'],
  ])('%s gets the node’s bytes', async (_, body) => {
    const [own, nodes] = [await post(sandbox.nodeUrl(), body), await post(sandbox.upstream, body)]
    expect([own.status, own.type]).toEqual([nodes.status, nodes.type])
    expect(own.bytes.equals(nodes.bytes)).toBe(true)
    expect(own.bytes.length).toBeGreaterThan(30)
  })

  it('accepts numbers in the block fields of eth_getLogs, which nodes refuse', async () => {
    const logs = (filter: object, id: unknown = 1) => ({ jsonrpc: '2.0', id, method: 'eth_getLogs', params: [filter] })
    const ask = async (url: string, body: unknown) => JSON.parse((await post(url, JSON.stringify(body))).bytes.toString())
    expect(await ask(sandbox.upstream, logs({ fromBlock: 0, toBlock: 0 }))).toHaveProperty('error')
    expect(await ask(sandbox.nodeUrl(), logs({ fromBlock: 0, toBlock: 0 }))).toEqual({ jsonrpc: '2.0', id: 1, result: [] })
    const batch = [
      logs({ fromBlock: '0x0', toBlock: 0 }, 'a'),
      { jsonrpc: '2.0', id: 2, method: 'eth_chainId', params: [] },
      logs({ fromBlock: 'earliest', toBlock: 0 }, 3),
    ]
    expect(await ask(sandbox.nodeUrl(), batch)).toMatchObject([
      { id: 'a', result: [] },
      { id: 2, result: '0x2105' },
      { id: 3, result: [] },
    ])
    for (const wrong of [-1, 1.5, 1e300]) expect(await ask(sandbox.nodeUrl(), logs({ fromBlock: wrong }))).toHaveProperty('error')
  })

  it.each([
    ['eth_call', [{ to: alice }]],
    ['eth_createAccessList', [{ to: alice }]],
    ['eth_feeHistory', ['0x1', 'latest']],
    ['eth_getBalance', [alice]],
    ['eth_getBalance', [alice, null]],
    ['eth_getCode', [alice]],
    ['eth_getProof', [alice, ['0x0', '0x01']]],
    ['eth_getStorageAt', [alice, '0x0']],
    ['eth_getTransactionCount', [alice]],
  ])('%s takes %j: what the specification lets a caller omit', async (method, params) => {
    const { json } = await post(sandbox.nodeUrl(), JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    expect(json()).toEqual({ jsonrpc: '2.0', id: 1, result: expect.anything() })
  })

  it('passes on params that are wrong, and does not add to them', async () => {
    const ask = async (url: string, body: string) => JSON.parse((await post(url, body)).bytes.toString())
    for (const params of ['[]', '[null]', '[null,null]', '{"address":"0x"}', '["0x12",5]', `["${alice}",["0xzz"],"latest"]`])
      for (const method of ['eth_getBalance', 'eth_getProof']) {
        const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`
        expect(await ask(sandbox.nodeUrl(), body)).toEqual(await ask(sandbox.upstream, body))
      }
  })

  it('forwards requests byte for byte, and replies with their status', async () => {
    let answer = '{"jsonrpc":"2.0","id":1,"result":"0x1"}'
    const bodies: string[] = []
    const node = createServer(async (incoming, response) => {
      bodies.push(Buffer.concat(await incoming.toArray()).toString())
      response.writeHead(bodies.length === 1 ? 200 : 418, { 'content-type': 'application/json', 'retry-after': '3', 'x-secret': 'no' }).end(answer)
    })
    await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      node.close()
      node.closeAllConnections()
    })
    await using over = await startSandbox({ upstream: `http://127.0.0.1:${(node.address() as AddressInfo).port}` })
    const asked = '{ "id":9007199254740993,\n"method":"\\u00fc ü 🚀" , "x":1.0 }'
    answer = ' {"result" :1e400,\n"id":1.0,"jsonrpc":"2.0" , "x":"\\ud800ü"} '
    const { status, bytes } = await post(over.nodeUrl(), asked)
    expect([status, bytes.toString(), bodies.at(-1)]).toEqual([418, answer, asked])
  })

  it('serves one chain only', async () => {
    const url = (chain: string) => `${sandbox.url}/${chain}/${sandbox.apiKey}`
    expect(await post(url('eth'), '{}').then(({ status, json }) => [status, json()])).toEqual([404, { message: 'this sandbox serves base, not eth' }])
    expect(await post(url('s3cret'), '{}').then(({ status, json }) => [status, json()])).toEqual([404, { message: 'no such path' }])
  })

  it('requires the right key', async () => {
    const refused = async (key: string) => {
      const { status, bytes } = await post(`${sandbox.url}/base/${key}`, '{}')
      expect(bytes.toString()).not.toContain(key)
      return [status, JSON.parse(bytes.toString()).message]
    }
    expect(await refused('wrong-key')).toEqual([401, 'invalid API key: it is the last part of the path'])
    expect(await refused(sandbox.quotaKeys[0] as string)).toEqual([401, 'quota exceeded: the quota of this API key is used up'])
  })

  it.each(['GET', 'PUT'] as const)('%s is 405', async (method) => {
    expect(await post(sandbox.nodeUrl(), '{}', method)).toMatchObject({ status: 405, allow: 'POST' })
  })

  it.each([
    ['half of it', Buffer.from('{"id":')],
    ['nothing', Buffer.alloc(0)],
    ['broken UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ])('invalid JSON is a parse error: %s', async (_, body) => {
    const { status, json } = await post(sandbox.nodeUrl(), body)
    expect([status, json()]).toEqual([400, { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'Parse error' } }])
  })

  it('accepts at most 10 MiB, with and without a length', async () => {
    const limit = 10 * 1024 * 1024
    const body = (length: number) => `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })}`.padEnd(length)
    // anvil accepts less than that: it refuses, and the sandbox forwards the refusal.
    expect((await post(sandbox.nodeUrl(), body(limit))).bytes.toString()).not.toContain('request body too large: the longest')
    const tooLarge = { message: `request body too large: the limit is ${limit} bytes` }
    expect(await post(sandbox.nodeUrl(), body(limit + 1)).then(({ status, json }) => [status, json()])).toEqual([413, tooLarge])
    const chunks = async function* () {
      for (let i = 0; i < 11; i++) yield Buffer.alloc(1024 * 1024, 0x20)
    }
    const chunked = await request(sandbox.nodeUrl(), { method: 'POST', body: chunks() as never })
    expect([chunked.statusCode, await chunked.body.json()]).toEqual([413, tooLarge])
  })
})

describe('clients over it', () => {
  it('viem', async () => {
    const account = privateKeyToAccount(`0x${'1'.repeat(64)}`)
    const transport = http(sandbox.nodeUrl(), { batch: true })
    const reader = createPublicClient({ chain: base, transport, pollingInterval: 20 })
    await createPublicClient({ transport: http(sandbox.upstream) }).request({
      method: 'anvil_setBalance',
      params: [account.address, '0xde0b6b3a7640000'],
    } as never)
    const hash = await createWalletClient({ chain: base, transport, account }).sendTransaction({ to: `0x${'5b'.repeat(20)}`, value: 5n })
    expect(await reader.waitForTransactionReceipt({ hash })).toMatchObject({ status: 'success' })
    expect(await Promise.all([reader.getChainId(), reader.getTransaction({ hash })])).toMatchObject([8453, { value: 5n }])
  })

  it("ethers' JsonRpcProvider", async () => {
    const provider = new JsonRpcProvider(sandbox.nodeUrl())
    try {
      expect((await provider.getNetwork()).chainId).toBe(8453n)
      const [block, balance] = await Promise.all([provider.getBlock(0), provider.getBalance(alice)])
      expect([block?.number, balance]).toEqual([0, parseEther('10000')])
    } finally {
      provider.destroy()
    }
  })

  it('hexline, by base address, chain and key', async () => {
    const client = createHexline({ baseUrl: sandbox.rpcUrl, chain: sandbox.chain, apiKey: sandbox.apiKey })
    expect(await Promise.all([client.call('eth_chainId'), client.call('eth_getBalance', alice), client.call('eth_getBlockByNumber', 0n, false)])).toMatchObject(
      [8453, parseEther('10000'), { number: 0n }],
    )
    await client.close()
    const wrong = createHexline({ baseUrl: sandbox.rpcUrl, chain: 'base', apiKey: 'wrong' }, { retry: false })
    await expect(wrong.call('eth_chainId')).rejects.toMatchObject({ kind: 'auth' })
    await wrong.close()
    const usedUp = createHexline({ baseUrl: sandbox.rpcUrl, chain: 'base', apiKey: sandbox.quotaKeys[0] as string }, { retry: false })
    await expect(usedUp.call('eth_chainId')).rejects.toMatchObject({ kind: 'quota' })
    await usedUp.close()
  })
})

describe('a node behind it', () => {
  it('is 502 when it is down', async () => {
    const node = await serve(ofEth)
    await using over = await startSandbox({ upstream: node.url })
    await node.close()
    const { status, json } = await post(over.nodeUrl(), '{}')
    expect(status).toBe(502)
    expect(json().message).toMatch(/^the node behind this sandbox: 127\.0\.0\.1:\d+: no connection: connect ECONNREFUSED/)
  })

  it('is released when the client disconnects', async () => {
    const node = await serve(ofEth)
    await using over = await startSandbox({ upstream: node.url })
    node.script(gate().answer)
    const leave = new AbortController()
    const asked = request(over.nodeUrl(), { method: 'POST', body: '{"id":1,"method":"x","params":[]}', signal: leave.signal })
    const { hungUp } = await node.received(node.requests.length + 1)
    leave.abort()
    await expect(asked).rejects.toThrow()
    await hungUp
  })
})
