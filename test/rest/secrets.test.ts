import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { HexlineError } from '../../src/errors.ts'
import type { RestOptions } from '../../src/rest/index.ts'
import { operations } from '../support/rest-operations.ts'
import { type Answer, always, cut, serveRest, silent, stalled } from '../support/rest-server.ts'
import { deadPort, errorOf } from '../support/server.ts'

/**
 * Everything that a log, a crash report or a careless `console.log` would show of an error, and of
 * all beneath it.
 */
function shownBy(error: unknown): string {
  expect(error).toBeInstanceOf(HexlineError)
  const shown: string[] = []
  for (let each = error; each instanceof Error; each = each.cause) {
    const inspected = inspect(each, { depth: Number.POSITIVE_INFINITY, showHidden: true, maxStringLength: null, maxArrayLength: null })
    shown.push(each.message, String(each.stack), inspected, String(JSON.stringify(each)))
    for (const name of Object.getOwnPropertyNames(each)) {
      const value = Reflect.get(each, name)
      // Unescaped, since `inspect` escapes the quotes and backslashes of a key.
      shown.push(name, typeof value === 'string' ? value : String(JSON.stringify(value)))
    }
  }
  return shown.join('\n')
}

const keys = ['eyJhbGciOiJIUzI1NiJ9.eyJub25jZSI6IjEifQ.SflKx-wRJ_SMeKKF', 'q7z', 'a b/c+d%', 'k.*+?^{}()|[]$\\z', 'zq"z&<z>', 'ünïcode']
const percent = encodeURIComponent
const json = (text: string) => JSON.stringify(text).slice(1, -1)
const spellings: Record<string, (text: string) => string> = {
  plainly: (text) => text,
  'percent-encoded': percent,
  'percent-encoded twice': (text) => percent(percent(text)),
  'JSON-escaped': json,
}

/** The parts of a key that are visible in a text. */
function leaks(key: string, shown: string): string[] {
  // The start of a long key counts, too, since a text may be cut off in it.
  const parts = key.length > 20 ? [key, key.slice(0, 5)] : [key]
  return Object.values(spellings)
    .flatMap((spell) => parts.map(spell))
    .filter((secret) => shown.toLowerCase().includes(secret.toLowerCase()))
}

/** The error of one attempt with the key, at a server that gives the answer. */
async function failure(key: string, answer: Answer, options: RestOptions = {}, path = ''): Promise<unknown> {
  const server = await serveRest(answer)
  const { call, params } = operations.getWalletTokens
  return errorOf(Promise.resolve(call({ dataUrl: server.url + path, apiKey: key }, params, { retry: false, ...options })))
}

const json400 = (body: unknown) => always(JSON.stringify(body), { status: 400 })
/** Ways in which a server repeats what it was sent. */
const echoes: Record<string, (echo: string) => Answer> = {
  '{ message }': (echo) => json400({ message: `bad key ${echo}.` }),
  '{ message: [..] }': (echo) => json400({ message: ['no', `bad key ${echo}.`, { value: ` ${echo} ` }] }),
  '{ error }': (echo) => json400({ error: `bad key: ${echo}` }),
  'something deep in the body': (echo) => json400({ request: { headers: [{ 'x-api-key': echo, [` ${echo} `]: 1 }] } }),
  'a string of JSON': (echo) => json400(`bad key ${echo}.`),
  'a page': (echo) => always(`<p>bad key: ${echo} </p>`, { status: 401 }),
  'a page, where it is cut off': (echo) => always(`${'x'.repeat(188)} ${echo} ${'x'.repeat(304 - echo.length)} ${echo} ${'y'.repeat(50_000)}`, { status: 500 }),
  headers: (echo) =>
    always('{"message":"[hidden]"}', { status: 302, headers: { location: `/login?next=${percent(echo)}`, 'set-cookie': `key=${percent(echo)}` } }),
  'a field that cannot be read': (echo) => always({ result: [{ token_address: 'a', balance: ` ${echo} ` }] }),
  'the cursor': (echo) => always({ result: [], cursor: { key: echo }, said: '[hidden]' }),
}

describe.each(Object.keys(spellings))('the key, %s', (spelling) => {
  test.each(Object.keys(echoes))('is hidden in %s', async (where) => {
    // An escaped key would be escaped twice here, which no server does.
    const spell = spelling === 'JSON-escaped' && !where.startsWith('a page') ? String : (spellings[spelling] as (text: string) => string)
    for (const key of keys) {
      const shown = shownBy(await failure(key, (echoes[where] as (echo: string) => Answer)(spell(key))))
      expect(leaks(key, shown)).toEqual([])
      // The server's other words are there: it is not that the error shows nothing. A cursor and
      // headers are not shown at all.
      if (where !== 'headers' && where !== 'the cursor') expect(shown).toContain('[hidden]')
    }
  })
})

test('is not in hexline’s own error texts', async () => {
  const failures: [string, Answer, RestOptions?][] = [
    ['NetworkError', cut],
    ['NetworkError', async (asked, response) => void response.write('{"js', () => asked.socket.destroy())],
    ['TimeoutError', silent, { timeoutMs: 10 }],
    ['TimeoutError', stalled, { deadlineMs: 10 }],
    ['LimitError', always('x'.repeat(1000)), { maxResponseBytes: 100 }],
    ['MalformedReplyError', always('')],
    ['MalformedReplyError', ({ socket, headers }) => void socket.end(`${headers['x-api-key']}\r\n\r\n`)],
    ['MalformedReplyError', always('nonsense', { headers: { 'content-encoding': 'gzip' } })],
    ['MalformedReplyError', (asked, response) => always('x', { headers: { 'content-encoding': String(asked.headers['x-api-key']) } })(asked, response)],
    ['ServiceError', always('', { status: 500 })],
    ['CodecError', always({})],
  ]
  for (const key of keys) {
    for (const [name, answer, options] of failures) {
      const error = await failure(key, answer, options)
      expect((error as Error).name).toBe(name)
      expect(leaks(key, shownBy(error))).toEqual([])
    }
    const service = { dataUrl: `http://127.0.0.1:${await deadPort()}`, apiKey: key }
    const refused = await errorOf(Promise.resolve(operations.getWalletTokens.call(service, operations.getWalletTokens.params, { retry: false })))
    expect(refused.name).toBe('NetworkError')
    expect(leaks(key, shownBy(refused))).toEqual([])
  }
})

test("a secret in the caller's headers, or in the path of the address, is hidden as well", async () => {
  const secret = 'tokTOKENtok9'
  const echo: Answer = (asked, response) => always({ message: `no: ${asked.headers.authorization} ${asked.path}` }, { status: 403 })(asked, response)
  const error = await failure('k', echo, { headers: { Authorization: `Bearer ${secret}` } }, `/${secret}x/v1`)
  expect(shownBy(error)).toContain('[hidden]')
  expect(shownBy(error)).not.toContain(secret)
})

test('results are never touched', async () => {
  const key = 'q7zSECRETq7z'
  const server = await serveRest(always({ result: [{ token_address: 'a', balance: '1', name: `for ${key}` }] }))
  const page = await operations.getWalletTokens.call({ dataUrl: server.url, apiKey: key }, operations.getWalletTokens.params)
  expect(page).toMatchObject({ result: [{ name: `for ${key}` }] })
})
