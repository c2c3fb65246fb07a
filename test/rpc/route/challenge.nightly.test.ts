import { expect, test } from 'vitest'
import { node } from '../../support/node.ts'
import { type Answer, answerTo, clientOf, type Entry, read, right, serve, silent } from '../../support/server.ts'

/* An endpoint that goes silent, over real sockets. In virtual time: route.test.ts. */

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const asks = (method: string, { entries }: { readonly entries: readonly Entry[] }) => entries.some((entry) => entry.method === method)
/** Longer than an endpoint may be silent and then leave the question unanswered. */
const LONG = 3_500

test('each slot holds a call that takes long: the endpoint has a socket left to say that it works', async () => {
  const slow: Answer = async (request, response) => {
    if (asks('eth_call', request)) await sleep(LONG)
    await node()(request, response)
  }
  const [a, b] = [await serve(slow), await serve(node())]
  const client = clientOf([a.url, b.url], { concurrency: 2, batch: false })
  await read(client, 0)
  const calls = [1, 2].map((i) => client.request({ method: 'eth_call', params: [i] }))
  expect(await Promise.all(calls)).toEqual([answerTo([1]), answerTo([2])])
  expect(b.requests.some((request) => asks('eth_call', request))).toBe(false)
})

test('a large reply comes slowly, and holds up the answer that the endpoint works', async () => {
  const slow: Answer = async (request, response) => {
    if (asks('eth_blockNumber', request) && !request.isBatch) return silent(request, response)
    if (!asks('eth_getLogs', request)) return node()(request, response)
    const body = JSON.stringify(right(request.entries[0] as Entry))
    response.writeHead(200, { 'content-type': 'application/json' })
    for (let sent = 0; sent < LONG; sent += 100) {
      response.write(' ')
      await sleep(100)
    }
    response.end(body)
  }
  const [a, b] = [await serve(slow), await serve(node())]
  const client = clientOf([a.url, b.url])
  await read(client, 0)
  expect(await client.request({ method: 'eth_getLogs', params: [{ blockHash: `0x${'1'.repeat(64)}` }] })).toEqual(
    answerTo([{ blockHash: `0x${'1'.repeat(64)}` }]),
  )
  expect(b.requests.some((request) => asks('eth_getLogs', request))).toBe(false)
})

test('nothing comes any more: reads go to the other one', async () => {
  const [a, b] = [await serve(node(), silent), await serve(node())]
  const client = clientOf([a.url, b.url], { concurrency: 2, batch: false })
  await read(client, 0)
  expect(await Promise.all([1, 2, 3, 4].map((i) => read(client, i)))).toEqual([1, 2, 3, 4].map((i) => answerTo([i])))
})
