import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { request } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { HexlineError, NetworkError } from '../../src/errors.ts'
import { BadQuery } from '../../src/sandbox/query.ts'
import { json, Refusal } from '../../src/sandbox/reply.ts'
import { createServer, type Handler, type ServerSettings } from '../../src/sandbox/server.ts'

async function start(handler: Handler, settings: Partial<ServerSettings> = {}): Promise<string> {
  const server = createServer(handler, { latencyMs: 0, nextFault: () => undefined, allowedHosts: [], ...settings })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function ask(url: string, options: { method?: 'GET' | 'POST'; body?: string | Buffer | Readable; headers?: Record<string, string> } = {}) {
  const { statusCode: status, body } = await request(url, options)
  const text = await body.text()
  return { status, body: JSON.parse(text) as unknown }
}

describe('the handler', () => {
  it('gets the decoded path, the query and the whole body', async () => {
    const url = await start(async ({ method, path, search, body }) => json(200, { method, path, a: search.getAll('a'), body: (await body()).toString() }))
    expect(await ask(`${url}/x%2Fy/z?a=1&a=2`, { method: 'POST', body: 'hello' })).toEqual({
      status: 200,
      body: { method: 'POST', path: ['x/y', 'z'], a: ['1', '2'], body: 'hello' },
    })
  })

  it('has a signal that aborts when the client disconnects', async () => {
    const aborter = new AbortController()
    let onGone = (_: unknown) => {}
    const gone = new Promise((resolve) => {
      onGone = resolve
    })
    const url = await start(({ signal }) => {
      signal.addEventListener('abort', () => onGone(signal.reason))
      aborter.abort()
      return new Promise(() => {})
    })
    await expect(request(url, { signal: aborter.signal })).rejects.toThrow()
    expect(await gone).toMatchObject({ message: 'the client disconnected' })
  })
})

describe('an error of the handler', () => {
  it.each<[string, Error, number, object]>([
    ['a refusal', new Refusal(404, 'no such path'), 404, { message: 'no such path' }],
    [
      'an invalid query',
      new BadQuery(['a is required', 'b is unknown']),
      400,
      { message: 'a is required; b is unknown', details: ['a is required', 'b is unknown'] },
    ],
    ['a node that cannot be reached', new NetworkError('no'), 502, {}],
    ['a slow node', new HexlineError('no', 'timeout'), 504, {}],
    ['a bug, of which only the kind is shown', new TypeError('SECRET'), 500, { message: 'the sandbox failed: TypeError' }],
  ])('%s', async (_, error, status, body) => {
    const url = await start(() => Promise.reject(error))
    expect(await ask(url)).toMatchObject({ status, body })
  })

  it('a path that cannot be decoded is refused', async () => {
    expect(await ask(`${await start(() => json(200, {}))}/%ff`)).toEqual({ status: 400, body: { message: 'invalid path' } })
  })

  it('a body of more than 10 MiB is refused, announced or not', async () => {
    const url = await start(async ({ body }) => json(200, (await body()).length))
    const body = Buffer.alloc(10 * 1024 * 1024 + 1, 'x')
    const tooLarge = { status: 413, body: { message: 'request body too large: the limit is 10485760 bytes' } }
    expect(await ask(url, { method: 'POST', body })).toEqual(tooLarge)
    expect(await ask(url, { method: 'POST', body: Readable.from([body.subarray(0, 1000), body.subarray(1000)]) })).toEqual(tooLarge)
    expect(await ask(url, { method: 'POST', body: body.subarray(1) })).toEqual({ status: 200, body: body.length - 1 })
  })
})

it('other host names are refused, but for those allowed', async () => {
  const url = await start(() => json(200, {}), { allowedHosts: ['box.example'] })
  expect(await ask(url, { headers: { host: 'evil.example' } })).toMatchObject({ status: 403 })
  expect(await ask(url, { headers: { host: 'box.example' } })).toMatchObject({ status: 200 })
})

it('a fault replaces the answer, or spoils it', async () => {
  let asked = 0
  const url = await start(() => json(200, ++asked), { nextFault: () => 'error 503' })
  expect(await ask(url)).toMatchObject({ status: 503 })
  expect(asked).toBe(0)
})
