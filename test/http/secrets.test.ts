import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { type Client, type ClientOptions, chains, createClient, type Endpoint, OptionError } from '../../src/index.ts'
import { nightly } from '../support/runs.ts'
import { type Answer, always, clientOf, cut, deadPort, each, errorOf, failed, read, refuse, send, serve, silent } from '../support/server.ts'

/**
 * Everything that a log, a crash report or a careless `console.log` would show of an error, and of
 * all beneath it.
 */
function shownBy(error: unknown): string {
  const shown: string[] = []
  for (let each = error; each instanceof Error; each = each.cause) {
    shown.push(
      each.message,
      String(each.stack),
      inspect(each, { depth: Number.POSITIVE_INFINITY, showHidden: true, maxStringLength: null }),
      String(JSON.stringify(each)),
    )
    for (const name of Object.getOwnPropertyNames(each)) {
      const value = Reflect.get(each, name)
      // Unescaped, since `inspect` escapes the quotes and backslashes of a key.
      shown.push(name, typeof value === 'string' ? value : String(JSON.stringify(value)))
    }
  }
  expect(shown.length).toBeGreaterThan(0)
  return shown.join('\n')
}

const percent = encodeURIComponent
/** As escaped by Python's `quote` or Java's `URLEncoder`. */
const form = (text: string) =>
  percent(text)
    .replace(/%20/g, '+')
    .replace(/[!'()*~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
const json = (text: string) => JSON.stringify(text).slice(1, -1)
/** As escaped by PHP, including the slash. */
const slashes = (text: string) => json(text).replaceAll('/', '\\/')

const spellings: Record<string, (text: string) => string> = {
  plainly: (text) => text,
  'percent-encoded': percent,
  'percent-encoded in lower case': (text) => percent(text).replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
  'as in a form': form,
  'JSON-escaped': json,
  'JSON-escaped with its slashes': slashes,
}

const keys = ['0123456789abcdef0123456789abcdef', 'a b/c+d%', 'zq"z&<z>', ...nightly('q7z', 'x9w8v', 'k.*+?^{}()|[]$\\z', "z9!'()*~z9")]

/** Places of a key: how the client gets it, and the texts with the key that a server may know. */
const places: Record<string, (key: string, url: string) => { endpoint: Endpoint; options?: ClientOptions; known: string[] }> = {
  'the path': (key, url) => ({ endpoint: `${url}/v2/${percent(key)}`, known: [key, `/v2/${key}`] }),
  'the query': (key, url) => ({ endpoint: { url: `${url}/rpc?apikey=${percent(key)}&x=1` }, known: [key, `apikey=${key}`] }),
  'the password': (key, url) => ({ endpoint: url.replace('://', `://me:${percent(key)}@`), known: [key, base64(`me:${key}`)] }),
  'the user name': (key, url) => ({ endpoint: url.replace('://', `://${percent(key)}@`), known: [key, base64(`${key}:`)] }),
  'a header': (key, url) => ({ endpoint: url, options: { headers: { 'x-api-key': key } }, known: [key] }),
  'a bearer token': (key, url) => ({ endpoint: { url, headers: { Authorization: `Bearer ${key}` } }, known: [key, `Bearer ${key}`] }),
  apiKey: (key, url) => ({ endpoint: { baseUrl: url, chain: 'eth', apiKey: key }, known: [key, `/eth/${key}`] }),
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** The parts of a key that must not be visible. */
function secretsOf(key: string, known: string[]): string[] {
  return [key, ...known.filter((text) => !text.includes(key)), ...Object.values(spellings).map((spell) => spell(key))]
}

/** The secrets that an error shows, each with its surroundings. */
function leaksOf(secrets: string[], shown: string): string[] {
  return secrets.flatMap((secret) => {
    const at = shown.toLowerCase().indexOf(secret.toLowerCase())
    return at < 0 ? [] : [`${secret} in ...${shown.slice(Math.max(0, at - 40), at + secret.length + 20)}...`]
  })
}

function expectNothingOf(secrets: string[], error: unknown): void {
  expect(leaksOf(secrets, shownBy(error))).toEqual([])
}

const NOBODYS = 'a reply that is nobody’s'

/** Ways in which a server echoes a request; the resulting error keeps the server's text. */
const echoes: Record<string, (echo: string) => Answer> = {
  'an error’s message': (echo) => each((entry) => failed(entry, -32000, `bad key ${echo}.`)),
  'an error’s data': (echo) => each((entry) => failed(entry, -32000, 'bad key', { request: [{ url: `see ${echo} there`, [` ${echo} `]: 1 }] })),
  'an error that is a string': (echo) => each(({ id }) => ({ id, error: `bad key: ${echo}` })),
  'an HTTP error’s body': (echo) => always(`<p>no such page: ${echo} </p>`, { status: 404 }),
  'an HTTP error’s headers': (echo) =>
    always('', { status: 302, headers: { location: `https://login.example/?next=${echo}`, 'set-cookie': `a=${echo}; path=/` } }),
  'a page': (echo) => always(`<html>${echo}</html>`),
  // Where the message and the body that the error keeps are cut off.
  'the start of a long page': (echo) =>
    always(`<html>${'x'.repeat(174)} ${echo} ${'x'.repeat(290 - echo.length)} ${echo} ${'y'.repeat(100_000)}`, { status: 500 }),
  [NOBODYS]: (echo) => always({ id: 'nobody', result: `for ${echo}` }),
}

describe.each(Object.keys(places))('a key in %s', (place) => {
  test.each(Object.keys(spellings))('is hidden where a server repeats it %s', async (spelling) => {
    const leaks: string[] = []
    for (const key of keys) {
      const server = await serve(silent)
      const { endpoint, options, known } = (places[place] as (typeof places)[string])(key, server.url)
      const client = clientOf(endpoint, { retry: false, ...options })
      for (const text of known) {
        for (const [where, answer] of Object.entries(echoes)) {
          // Its body is shown unchanged: an escaped key would be escaped twice here, which no
          // server does.
          if (where === NOBODYS && spelling.startsWith('JSON')) continue
          server.script(answer((spellings[spelling] as (typeof spellings)[string])(text)))
          const shown = shownBy(await errorOf(read(client, 0)))
          leaks.push(...leaksOf(secretsOf(key, known), shown).map((leak) => `${where}: ${leak}`))
          // The server's other text is there, so the error does show something.
          if (!shown.includes('[hidden]')) leaks.push(`${where}: nothing is hidden of ${text}`)
        }
      }
    }
    expect(leaks.slice(0, 5)).toEqual([])
  })

  test('is not in hexline’s own error texts', async () => {
    for (const key of keys) {
      const server = await serve(silent)
      const { endpoint, options, known } = (places[place] as (typeof places)[string])(key, server.url)
      const secrets = secretsOf(key, known)
      const failures: [string, Answer, ClientOptions?, ((client: Client) => unknown)?][] = [
        ['NetworkError', cut],
        ['NetworkError', async (request, response) => void response.write('{"js', () => request.socket.destroy())],
        ['TimeoutError', silent, { timeoutMs: 10 }],
        ['TimeoutError', silent, { deadlineMs: 10 }],
        ['LimitError', always('x'.repeat(1000)), { maxResponseBytes: 100 }],
        ['MalformedReplyError', always('')],
        ['MalformedReplyError', always(Buffer.from('nonsense'), { headers: { 'content-encoding': 'gzip' } })],
        ['HttpError', always('', { status: 500 })],
        ['RpcError', refuse(-32000, 'no')],
        ['ClosedError', silent, {}, (client) => client.close()],
      ]
      for (const [name, answer, more, then] of failures) {
        server.script(answer)
        const client = clientOf(endpoint, { retry: false, ...options, ...more })
        const before = server.requests.length
        const error = errorOf(read(client, 0))
        if (then) await server.received(before + 1)
        await then?.(client)
        expect((await error).name).toBe(name)
        expectNothingOf(secrets, await error)
      }
    }
  })

  test('is not in the error of a refused connection', async () => {
    for (const key of keys) {
      const { endpoint, options, known } = (places[place] as (typeof places)[string])(key, `http://127.0.0.1:${await deadPort()}`)
      const error = await errorOf(read(clientOf(endpoint, { retry: false, ...options }), 0))
      expect(error.name).toBe('NetworkError')
      expectNothingOf(secretsOf(key, known), error)
    }
  })
})

test('a path that a server percent-encodes again for a redirect is hidden', async () => {
  for (const key of keys) {
    const server = await serve((request, response) => send(response, '', { status: 302, headers: { location: `/login?next=${percent(request.path)}` } }))
    const error = await errorOf(read(clientOf({ baseUrl: server.url, chain: 'eth', apiKey: key }, { retry: false }), 0))
    expectNothingOf([...secretsOf(key, []), percent(percent(key))], error)
  }
})

test('a key in the name of a coding is hidden, although only the start of the name is shown', async () => {
  const key = 'abcdefghij'.repeat(6)
  const server = await serve(always('x', { headers: { 'content-encoding': key } }))
  const error = await errorOf(read(clientOf(`${server.url}/${key}`, { retry: false }), 0))
  expect(error.name).toBe('MalformedReplyError')
  expectNothingOf([key.slice(0, 30)], error)
})

describe('an invalid option', () => {
  const key = 'q7zSECRETq7z'
  const url = `https://rpc.example.com/eth/${key}`
  test.each<[string, () => unknown]>([
    ['a URL of another scheme', () => createClient(`ftp://rpc.example.com/${key}`)],
    ['a WebSocket URL with an impossible port', () => createClient(`wss://rpc.example.com:99999/${key}`)],
    ['a URL without a scheme', () => createClient(`rpc.example.com/${key}`)],
    ['a URL with an impossible port', () => createClient(`https://rpc.example.com:99999/${key}`)],
    ['a URL with nothing after its user info', () => createClient(`https://me:${key}@`)],
    ['a URL with nothing before its user info', () => createClient(`${key}:@rpc.example.com`)],
    ['a URL in an object', () => createClient({ url: `//rpc.example.com/${key}` })],
    ['one of several', () => createClient([url, `nonsense ${key}`])],
    ['a base URL', () => createClient({ baseUrl: `nonsense/${key}`, chain: 'eth', apiKey: key })],
    ['a chain', () => createClient({ baseUrl: 'https://rpc.example.com', chain: 'no' as 'eth', apiKey: key })],
    ['a key beside a URL', () => createClient({ url, apiKey: key } as unknown as { url: string })],
    ['a URL in place of the options', () => createClient(url, url as unknown as ClientOptions)],
    ['headers in one string', () => createClient(url, { headers: `authorization: Bearer ${key}` as never })],
    ['a header whose value has a line break', () => createClient(url, { headers: { authorization: `Bearer ${key}\n` } })],
    ['a header whose name has the value in it', () => createClient(url, { headers: { [`authorization: Bearer ${key}`]: '' } })],
    ['a header that is not a string', () => createClient(url, { headers: { authorization: { key } as never } })],
    ['a proxy’s URL in place of its dispatcher', () => createClient(url, { dispatcher: `http://me:${key}@proxy.example.com` as never })],
  ])('%s: is refused without being shown', (_, make) => {
    let error: unknown
    try {
      make()
    } catch (caught) {
      error = caught
    }
    expect(error).toBeInstanceOf(OptionError)
    // The stack names this file, and its lines only.
    expectNothingOf([key], error)
  })
})

describe('the node’s text is unchanged', () => {
  const ordinary = [
    'the method eth_call does not exist/is not available',
    'max fee per gas less than block base fee: address 0x00000000000000000000000000000000000000Aa, maxFeePerGas: 1 baseFee: 2',
    'execution reverted: polygon optimism blast mantle: key',
    'json: cannot unmarshal hex string without 0x prefix into Go value of type rpc.BlockNumber',
    'header not found',
    'invalid argument 0: api v2 rpc node http mainnet',
  ]

  async function expectVerbatim(endpoint: (url: string) => Endpoint, messages = ordinary): Promise<void> {
    const server = await serve(each((entry) => failed(entry, 3, messages[entry.params[0] as number] as string, { said: messages, 1: 1 })))
    const client = clientOf(endpoint(server.url), { retry: false })
    for (const [i, message] of messages.entries()) {
      const error = await errorOf(read(client, i))
      expect(error.said).toBe(message)
      expect(error.data).toEqual({ said: messages, 1: 1 })
    }
  }

  test.each(Object.keys(chains))('on %s', async (chain) => {
    await expectVerbatim((url) => ({ baseUrl: url, chain: chain as 'eth', apiKey: 'q7zSECRETq7z' }))
  })

  test('with the chain in a URL', async () => {
    for (const path of ['/eth/KEYKEYKEY', '/base/KEYKEYKEY', '/v2/KEYKEYKEY', '/ext/bc/C/rpc', '/api/v2/mainnet/rpc/KEYKEYKEY', '/', ''])
      await expectVerbatim((url) => url + path)
  })

  test('with a short key that is part of other words', async () => {
    await expectVerbatim((url) => `${url}/eth/val`)
    await expectVerbatim((url) => ({ baseUrl: url, chain: 'eth', apiKey: 'ed' }))
  })

  test('with headers that hold no secret', async () => {
    await expectVerbatim((url) => ({ url, headers: { 'user-agent': 'header', accept: 'json' } }))
  })

  test('with a path or a header that is an ordinary word', async () => {
    const message = 'execution reverted: it is true of the archive'
    const server = await serve(each((entry) => failed(entry, 3, message)))
    const error = await errorOf(read(clientOf({ url: `${server.url}/execution/archive`, headers: { 'x-debug': 'true' } }, { retry: false }), 0))
    expect(error.said).toBe(message)
  })

  test('numbers stay numbers, even if they look like the key', async () => {
    const server = await serve(each((entry) => failed(entry, 3, 'no', { amount: 12345678, list: [12345678], text: 'at 12345678' })))
    const error = await errorOf(read(clientOf(`${server.url}/12345678`, { retry: false }), 0))
    expect(error.data).toEqual({ amount: 12345678, list: [12345678], text: 'at [hidden]' })
  })

  test('results are never touched', async () => {
    const server = await serve(each(({ id }) => ({ id, result: 'see /eth/q7zSECRETq7z' })))
    expect(await read(clientOf(`${server.url}/eth/q7zSECRETq7z`), 0)).toBe('see /eth/q7zSECRETq7z')
  })
})
