import { execFile } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { describe, expect, it, test } from 'vitest'
import { HexlineError, LimitError, NetworkError, TimeoutError } from '../../src/errors.ts'
import { getStreams, getTransaction, type RestOptions } from '../../src/rest/index.ts'
import { steadyTime } from '../support/held-time.ts'
import { HASH } from '../support/rest-operations.ts'
import { type Answer, always, cut, emptyPage, quick, type RestServer, serveRest, silent, stalled } from '../support/rest-server.ts'
import { nightly } from '../support/runs.ts'
import { deadPort, errorOf, send } from '../support/server.ts'

function streams(server: Pick<RestServer, 'service'>, options: RestOptions = {}) {
  return getStreams(server.service, { limit: 5 }, { retry: quick, ...options }).then((page) => page)
}

describe('time', () => {
  test.each<[string, Answer, RegExp]>([
    ['silence', silent, /^127\.0\.0\.1:\d+: no reply within 250 ms$/],
    ['a body that stalls', stalled, /^127\.0\.0\.1:\d+: the reply was still incomplete \(11 bytes\) within 250 ms$/],
  ])('timeoutMs ends %s, each attempt anew', async (_, answer, message) => {
    steadyTime()
    const server = await serveRest(answer)
    const error = await errorOf(streams(server, { timeoutMs: 250, retry: { ...quick, attempts: 2 } }))
    expect(error).toBeInstanceOf(TimeoutError)
    expect(error.message).toMatch(message)
    expect(error).toMatchObject({ kind: 'timeout', attempts: 2, method: 'getStreams' })
    expect(server.requests).toHaveLength(2)
    await Promise.all(server.requests.map(({ hungUp }) => hungUp))
  })

  it('does not pass when a reply stops in the middle: it is requested again', async () => {
    const server = await serveRest(emptyPage, stalled, emptyPage)
    await streams(server)
    await streams(server)
    expect(server.requests).toHaveLength(3)
    await server.requests[1]?.hungUp
  })

  it('deadlineMs ends a call during an attempt, with its connection', async () => {
    steadyTime()
    const server = await serveRest(stalled)
    const error = await errorOf(streams(server, { deadlineMs: 50 }))
    expect(error).toMatchObject({ name: 'TimeoutError', attempts: 1 })
    expect(error.message).toBe(`${error.endpoint}: getStreams: no answer before its deadline (deadlineMs)`)
    await server.requests[0]?.hungUp
  })

  it('deadlineMs ends the attempts, with the error of the last one', async () => {
    steadyTime()
    const server = await serveRest(always({ message: 'down' }, { status: 500 }))
    const error = await errorOf(streams(server, { deadlineMs: 300, retry: { attempts: 1_000_000, baseDelayMs: 20, maxDelayMs: 20 } }))
    expect(error).toMatchObject({ kind: 'server', said: 'down' })
    expect(error.attempts).toBeGreaterThanOrEqual(server.requests.length)
    expect(server.requests.length).toBeGreaterThan(1)
  })
})

describe('abort', () => {
  const reasons: [string, unknown][] = [
    ['an error', new Error('enough')],
    ['a string', 'enough'],
    ["an error of hexline's own", new HexlineError('mine', 'closed', { method: 'mine' })],
    ['nothing given', undefined],
  ]
  const slowRetry = { baseDelayMs: 10_000_000, maxDelayMs: 10_000_000 }
  const moments: Record<string, { answers: [Answer, ...Answer[]]; sent: number; wait(server: RestServer): Promise<unknown> }> = {
    'in flight': { answers: [silent], sent: 1, wait: (server) => server.received(1) },
    'in the body': { answers: [stalled], sent: 1, wait: (server) => server.received(1) },
    // A reply to another call was sent after the failure of this one.
    'in back-off': {
      answers: [cut, always({ hash: HASH })],
      sent: 2,
      wait: (server) => server.received(1).then(() => getTransaction(server.service, { transaction_hash: HASH })),
    },
  }

  describe.each(reasons)('with %s', (_, reason) => {
    it('before: nothing is sent', async () => {
      const server = await serveRest(silent)
      const signal = AbortSignal.abort(reason)
      expect(await errorOf(streams(server, { signal }))).toBe(signal.reason)
      expect(await errorOf(getTransaction(server.service, { transaction_hash: HASH }, { signal }))).toBe(signal.reason)
      expect(server.requests).toEqual([])
      expect(getEventListeners(signal, 'abort')).toEqual([])
    })

    test.each(Object.keys(moments))('%s: it ends with the reason itself, and leaves nothing behind', async (moment) => {
      const { answers, sent, wait } = moments[moment] as (typeof moments)[string]
      const server = await serveRest(...answers)
      const aborter = new AbortController()
      const ended = errorOf(streams(server, { signal: aborter.signal, retry: slowRetry, deadlineMs: Number.POSITIVE_INFINITY }))
      await wait(server)
      aborter.abort(reason)
      expect(await ended).toBe(aborter.signal.reason)
      if (reason instanceof HexlineError) expect(reason).toMatchObject({ attempts: 0, method: 'mine' })
      expect(getEventListeners(aborter.signal, 'abort')).toEqual([])
      if (moment !== 'in back-off') await server.requests[0]?.hungUp
      expect(server.requests).toHaveLength(sent)
    })
  })

  it('leaves nothing on a signal that was not used', async () => {
    const server = await serveRest(cut, always({ result: [], cursor: null }))
    const { signal } = new AbortController()
    await streams(server, { signal })
    expect(getEventListeners(signal, 'abort')).toEqual([])
    server.script(always('', { status: 400 }))
    await errorOf(streams(server, { signal }))
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

describe('size', () => {
  const body = JSON.stringify({ result: [], cursor: null, more: 'x'.repeat(10_000) })
  const chunked: Answer = (_, response) => {
    response.writeHead(200)
    response.write(body)
    response.end()
  }
  test.each<[string, Answer]>([
    ['announced', always(body, { headers: { 'content-length': String(body.length) } })],
    ['in chunks', chunked],
    ['compressed', always(gzipSync(body), { headers: { 'content-encoding': 'gzip' } })],
    ['of an error', always(body, { status: 500 })],
  ])('maxResponseBytes ends a longer reply, %s, without a retry', async (_, answer) => {
    const server = await serveRest(answer)
    const error = await errorOf(streams(server, { maxResponseBytes: body.length - 1 }))
    expect(error).toBeInstanceOf(LimitError)
    expect(error).toMatchObject({ kind: 'response-too-large', limit: body.length - 1, attempts: 1, method: 'getStreams' })
    expect(server.requests).toHaveLength(1)
  })

  it('a reply of exactly maxResponseBytes is read', async () => {
    for (const answer of [always(body), chunked, always(gzipSync(body), { headers: { 'content-encoding': 'gzip' } })])
      expect((await streams(await serveRest(answer), { maxResponseBytes: body.length })).result).toEqual([])
  })
})

test('a refused connection is reported as such, after all attempts', async () => {
  const url = `http://127.0.0.1:${await deadPort()}`
  const error = await errorOf<NetworkError>(streams({ service: { streamsUrl: url, apiKey: 'k' } }, { retry: { ...quick, attempts: 3 } }))
  expect(error).toBeInstanceOf(NetworkError)
  expect(error).toMatchObject({ kind: 'network', unsent: true, code: 'ECONNREFUSED', attempts: 3, method: 'getStreams' })
})

describe('a process that makes one call', () => {
  const script = fileURLToPath(new URL('../support/rest-process.ts', import.meta.url))
  /** Each GET gets the answer; a POST is answered once a GET has arrived. */
  async function run(what: string, answer: Answer): Promise<string> {
    const server = await serveRest(async (asked, response) => {
      if (asked.method === 'GET') return answer(asked, response)
      await server.received(2)
      send(response, '{}')
    })
    const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', script, server.url, what])
    return stdout.trim()
  }
  const page = always({ result: [{ id: 'a' }], cursor: 'more' })

  test.each<[string, Answer, string]>([
    ['broken off', page, 'a'],
    ['aborted', silent, 'enough'],
    ...nightly<[string, Answer, string]>(['answered', page, 'a'], ['after fetch', page, 'a']),
  ])('exits on its own: %s', async (what, answer, printed) => {
    expect(await run(what, answer)).toBe(printed)
  })
})
