import { createClient } from 'hexline'
import { getBlocks } from 'hexline/bulk'
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts'
import { each, serve } from '../support/server.ts'
import { alice, viemOn } from './contracts.ts'
import { all, post } from './limited.ts'

const HEAD = 120
let whole: Sandbox

beforeAll(async () => {
  whole = await startSandbox()
  await viemOn(whole.upstream).mine({ blocks: HEAD })
})
afterAll(() => whole?.stop())

const over = (options: Parameters<typeof startSandbox>[0]) => startSandbox({ upstream: whole.upstream, ...options })
const call = (id: unknown, method: string, ...params: unknown[]) => ({ jsonrpc: '2.0', id, method, params })

describe('maxBatch', () => {
  it('refuses longer batches as a whole', async () => {
    await using sandbox = await over({ maxBatch: 3 })
    const batch = (length: number) => Array.from({ length }, (_, i) => call(i + 7, 'eth_chainId'))
    expect(await post(sandbox, batch(3))).toHaveLength(3)
    expect(await post(sandbox, batch(4))).toEqual([{ jsonrpc: '2.0', id: 7, error: { code: -32600, message: 'batch too large' } }])
    expect(await post(sandbox, [1, 2, 3, 4])).toMatchObject([{ id: null, error: { code: -32600 } }])
  })

  it('with 1, takes no batches', async () => {
    await using sandbox = await over({ maxBatch: 1 })
    expect(await post(sandbox, call(1, 'eth_chainId'))).toMatchObject({ result: '0x1' })
    expect(await post(sandbox, [call(1, 'eth_chainId')])).toMatchObject([{ result: '0x1' }])
    expect(await post(sandbox, [call(1, 'eth_chainId'), call(2, 'eth_chainId')])).toMatchObject([{ error: { message: 'batch too large' } }])
  })

  it.each([1, 3])('of %i is no obstacle to getBlocks', async (maxBatch) => {
    await using sandbox = await over({ maxBatch })
    await using client = createClient(sandbox.nodeUrl())
    const blocks = await all(getBlocks(client, { from: 0, to: HEAD }))
    expect(blocks.map(({ number }) => Number(number))).toEqual(Array.from({ length: HEAD + 1 }, (_, i) => i))
  })
})

describe('a batch of calls that pass, that change and that are refused', () => {
  it('is answered in its order, with its ids, also where they repeat', async () => {
    await using sandbox = await over({ lag: 20, prunedBelow: 50 })
    const batch = [
      call('a', 'eth_blockNumber'),
      call(5, 'eth_chainId'),
      call(5, 'eth_getBlockByNumber', '0x31', false),
      call(null, 'eth_getBlockByNumber', '0x65', false),
      call(0, 'eth_getBlockByNumber', 'latest', false),
      call('b', 'eth_nope'),
      call('a', 'eth_getBalance', alice, 'pending'),
      { jsonrpc: '2.0', method: 'eth_chainId', params: [] },
    ]
    expect(await post(sandbox, batch)).toMatchObject([
      { id: 'a', result: '0x64' },
      { id: 5, result: '0x1' },
      { id: 5, error: { code: 4444 } },
      { id: null, result: null },
      { id: 0, result: { number: '0x64' } },
      { id: 'b', error: { code: -32601 } },
      { id: 'a', result: expect.stringMatching(/^0x/) },
    ])
  })

  it('sees one head, though the chain grows', async () => {
    let head = 100
    const node = await serve(
      each(({ id, method, params }) => {
        if (method === 'eth_chainId') return { jsonrpc: '2.0', id, result: '0x1' }
        if (method === 'eth_blockNumber') return { jsonrpc: '2.0', id, result: `0x${(head++).toString(16)}` }
        return { jsonrpc: '2.0', id, result: { number: params[0] } }
      }),
    )
    await using sandbox = await startSandbox({ upstream: node.url, lag: 1 })
    const latest = call(1, 'eth_getBlockByNumber', 'latest', false)
    expect(await post(sandbox, [call(0, 'eth_blockNumber'), latest, latest])).toMatchObject([
      { result: '0x63' },
      { result: { number: '0x63' } },
      { result: { number: '0x63' } },
    ])
  })
})

it('a POST that no limit concerns passes byte for byte, and so does its reply', async () => {
  await using sandbox = await over({ maxBatch: 9, maxLogRange: 9, maxResults: 9, dropLogs: 0.5, lag: 2, prunedBelow: 9 })
  for (const body of [
    '{ "id":9007199254740993, "jsonrpc":"2.0", "method":"eth_chainId", "params":[] }',
    '{"id":1,"jsonrpc":"2.0","method":"eth_getBlockByNumber","params":["0xa",true]}',
    '{"id":1,"jsonrpc":"2.0","method":"eth_getLogs","params":["all"]}',
    '[5,{"id":1}]',
    '[]',
    '5',
  ]) {
    const send = async (url: string) => (await request(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).body.text()
    expect([body, await send(sandbox.nodeUrl())]).toEqual([body, await send(sandbox.upstream)])
  }
})

it('a reply of the node that is not JSON-RPC passes as it is', async () => {
  const node = await serve(each(({ id, method }) => ({ jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x1' : '0x9' })))
  await using sandbox = await startSandbox({ upstream: node.url, lag: 1 })
  node.script(
    each(({ id }) => ({ jsonrpc: '2.0', id, result: '0x9' })),
    (_, response) => response.writeHead(503, { 'content-type': 'text/plain', 'retry-after': '7' }).end('busy'),
  )
  const { statusCode, headers, body } = await request(sandbox.nodeUrl(), {
    method: 'POST',
    body: JSON.stringify(call(1, 'eth_getBlockByNumber', 'latest', false)),
  })
  expect([statusCode, headers['retry-after'], await body.text()]).toEqual([503, '7', 'busy'])
})
