import { expect, it } from 'vitest'
import { startBell } from '../../src/follow/bell.ts'
import { holdTime } from '../support/held-time.ts'
import { clientOf, errorOf, honest, serve } from '../support/server.ts'
import { type Peer, refusal, reply, serveWebSocket } from '../support/web-socket-server.ts'

const NEVER_MS = 1e9
const head = (number: number) => ({ number: `0x${number.toString(16)}`, hash: `0x${String(number).padStart(64, '0')}` })

/** A server that takes subscriptions, and the socket of the last one. */
async function subscribed() {
  const peers: Peer[] = []
  const server = await serveWebSocket((message) => {
    peers.push(message.peer)
    return reply(({ id }) => ({ jsonrpc: '2.0', id, result: '0x5' }))(message)
  })
  return { server, peers, client: clientOf(server.url), ring: (result: unknown) => peers.at(-1)?.notify('0x5', result) }
}

it('rings when the subscription is there, and at each head; what comes in the meantime is one ring with the newest head', async () => {
  const { client, ring } = await subscribed()
  const bell = startBell(client, undefined)
  expect([bell.isLive, bell.take()]).toEqual([false, undefined])
  await bell.wait(NEVER_MS)
  expect([bell.isLive, bell.take()]).toEqual([true, undefined])
  for (const number of [7, 8, 9]) ring(head(number))
  await bell.wait(NEVER_MS)
  // The rest may still be on its way.
  let last = bell.take()
  while (last?.number !== 9) {
    await bell.wait(NEVER_MS)
    last = bell.take()
  }
  expect(last).toEqual({ number: 9, hash: head(9).hash })
  expect(bell.take()).toBeUndefined()
  bell.stop()
})

it('does not ring for a notification that is cut off', async () => {
  const { client, peers } = await subscribed()
  const bell = startBell(client, undefined)
  await bell.wait(NEVER_MS)
  bell.take()
  const message = JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription: '0x5', result: head(7) } })
  peers.at(-1)?.send(message.slice(0, -2))
  peers.at(-1)?.notify('0x5', head(8))
  await bell.wait(NEVER_MS)
  expect(bell.take()).toEqual({ number: 8, hash: head(8).hash })
  bell.stop()
})

it('rings for anything but a header, too', async () => {
  const { client, ring } = await subscribed()
  const bell = startBell(client, undefined)
  await bell.wait(NEVER_MS)
  bell.take()
  for (const odd of [null, 'head', { number: '0xzz', hash: '0x' }, { number: '0x1' }, { hash: '0x1' }]) {
    ring(odd)
    await bell.wait(NEVER_MS)
    expect(bell.take()).toBeUndefined()
  }
  bell.stop()
})

it('rings when the subscription is there again after its socket was lost', async () => {
  const { client, peers, server } = await subscribed()
  const bell = startBell(client, undefined)
  await bell.wait(NEVER_MS)
  bell.take()
  peers.at(-1)?.socket.destroy()
  await bell.wait(NEVER_MS)
  expect(server.peers).toHaveLength(2)
  bell.stop()
})

it('wakes up with the answer to the head that was announced, which has then been taken', async () => {
  const { client, ring } = await subscribed()
  const bell = startBell(client, undefined)
  await bell.wait(NEVER_MS)
  bell.take()
  const waiting = bell.wait(NEVER_MS, ({ number }) => ({ answerTo: number }))
  ring(head(7))
  expect(await waiting).toEqual({ answerTo: 7 })
  expect(bell.take()).toBeUndefined()
  // It waits for the next one, which nobody answers.
  const next = bell.wait(NEVER_MS)
  ring(head(8))
  expect(await next).toBeUndefined()
  expect(bell.take()?.number).toBe(8)
  bell.stop()
})

it.each([
  ['in lower case, as most nodes write it', head(7)],
  ['among other fields', { parentHash: head(6).hash, mixHash: head(1).hash, ...head(7), transactions: [] }],
  ['in upper case', { number: '0x7', hash: head(7).hash.replace('x', 'X') }],
  ['behind the one of its parent', { parent: head(6), ...head(7) }],
  ['behind one of another chain', { l1: head(12), ...head(7) }],
  ['before that of a withdrawal', { ...head(7), withdrawals: [head(5)] }],
])('hears the head that a header names: %s', async (_, header) => {
  const { client, ring } = await subscribed()
  const bell = startBell(client, undefined)
  await bell.wait(NEVER_MS)
  bell.take()
  ring(header)
  await bell.wait(NEVER_MS)
  expect(bell.take()).toEqual({ number: 7, hash: header.hash })
  bell.stop()
})

it('asks once per wait for an answer, and not where it has rung before or without a head', async () => {
  const { client, ring } = await subscribed()
  const bell = startBell(client, undefined)
  const asked: unknown[] = []
  const note = (told: unknown) => void asked.push(told)
  // It rings when it is subscribed.
  await bell.wait(NEVER_MS, note)
  await bell.wait(NEVER_MS, note)
  expect(asked).toEqual([])
  bell.take()
  const waiting = bell.wait(NEVER_MS, note)
  for (const number of [7, 8]) ring(head(number))
  expect(await waiting).toBeUndefined()
  while (bell.take()?.number !== 8) await bell.wait(NEVER_MS)
  expect(asked).toEqual([{ number: 7, hash: head(7).hash }])
  bell.stop()
})

it('a node that refuses leaves it silent', async () => {
  const server = await serveWebSocket(reply(({ id }) => ({ jsonrpc: '2.0', id, error: { code: -32601, message: 'the method eth_subscribe does not exist' } })))
  const bell = startBell(clientOf(server.url), undefined)
  await bell.wait(NEVER_MS)
  expect([bell.isLive, bell.take()]).toEqual([false, undefined])
  bell.stop()
})

it('without a WebSocket, and with one that cannot be had, only time passes', async () => {
  const time = holdTime()
  const http = await serve(honest)
  const refusing = await serveWebSocket(() => {})
  refusing.refuse(refusal(503))
  for (const client of [clientOf(http.url), clientOf(refusing.url, { retry: { attempts: Number.POSITIVE_INFINITY, baseDelayMs: 1e7, maxDelayMs: 1e7 } })]) {
    const bell = startBell(client, undefined)
    let isOver = false
    const waited = bell.wait(5000).then(() => {
      isOver = true
    })
    await time.pass(4990)
    expect(isOver).toBe(false)
    await time.pass(20)
    await waited
    bell.stop()
  }
})

it('a wait ends with the reason of the signal, and with the client', async () => {
  const http = await serve(honest)
  const stop = new AbortController()
  const bell = startBell(clientOf(http.url), stop.signal)
  const waiting = errorOf(bell.wait(NEVER_MS))
  const reason = new Error('enough')
  stop.abort(reason)
  expect(await waiting).toBe(reason)
  expect(await errorOf(bell.wait(NEVER_MS))).toBe(reason)

  const client = clientOf(http.url)
  const closed = errorOf(startBell(client, undefined).wait(NEVER_MS))
  await client.close()
  expect(await closed).toMatchObject({ kind: 'closed', method: 'follow' })
})
