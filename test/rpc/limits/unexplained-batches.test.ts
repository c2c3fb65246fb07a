import type { Client } from 'hexline'
import { getBlocks } from 'hexline/bulk'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startChain } from '../../support/chain-server.ts'
import { type Answer, answerTo, clientOf, each, honest, read, right, send, serve } from '../../support/server.ts'
import { serveWebSocket } from '../../support/web-socket-server.ts'

/*
 * Servers that do not take long batches and do not say so: the connection ends, the reply does, or
 * it holds less than was asked for.
 */

const MOST = 3
const COUNT = 60
/** Bytes of a reply that pass the gateway. */
const MOST_BYTES = 1000

const answersFirst =
  (count: number): Answer =>
  (request, response) =>
    each(right)({ ...request, entries: request.entries.slice(0, count), isBatch: count > 1 && request.isBatch }, response)

const worlds: readonly [string, Answer][] = [
  ['resets the connection', (request, response) => (request.entries.length > MOST ? request.socket.destroy() : honest(request, response))],
  ['answers HTTP 502', (request, response) => (request.entries.length > MOST ? send(response, 'no', { status: 502 }) : honest(request, response))],
  ['answers the first call alone', answersFirst(1)],
  ['answers the first five calls', answersFirst(5)],
  [
    'cuts the reply',
    (request, response) => {
      const body = JSON.stringify(request.isBatch ? request.entries.map(right) : right(request.entries[0] as never))
      if (body.length <= MOST_BYTES) return send(response, body)
      response.writeHead(200, { 'content-length': body.length })
      response.write(body.slice(0, MOST_BYTES), () => request.socket.destroy())
    },
  ],
]

const readAll = (client: Client) => Promise.all(Array.from({ length: COUNT }, (_, i) => read(client, i)))
const ANSWERS = Array.from({ length: COUNT }, (_, i) => answerTo([i]))

describe.each(worlds)('a server that %s where a batch is too long for it', (_, answer) => {
  test('answers all calls, in shorter batches', async () => {
    const server = await serve(answer)
    expect(await readAll(clientOf(server.url))).toEqual(ANSWERS)
    const before = server.requests.length
    expect(before).toBeLessThan(COUNT * 1.5)
  })

  test('answers them also after batches that it took', async () => {
    const server = await serve(answer)
    const client = clientOf(server.url)
    for (let i = 0; i < 3; i++) expect(await Promise.all([read(client, i), read(client, i + 1)])).toHaveLength(2)
    expect(await readAll(client)).toEqual(ANSWERS)
  })
})

test('blocks come where connections end at long batches', async () => {
  const chain = await startChain({ head: 200 })
  onTestFinished(() => chain.close())
  let isCut = false
  const proxy = await serve(async (request, response) => {
    if (request.entries.length > MOST) {
      isCut = true
      return request.socket.destroy()
    }
    const body = JSON.stringify(request.isBatch ? request.entries : request.entries[0])
    const answer = await fetch(chain.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    send(response, await answer.text())
  })
  let blocks = 0
  for await (const { number } of getBlocks(clientOf(proxy.url), { from: 0, to: 200 })) expect(number).toBe(BigInt(blocks++))
  expect([blocks, isCut]).toEqual([201, true])
})

test('a server that cuts everything gets no storm of POSTs', async () => {
  const server = await serve(({ socket }) => void socket.destroy())
  const client = clientOf(server.url, { retry: { attempts: 4, baseDelayMs: 1, maxDelayMs: 2 } })
  const settled = await Promise.allSettled(Array.from({ length: COUNT }, (_, i) => read(client, i)))
  expect(settled.every(({ status }) => status === 'rejected')).toBe(true)
  // Four times 60 lone calls, if each were sent alone.
  expect(server.requests.length).toBeLessThan(30)
})

test('a WebSocket that is closed with 1009, "message too big", gets shorter messages', async () => {
  const server = await serveWebSocket(({ entries, isBatch, peer }) => {
    if (entries.length > MOST) return peer.webSocket.close(1009)
    const replies = entries.map(right)
    peer.send(isBatch ? replies : replies[0])
  })
  expect(await readAll(clientOf(server.url))).toEqual(ANSWERS)
})
