import { describe, expect, test } from 'vitest'
import { type HexlineError, HttpError } from '../../../src/errors.ts'
import { ownRead } from '../../../src/rpc/call.ts'
import { Pause } from '../../../src/rpc/limits/pause.ts'
import { answerTo, each, errorOf, failed, gate, honest, read, refuse } from '../../support/server.ts'
import { virtualWorld } from '../../support/virtual-server.ts'

const { serve, clientOf } = virtualWorld()

const backoff = { baseDelayMs: 100, maxDelayMs: 1000 }
const busy = (retryAfterMs?: number) => new HttpError({ status: 429, headers: {}, body: '' }, { kind: 'rate-limit', method: 'eth_call', retryAfterMs })

describe('a pause', () => {
  /** The lengths of these pauses in a row; each begins when the one before has ended. */
  const lengths = (pause: Pause, failures: readonly HexlineError[]) =>
    failures.map((failure) => {
      const now = pause.until
      pause.begin(failure, now)
      return pause.until - now
    })

  test('is half the base delay, doubled for each in a row, up to half the longest, and short again after an answer', () => {
    const pause = new Pause(backoff)
    expect(lengths(pause, [busy(), busy(), busy(), busy(), busy(), busy()])).toEqual([50, 100, 200, 400, 500, 500])
    pause.recovered()
    expect(lengths(pause, [busy()])).toEqual([50])
  })

  test('is as long as the endpoint asks for, where 0 asks for nothing', () => {
    expect(lengths(new Pause(backoff), [busy(7), busy(5000), busy(0)])).toEqual([7, 5000, 200])
  })

  test.each([1_767_225_600_000, Number.POSITIVE_INFINITY])('of %d ms ends after ten minutes', (retryAfterMs) => {
    const pause = new Pause(backoff)
    pause.begin(busy(retryAfterMs), 5)
    expect(pause.until).toBe(600_005)
  })

  test('is not doubled for POSTs that were in flight together, and never becomes shorter', () => {
    const pause = new Pause(backoff)
    pause.begin(busy(300), 1000)
    pause.begin(busy(), 1100)
    pause.begin(busy(10), 1200)
    expect(pause.until).toBe(1300)
    pause.begin(busy(), 1300)
    expect(pause.until).toBe(1400)
  })

  test('fails calls that do not wait, or whose deadline comes first, each with its own error', () => {
    const pause = new Pause(backoff)
    const call = ownRead({ method: 'eth_getLogs', params: [], deadline: 10_000 })
    expect(pause.failureFor({ ...call, whilePaused: 'fail' }, 0)).toBeUndefined()
    const failure = busy(500)
    pause.begin(failure, 1000)
    expect(pause.failureFor(call, 1000)).toBeUndefined()
    for (const each of [
      { ...call, whilePaused: 'fail' as const },
      { ...call, deadline: 1500 },
    ]) {
      const error = pause.failureFor(each, 1499)
      expect(error).toMatchObject({ kind: 'rate-limit', method: 'eth_getLogs', retryAfterMs: 500 })
      expect(error).not.toBe(failure)
      expect(pause.failureFor(each, 1500)).toBeUndefined()
    }
  })
})

describe('while an endpoint is paused', () => {
  const throttle = refuse(-32005, 'rate limit exceeded', { status: 429, headers: { 'retry-after': '60' } })

  test('a call that does not wait fails at once, unsent, with the endpoint’s error', async () => {
    const server = await serve(throttle, honest)
    const client = clientOf(server.url).with({ whilePaused: 'fail' })
    expect(await errorOf(read(client, 1))).toMatchObject({ kind: 'rate-limit', attempts: 1, retryAfterMs: 60_000 })
    expect(await errorOf(read(client, 2))).toMatchObject({ kind: 'rate-limit', attempts: 0 })
    expect(server.requests).toHaveLength(1)
  })

  test('such calls in line fail as soon as the pause begins', async () => {
    const { open, answer } = gate(throttle)
    const server = await serve(answer, honest)
    const client = clientOf(server.url, { concurrency: 1 }).with({ whilePaused: 'fail' })
    const first = errorOf(read(client, 1))
    await server.received(1)
    const second = errorOf(read(client, 2))
    await new Promise((resolve) => setImmediate(resolve))
    open()
    expect(await first).toMatchObject({ kind: 'rate-limit' })
    expect(await second).toMatchObject({ kind: 'rate-limit' })
    expect(server.requests).toHaveLength(1)
  })

  test('such a call goes to another endpoint if there is one', async () => {
    const [busy, free] = [await serve(throttle), await serve(honest)]
    const client = clientOf([busy.url, free.url]).with({ whilePaused: 'fail' })
    expect(await read(client, 1)).toEqual(answerTo([1]))
    expect(await read(client, 2)).toEqual(answerTo([2]))
    expect(busy.requests).toHaveLength(1)
  })

  test('other failures of such a call are repeated as usual', async () => {
    const server = await serve(
      each((entry) => failed(entry, -32603, 'internal error')),
      honest,
    )
    expect(await read(clientOf(server.url).with({ whilePaused: 'fail' }), 1)).toEqual(answerTo([1]))
  })
})
