import { describe, expect, it, onTestFinished, test } from 'vitest'
import { type Connection, connect, type Endpoint } from '../../src/client/endpoint.ts'
import { type ClientOptions, settingsFrom } from '../../src/client/options.ts'
import { OptionError } from '../../src/errors.ts'
import { ownRead } from '../../src/rpc/call.ts'
import { Alarms } from '../../src/wait/alarms.ts'
import { systemClock } from '../../src/wait/clock.ts'
import { honest, serve } from '../support/server.ts'

/** Connections of one client. */
function connected(endpoints: readonly Endpoint[], options: ClientOptions = {}): Connection[] {
  const ids = { next: 1 }
  const alarms = new Alarms(systemClock)
  const names = new Set<string>()
  const connections = endpoints.map((endpoint) => connect(endpoint, settingsFrom(options), ids, alarms, names))
  onTestFinished(async () => void (await Promise.all(connections.map((each) => each.close()))))
  return connections
}

/** The POST that reaches a server at `url`. */
async function posted(endpoint: (url: string) => Endpoint, options?: ClientOptions) {
  const server = await serve(honest)
  const [connection] = connected([endpoint(server.url)], options) as [Connection]
  await connection.post([ownRead({ method: 'eth_chainId', params: [], deadline: systemClock.now() + 10_000 })], new AbortController().signal)
  return server.received(1)
}

describe('the name', () => {
  it('is the host and port; of endpoints with the same one, it has a number', () => {
    const one = async function mine() {
      return []
    }
    const endpoints: Endpoint[] = [
      'https://a.example/KEY',
      { url: 'http://a.example:8545' },
      'https://a.example/OTHER',
      'https://a.example',
      one,
      one,
      async () => [],
    ]
    expect(connected(endpoints).map(({ name }) => name)).toEqual(['a.example', 'a.example:8545', 'a.example#2', 'a.example#3', 'mine', 'mine#2', 'custom'])
  })

  it('comes with the origin, and with the chain if it was given', () => {
    expect(connected(['https://a.example/KEY'])[0]).toMatchObject({ origin: 'https://a.example' })
    expect(connected(['https://a.example/KEY'])[0]).not.toHaveProperty('chainId')
    expect(connected([{ baseUrl: 'https://a.example/v1', chain: 'base', apiKey: 'k' }])[0]).toMatchObject({ origin: 'https://a.example', chainId: 8453 })
  })
})

describe('a POST', () => {
  it('goes to the path and query of the URL, without its fragment', async () => {
    expect((await posted((url) => `${url}/v2/KEY?a=b#c`)).path).toBe('/v2/KEY?a=b')
    expect((await posted((url) => ({ baseUrl: `${url}/rpc/`, chain: 'eth', apiKey: 'a b' }))).path).toBe('/rpc/eth/a%20b')
  })

  it('has the headers of the client and of the endpoint, which override those of the client', async () => {
    const { headers } = await posted((url) => ({ url, headers: { 'x-b': 'endpoint', 'x-c': 'endpoint' } }), { headers: { 'x-a': 'client', 'x-b': 'client' } })
    expect(headers).toMatchObject({ 'x-a': 'client', 'x-b': 'endpoint', 'x-c': 'endpoint', 'user-agent': 'hexline', 'content-type': 'application/json' })
  })

  it('has the user and password of the URL as basic authorization', async () => {
    const { headers, path } = await posted((url) => `${url.replace('//', '//us%20er:p%C3%A4%zz@')}/x`)
    expect([headers.authorization, path]).toEqual([`Basic ${Buffer.from('us er:pä%zz').toString('base64')}`, '/x'])
  })
})

test('the scrubber hides the secrets of the URL and of all headers; a function has none', () => {
  const [one, other] = connected([{ url: 'https://a.example/longsecret1', headers: { 'x-key': 'longsecret2' } }, async () => []], {
    headers: { cookie: 'longsecret3' },
  })
  expect(one?.scrub?.('longsecret1 longsecret2 longsecret3 eth')).toBe('[hidden] [hidden] [hidden] eth')
  expect(other?.scrub).toBeUndefined()
})

describe('refused', () => {
  it.each<[unknown, string]>([
    [null, 'endpoint: expected a URL, { url }, { baseUrl, chain, apiKey } or a function, received null'],
    [5, 'endpoint: expected'],
    ['', 'endpoint: expected an http, https, ws or wss URL'],
    ['ftp://a.example/SECRET', 'endpoint: expected an http, https, ws or wss URL'],
    [{ url: 'nonsense SECRET' }, 'endpoint.url: expected an http, https, ws or wss URL'],
    [{ url: 'https://a.example', headers: { a: 1 } }, 'endpoint.headers["a"]: expected a string'],
    [
      { transport: 'https://a.example/SECRET' },
      'endpoint: expected a URL, { url }, { baseUrl, chain, apiKey } or a function, received an object with "transport"',
    ],
    [new URL('https://a.example/SECRET'), 'endpoint: expected a URL, { url }, { baseUrl, chain, apiKey } or a function, received a URL object: give its href'],
    [{}, 'endpoint: expected a URL, { url }, { baseUrl, chain, apiKey } or a function, received an empty object'],
    [{ url: 'https://a.example', key: 'SECRET' }, 'endpoint: expected only url, headers'],
    [{ baseUrl: 'https://a.example', chain: 'base', apiKey: 'k', url2: 'x' }, 'endpoint: expected only baseUrl, chain, apiKey, headers'],
  ])('%j, without its text', (endpoint, message) => {
    const check = () => connect(endpoint as Endpoint, settingsFrom({}), { next: 1 }, new Alarms(systemClock), new Set())
    expect(check).toThrow(OptionError)
    expect(check).toThrow(message)
    expect(check).toThrow(expect.toSatisfy((error: Error) => !error.message.includes('SECRET')))
  })
})
