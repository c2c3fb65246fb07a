import { beforeAll, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import { answerTo, type Entry } from '../support/server.ts'
import { virtualWorld } from '../support/virtual-server.ts'

const { clientOf, serveWebSocket, sleep } = virtualWorld()

const HASH = `0x${'1'.repeat(64)}`

// Loading it takes real time, in which virtual time would go on.
beforeAll(async () => {
  await import('../../src/ws/session.ts')
  await import('../../src/ws/handshake.ts')
})

/**
 * A server that numbers the subscriptions of each socket from 1 on, and answers no call over the
 * first socket.
 */
function serveMute() {
  const sockets: { webSocket: WebSocket; methods: string[] }[] = []
  const url = serveWebSocket(
    () => true,
    (webSocket) => {
      const socket = { webSocket, methods: [] as string[] }
      const isFirst = sockets.push(socket) === 1
      webSocket.on('message', (data) => {
        const { id, method, params }: Entry = JSON.parse(String(data))
        socket.methods.push(method)
        if (method === 'eth_subscribe') webSocket.send(JSON.stringify({ jsonrpc: '2.0', id, result: '0x1' }))
        else if (!isFirst) webSocket.send(JSON.stringify({ jsonrpc: '2.0', id, result: answerTo(params) }))
      })
    },
  )
  const notify = (index: number) => {
    const { webSocket } = sockets[index] as (typeof sockets)[number]
    const params = { subscription: '0x1', result: HASH }
    if (webSocket.readyState === webSocket.OPEN) webSocket.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params }))
  }
  return { url, sockets, notify }
}

test('a socket that answers no request is replaced after their timeout, though all deadlines are shorter and notifications come', async () => {
  const { url, sockets, notify } = serveMute()
  const client = clientOf(url, { timeoutMs: 30_000, deadlineMs: 10_000, batch: false })
  const hashes = client.subscribe('newPendingTransactions')
  const first = hashes.next()
  const outcomes: Promise<string>[] = []
  for (let seconds = 0; seconds < 40; seconds++) {
    await sleep(1_000)
    notify(0)
    if (seconds % 12 !== 0) continue
    outcomes.push(
      client.request({ method: 'any', params: [seconds] }).then(
        () => 'answered',
        ({ kind }) => kind,
      ),
    )
  }
  expect(await first).toMatchObject({ value: { value: HASH } })
  expect(await Promise.all(outcomes)).toEqual(['timeout', 'timeout', 'timeout', 'answered'])
  expect(sockets.map(({ methods }) => methods)).toEqual([
    ['eth_subscribe', 'any', 'any', 'any'],
    ['any', 'eth_subscribe'],
  ])
})

test('a subscription of a replaced socket does not end one with the same id on the next socket', async () => {
  const { url, sockets, notify } = serveMute()
  const client = clientOf(url, { timeoutMs: 3_000, retry: { attempts: 1 }, batch: false })
  const old = client.subscribe('newPendingTransactions')
  void old.next()
  await sleep(100)
  const calls = [client.request({ method: 'any' })]
  await sleep(2_000)
  // It keeps the socket open for a while after the first one has given up.
  calls.push(client.request({ method: 'any' }))
  for (const each of calls) each.catch(() => {})
  await sleep(1_500)
  const logs = client.subscribe('newPendingTransactions')
  const first = logs.next()
  await sleep(100)
  await old.return()
  await sleep(100)
  notify(1)
  expect(await first).toMatchObject({ value: { value: HASH } })
  expect(sockets.map(({ methods }) => methods)).toEqual([['eth_subscribe', 'any', 'any'], ['eth_subscribe']])
})
