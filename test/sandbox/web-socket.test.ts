import { once } from 'node:events'
import { createPublicClient, createTestClient, http, webSocket } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { hexline } from '../../adapters/viem/index.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { clientOf, errorOf } from '../support/server.ts'
import { closing } from '../support/viem-clients.ts'
import { collector } from '../support/viem-flows.ts'

let anvil: Anvil
let sandbox: Sandbox

beforeAll(async () => {
  anvil = await startAnvil()
  sandbox = await startSandbox({ upstream: anvil.url, apiKey: 'KEY', quotaKeys: ['USED'] })
})
afterAll(async () => {
  await sandbox?.stop()
  await anvil?.stop()
})

const url = () => sandbox.nodeUrl().replace('http', 'ws') as `ws://${string}`

describe('JSON-RPC over a WebSocket', () => {
  test('answers calls and batches as over HTTP', async () => {
    const client = clientOf(url())
    expect(await Promise.all([client.call('eth_chainId'), client.call('eth_blockNumber')])).toEqual([31337, 0n])
    expect(await client.call('eth_gasPrice')).toBeGreaterThan(0n)
  })

  test.each([
    ['/eth/WRONG', 401, 'auth'],
    ['/eth/USED', 401, 'quota'],
    ['/base/KEY', 404, 'invalid'],
    ['/eth', 404, 'invalid'],
  ])('refuses the path %s with %d', async (path, status, kind) => {
    const error = await errorOf(clientOf(sandbox.url.replace('http', 'ws') + path, { retry: false }).call('eth_chainId'))
    expect(error).toMatchObject({ name: 'HttpError', status })
    expect([kind, 'unsupported', 'not-found']).toContain(error.kind)
  })

  test('answers what is no JSON with a parse error', async () => {
    const socket = new WebSocket(url())
    await once(socket, 'open')
    socket.send('{')
    const [data] = await once(socket, 'message')
    expect(JSON.parse(String(data))).toMatchObject({ id: null, error: { code: -32700 } })
    socket.close()
  })

  test('injects its faults', async () => {
    const faulty = await startSandbox({ upstream: anvil.url, faults: { cut: 1 } })
    try {
      const error = await errorOf(clientOf(faulty.nodeUrl().replace('http', 'ws'), { retry: false }).call('eth_chainId'))
      expect(error).toMatchObject({ kind: 'network' })
    } finally {
      await faulty.stop()
    }
  })
})

describe('eth_subscribe', () => {
  test.each([
    ['hexline', () => closing(hexline(url()))],
    ['viem', () => webSocket(url())],
  ])('tells %s of new blocks', async (_, transport) => {
    const reader = createPublicClient({ transport: transport() })
    const seen = collector<bigint>(1)
    const unwatch = reader.watchBlockNumber({ onBlockNumber: (number) => seen.add(number) })
    const tester = createTestClient({ mode: 'anvil', transport: http(anvil.url) })
    const head = await createPublicClient({ transport: http(anvil.url) }).getBlockNumber()
    // Until the watcher is there, nobody is told.
    let isSeen = false
    void seen.all.then(() => {
      isSeen = true
    })
    while (!isSeen) {
      await tester.mine({ blocks: 1 })
      await reader.getChainId()
    }
    expect((await seen.all)[0]).toBeGreaterThan(head)
    unwatch()
  })

  test('of an unknown kind is refused with the node’s error, and eth_unsubscribe tells whether there was one', async () => {
    const client = clientOf(url(), { retry: false })
    expect(await errorOf(client.request({ method: 'eth_subscribe', params: ['nonsense'] }))).toMatchObject({ name: 'RpcError' })
    const id = await client.request({ method: 'eth_subscribe', params: ['newHeads'] })
    expect(await client.request({ method: 'eth_unsubscribe', params: [id] })).toBe(true)
    expect(await client.request({ method: 'eth_unsubscribe', params: [id] })).toBe(false)
  })
})
