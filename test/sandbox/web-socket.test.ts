import { once } from 'node:events'
import { createPublicClient, createTestClient, http, webSocket } from 'viem'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { hexline } from '../../adapters/viem/index.ts'
import { createNotificationFaults } from '../../src/sandbox/faults.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/index.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { eventually } from '../support/eventually.ts'
import { holdTime } from '../support/held-time.ts'
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

  test('answers what is not JSON with a parse error', async () => {
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

  test('of an unknown kind is refused with the node’s error, and eth_unsubscribe says whether there was one', async () => {
    const client = clientOf(url(), { retry: false })
    expect(await errorOf(client.request({ method: 'eth_subscribe', params: ['nonsense'] }))).toMatchObject({ name: 'RpcError' })
    const id = await client.request({ method: 'eth_subscribe', params: ['newHeads'] })
    expect(await client.request({ method: 'eth_unsubscribe', params: [id] })).toBe(true)
    expect(await client.request({ method: 'eth_unsubscribe', params: [id] })).toBe(false)
  })
})

describe('faults of subscriptions', () => {
  /** A socket of a sandbox where every request has this fault, and what came over it. */
  async function faulty(fault: 'cut' | 'stalled' | 'truncated') {
    const other = await startSandbox({ upstream: anvil.url, faults: { [fault]: 1 } })
    onTestFinished(() => other.stop())
    const socket = new WebSocket(other.nodeUrl().replace('http', 'ws'))
    onTestFinished(() => socket.close())
    await once(socket, 'open')
    const messages: string[] = []
    socket.on('message', (data) => messages.push(String(data)))
    const send = (method: string, params: readonly unknown[]) => socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    return { socket, messages, send }
  }
  const calls = [
    ['eth_subscribe', ['newHeads']],
    ['eth_subscribe', ['nonsense']],
    ['eth_unsubscribe', ['0x1']],
  ] as const

  test.each(calls)('drop the socket in place of the reply to %s %j', async (method, params) => {
    const { socket, messages, send } = await faulty('cut')
    send(method, params)
    await Promise.race([once(socket, 'close'), once(socket, 'message')])
    expect(messages).toEqual([])
  })

  test.each(calls)('cut the reply to %s %j in half', async (method, params) => {
    const { socket, messages, send } = await faulty('truncated')
    send(method, params)
    await once(socket, 'message')
    expect(messages[0]).toMatch(/^\{"jsonrpc":"2\.0","i[^}]*$/)
  })

  test('give no reply to eth_subscribe, though the node has the subscription', async () => {
    const { messages, send } = await faulty('stalled')
    send('eth_subscribe', ['newHeads'])
    await eventually(async () => {
      await clientOf(anvil.url).request({ method: 'anvil_mine', params: ['0x1'] })
      expect(messages).not.toEqual([])
    })
    expect(JSON.parse(messages[0] as string)).toMatchObject({ method: 'eth_subscription' })
  })

  test('give no reply to eth_unsubscribe', async () => {
    const { socket, messages, send } = await faulty('stalled')
    send('eth_unsubscribe', ['0x1'])
    socket.ping()
    await once(socket, 'pong')
    expect(messages).toEqual([])
  })
})

describe('notifications', () => {
  /**
   * A sandbox with these faults from the first notification on, a socket, and the numbers of the
   * blocks that it is told of.
   */
  async function listening(notificationFaults: NonNullable<SandboxOptions['notificationFaults']>, first: readonly (string | undefined)[]) {
    let faultSeed = 1
    for (; ; faultSeed++) {
      const next = createNotificationFaults(notificationFaults, faultSeed)
      if (first.every((fault) => next() === fault)) break
    }
    const faulty = await startSandbox({ upstream: anvil.url, notificationFaults, faultSeed })
    onTestFinished(() => faulty.stop())
    const socket = new WebSocket(faulty.nodeUrl().replace('http', 'ws'))
    onTestFinished(() => socket.close())
    await once(socket, 'open')
    const told: number[] = []
    const subscribed = once(socket, 'message')
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }))
    await subscribed
    socket.on('message', (data) => told.push(Number(JSON.parse(String(data)).params.result.number)))
    const client = clientOf(anvil.url)
    const head = Number(await client.call('eth_blockNumber'))
    const mine = (count: number) => client.request({ method: 'anvil_mine', params: [`0x${count.toString(16)}`] })
    return { socket, told, mine, head }
  }

  test('come twice', async () => {
    const { told, mine, head } = await listening({ double: 1 }, ['double'])
    await mine(2)
    await eventually(() => expect(told).toEqual([1, 1, 2, 2].map((n) => head + n)))
  })

  test('come late: after the next one', async () => {
    holdTime()
    const { told, mine, head } = await listening({ late: 0.5 }, ['late', undefined])
    await mine(2)
    await eventually(() => expect(told).toEqual([2, 1].map((n) => head + n)))
  })

  test('come late: after a second, where none follows', async () => {
    const time = holdTime()
    const { told, mine, head } = await listening({ late: 1 }, ['late'])
    await mine(1)
    await eventually(async () => {
      await time.pass(1_000)
      expect(told).toEqual([head + 1])
    })
  })

  test('drop the socket in their place', async () => {
    const { socket, told, mine, head } = await listening({ cut: 0.5 }, [undefined, 'cut'])
    const closed = once(socket, 'close')
    await mine(2)
    await closed
    expect(told).toEqual([head + 1])
  })
})
