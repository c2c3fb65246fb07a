import { describe, expect, test } from 'vitest'
import { ClosedError, HexlineError, NetworkError } from '../../../src/errors.ts'
import { type Call, ownRead } from '../../../src/rpc/call.ts'
import { CallRecord } from '../../../src/rpc/call-record.ts'
import { Caller } from '../../../src/rpc/queue/caller.ts'
import { replyOf } from '../../../src/rpc/reply.ts'
import { Waiting } from '../../../src/wait/waiting.ts'
import { answerTo, each, errorOf, gate, honest, read, refuse, right, silent } from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

const { clock, serve, clientOf, sleep } = virtualWorld()

describe("an attempt's own timeout", () => {
  test('ends each attempt, and the call once all have failed', async () => {
    const server = await serve(silent)
    const error = await errorOf(read(clientOf(server.url).with({ timeoutMs: 300, attempts: 3 }), 1))
    expect(error).toMatchObject({ name: 'TimeoutError', kind: 'timeout', attempts: 3, endpoint: `127.0.0.1:${server.port}`, unsent: false })
    expect(error.message).toBe(`127.0.0.1:${server.port}: no whole reply within 300 ms`)
    expect(server.requests).toHaveLength(3)
    for (const { hungUp } of server.requests) await hungUp
  })

  test('ends only its own call: the others of the same POST continue', async () => {
    const { open, answer } = gate()
    const server = await serve(answer)
    const client = clientOf(server.url)
    const [patient, hasty] = [read(client, 1), read(client.with({ timeoutMs: 40, attempts: 1 }), 2)]
    expect(await errorOf(hasty)).toMatchObject({ name: 'TimeoutError', attempts: 1 })
    open()
    expect(await patient).toEqual(answerTo([1]))
    expect(server.requests).toHaveLength(1)
  })

  test('starts with the POST, not with the call, so waiting in line is free', async () => {
    const { open, answer } = gate()
    const server = await serve(answer, honest)
    const client = clientOf(server.url, { concurrency: 1 })
    const first = read(client, 1)
    await server.received(1)
    const second = read(client.with({ timeoutMs: 500, attempts: 1 }), 2)
    void sleep(700).then(open)
    expect(await Promise.all([first, second])).toEqual([answerTo([1]), answerTo([2])])
  })

  test('restarts when a refused batch is sent in halves', async () => {
    let posts = 0
    const server = await serve(async (request, response) => {
      posts++
      if (request.isBatch) await sleep(300)
      await (request.isBatch ? refuse(-32600, 'batch too large') : each(right))(request, response)
    })
    const client = clientOf(server.url, { concurrency: 1 }).with({ timeoutMs: 600, attempts: 1 })
    expect(await Promise.all([1, 2, 3].map((i) => read(client, i)))).toEqual([1, 2, 3].map((i) => answerTo([i])))
    expect(posts).toBeGreaterThan(2)
  })

  test("of joined calls is separate: the other's answer still arrives", async () => {
    const { open, answer } = gate()
    const server = await serve(answer)
    const client = clientOf(server.url)
    const [hasty, patient] = [read(client.with({ timeoutMs: 40, attempts: 1 }), 1), read(client, 1)]
    expect(await errorOf(hasty)).toMatchObject({ name: 'TimeoutError' })
    open()
    expect(await patient).toEqual(answerTo([1]))
    expect(server.requests.flatMap(({ entries }) => entries)).toHaveLength(1)
  })

  test('of a caller that joined does not end the first one', async () => {
    const { open, answer } = gate()
    const server = await serve(answer)
    const client = clientOf(server.url)
    const [patient, hasty] = [read(client, 1), read(client.with({ timeoutMs: 40, attempts: 1 }), 1)]
    expect(await errorOf(hasty)).toMatchObject({ name: 'TimeoutError' })
    open()
    expect(await patient).toEqual(answerTo([1]))
  })

  test('does not outlast the deadline', async () => {
    const server = await serve(silent)
    const error = await errorOf(read(clientOf(server.url).with({ timeoutMs: 60_000, deadlineMs: 40 }), 1))
    expect(error).toMatchObject({ name: 'TimeoutError', message: expect.stringContaining('deadlineMs') })
  })
})

describe('a caller', () => {
  /**
   * A caller that waits for a batch at this endpoint, or in line; its outcome, and the notices to
   * its entry.
   */
  function callerOf(sentTo: string | undefined, more: Partial<Call> = {}) {
    const waiting = new Waiting(clock)
    const left: unknown[] = []
    let caller: Caller | undefined
    const outcome = new Promise<unknown>((resolve) => {
      const call = ownRead({ method: 'eth_call', params: [], deadline: clock.now() + 1000, record: new CallRecord(), ...more })
      caller = new Caller(call, waiting, (reply) => resolve(reply.take()), resolve)
    })
    const made = caller as Caller
    made.entry = { sentTo, onLeft: (reason) => left.push(reason) }
    waiting.hold(made)
    return { caller: made, outcome, left, waiting, record: made.call.record as CallRecord }
  }

  test('gets its outcome once, and its entry does not learn of a leaving caller', async () => {
    const { caller, outcome, left, record } = callerOf('node')
    caller.settle(replyOf('0x1'), 'node')
    caller.cancel(new ClosedError())
    expect(await outcome).toBe('0x1')
    expect([caller.isWaiting, left, record.attempts, record.endpoint]).toEqual([false, [], 1, 'node'])
  })

  test('gets an error as a failure of the POST', async () => {
    const { caller, outcome } = callerOf('node')
    const error = new NetworkError('no connection')
    caller.settle(error, 'node')
    expect(await outcome).toMatchObject({ error, posts: 1, endpoint: 'node' })
  })

  test.each([
    ['in line', undefined, 0],
    ['in flight', 'node', 1],
  ])('that is cancelled %s gets a failure that counts its POSTs', async (_, sentTo, posts) => {
    const { caller, outcome, left, record } = callerOf(sentTo)
    const error = new ClosedError()
    caller.cancel(error)
    expect(await outcome).toMatchObject({ error, posts, endpoint: sentTo })
    expect([left, record.attempts, record.endpoint, error.endpoint]).toEqual([[error], posts, sentTo, sentTo])
  })

  test('gets the reason of its own signal unchanged, even a hexline error', async () => {
    const aborter = new AbortController()
    const { outcome, left } = callerOf('node', { signal: aborter.signal })
    const reason = new HexlineError('enough', 'server')
    aborter.abort(reason)
    expect(await outcome).toBe(reason)
    expect(left).toEqual([reason])
  })

  test('whose attempt is over waits in line until its deadline, whatever its timeout', async () => {
    const { caller, outcome, left } = callerOf(undefined, { timeoutMs: 100 })
    const started = clock.now()
    caller.startTimeout()
    expect(await outcome).toMatchObject({ error: { kind: 'timeout', unsent: true }, posts: 0 })
    expect(clock.now() - started).toBe(1000)
    expect(left).toHaveLength(1)
  })
})
