import { describe, expect, test } from 'vitest'
import { type HexlineError, NetworkError } from '../../../src/errors.ts'
import type { Exchange, HttpReply, HttpRequest } from '../../../src/http/exchange.ts'
import { BodyPool } from '../../../src/rpc/body-pool.ts'
import { type Call, ownRead, type Reply } from '../../../src/rpc/call.ts'
import { CallRecord } from '../../../src/rpc/call-record.ts'
import { createPost } from '../../../src/rpc/post/post.ts'
import { releaseReply } from '../../../src/rpc/reply.ts'
import { systemClock } from '../../../src/wait/clock.ts'
import type { Answer } from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

const { serve, clientOf } = virtualWorld()

/** A post function over exchanges that end like this, and its requests. */
function postOver(answer: (request: HttpRequest) => Promise<HttpReply>, ids = { next: 1 }) {
  const requests: HttpRequest[] = []
  const exchange: Exchange = {
    send(request) {
      requests.push(request)
      return answer(request)
    },
    close: async () => {},
  }
  const post = createPost({ endpoint: 'node', exchange, path: '/', ids, clock: systemClock, scrub: (text) => text, classify: () => undefined })
  return { post: (...calls: Call[]) => post(calls, new AbortController().signal), requests }
}

const callOf = (method: string, more: Partial<Call> = {}) => ownRead({ method, params: [1], deadline: 1000, attempts: 4, ...more })

describe('a POST', () => {
  const fails = () => Promise.reject(new NetworkError('node: no connection', { endpoint: 'node' }))
  const envelope = (id: number, method: string) => ({ jsonrpc: '2.0', id, method, params: [1] })

  test('gives the records of its calls that measure what it took, compressed and not', async () => {
    const body = Buffer.from('[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":2,"result":2}]')
    const { post } = postOver(async () => ({ status: 200, headers: {}, body, wireBytes: 33 }))
    const [one, two, other] = [new CallRecord(systemClock), new CallRecord(systemClock), new CallRecord()]
    await post(callOf('a', { record: one }), callOf('b', { record: two }), callOf('c', { record: other }))
    expect(one.post).toEqual({ calls: 3, bytes: body.length, wireBytes: 33 })
    expect(two.post).toBe(one.post)
    expect(other.post).toBeUndefined()
  })

  test('of one call is an object, of several an array, and no id is used twice', async () => {
    const ids = { next: 7 }
    const { post, requests } = postOver(fails, ids)
    await post(callOf('a'))
    await post(callOf('b'), callOf('c"'))
    expect(requests.map(({ body }) => JSON.parse(String(body)))).toEqual([envelope(7, 'a'), [envelope(8, 'b'), envelope(9, 'c"')]])
    expect(ids.next).toBe(10)
  })

  test('has the params as they were encoded', async () => {
    const { post, requests } = postOver(fails)
    await post({ ...callOf('a'), json: '["0x1"]' } as Call)
    expect(JSON.parse(String(requests[0]?.body)).params).toEqual(['0x1'])
  })

  test('of several calls has a limit on the size of its reply, and every POST the patience of its calls', async () => {
    const { post, requests } = postOver(fails)
    await post(callOf('a', { stalls: 2 }))
    await post(callOf('b', { safe: false }), callOf('c'))
    expect(requests.map(({ maxBytes, patience }) => [maxBytes, patience])).toEqual([
      [undefined, 2],
      [16 * 1024 * 1024, Number.POSITIVE_INFINITY],
    ])
  })

  test('that fails gives each call its own error', async () => {
    const errors = await postOver(fails).post(callOf('a'), callOf('b'))
    expect(errors).toMatchObject(['a', 'b'].map((method) => ({ name: 'NetworkError', method, endpoint: 'node' })))
    expect(errors[0]).not.toBe(errors[1])
  })

  test('of unread calls is received in memory of their job, which gets it back once all replies are released', async () => {
    const bodies = new BodyPool()
    const memory = bodies.take(100_000) as Buffer
    const results = [{ own: 1 }, { own: 2 }].map((result, i) => ({ jsonrpc: '2.0', id: 1 + i, result }))
    const length = memory.write(JSON.stringify(results))
    const { post, requests } = postOver(async () => ({ status: 200, headers: {}, body: memory.subarray(0, length), wireBytes: length }))
    const call = { ...callOf('a', { as: 'bytes', isUnread: true }), bodies } as Call
    const [first, second] = (await post(call, call)) as [Reply, Reply]
    expect(requests[0]?.bodies).toBe(bodies)
    expect([first, second].map((reply) => String(reply.take()))).toEqual(['{"own":1}', '{"own":2}'])
    releaseReply(first)
    expect(bodies.take(100_000)?.buffer).not.toBe(memory.buffer)
    releaseReply(second)
    expect(bodies.take(100_000)?.buffer).toBe(memory.buffer)
  })

  test('that was cut rejects with the reason', async () => {
    await expect(postOver(() => Promise.reject('enough')).post(callOf('a'))).rejects.toBe('enough')
  })
})

describe('a long reply that ends in the middle', () => {
  /** The right reply to a batch, about 200 kB, or its first half on a connection that ends. */
  const long =
    (isCut: boolean): Answer =>
    (request, response) => {
      const body = JSON.stringify(request.entries.map(({ id }) => ({ jsonrpc: '2.0', id, result: 'x'.repeat(4_000) })))
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
      if (!isCut) return response.end(body)
      return response.write(body.slice(0, body.length / 2), () => request.socket.destroy())
    }
  const ask = (client: ReturnType<typeof clientOf>, from: number) =>
    Promise.all(Array.from({ length: 50 }, (_, i) => client.request({ method: 'eth_getBalance', params: [`0x${from + i}`] })))

  test('was cut by chance if longer ones were complete, so batches keep their length', async () => {
    const server = await serve(long(false), long(true), long(false))
    const client = clientOf(server.url)
    await ask(client, 0)
    await ask(client, 100)
    await ask(client, 200)
    expect(server.requests.map(({ entries }) => entries.length)).toEqual([50, 50, 50, 50])
  })

  test.each([{ isUnread: true, as: 'bytes' as const }, {}])('was cut by chance after longer ones: also one of calls with %j', async (marks) => {
    const ids = { next: 1 }
    const whole = () => Buffer.from(JSON.stringify([0, 1].map((i) => ({ jsonrpc: '2.0', id: ids.next - 2 + i, result: { own: 'x'.repeat(200_000) } }))))
    const cuts = [false, true, false, true, true, true]
    const { post } = postOver(async () => {
      if (cuts.shift()) throw new NetworkError('other side closed', { receivedBytes: 150_000 })
      const body = whole()
      return { status: 200, headers: {}, body, wireBytes: body.length }
    }, ids)
    const call = callOf('a', marks)
    const kinds: unknown[] = []
    for (let i = 0; i < 6; i++) {
      const [outcome] = await post(call, call)
      kinds.push(outcome instanceof Error ? (outcome as HexlineError).kind : 'whole')
    }
    // A gateway that cuts several in a row may do so for their size.
    expect(kinds).toEqual(['whole', 'network', 'whole', 'network', 'network', 'response-too-large'])
  })

  test('was cut for its size if no longer one was complete since the last cut', async () => {
    const server = await serve(long(false), long(true), long(true), long(false))
    const client = clientOf(server.url)
    await ask(client, 0)
    await ask(client, 100)
    expect(server.requests.slice(0, 3).map(({ entries }) => entries.length)).toEqual([50, 50, 50])
    expect(server.requests[3]?.entries.length).toBeLessThan(50)
  })
})
