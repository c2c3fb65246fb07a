import { FetchRequest } from 'ethers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { clientFor, isGetUrlRegistered, type Target } from '../../../adapters/ethers/target.ts'
import { OptionError } from '../../../src/index.ts'
import { honest, serve, silent } from '../../support/server.ts'

const URL_OF = 'http://127.0.0.1:1/key'
const clientOf = (target: Target, options = {}) => {
  const made = clientFor(target, options)
  onTestFinished(() => made.client.close())
  return made
}

describe('what a provider connects to', () => {
  it('a client is used as it is, and stays its owner’s', () => {
    const { client } = clientOf(URL_OF)
    expect(clientFor(client, {})).toEqual({ client, isOwned: false, isOwnTransport: true, request: undefined })
  })

  it.each<[string, () => Target, string | undefined]>([
    ['a URL', () => URL_OF, URL_OF],
    ['a URL with headers', () => ({ url: URL_OF, headers: { a: 'b' } }), URL_OF],
    ['a chain and a key', () => ({ baseUrl: 'http://127.0.0.1:1', chain: 'eth', apiKey: 'k' }), 'http://127.0.0.1:1/eth/k'],
    ['several, named by the first', () => [URL_OF, 'http://127.0.0.1:2'], URL_OF],
    ['a function that posts', () => async () => [], undefined],
  ])('%s', (_, target, request) => {
    expect(clientOf(target())).toMatchObject({ isOwned: true, isOwnTransport: false, request })
  })

  it('a dispatcher is the caller’s own transport', () => {
    const dispatcher = { dispatch: () => true }
    expect(clientOf(URL_OF, { dispatcher })).toMatchObject({ isOwned: true, isOwnTransport: true })
  })
})

describe("ethers' FetchRequest", () => {
  it('sends its own headers, but not those that describe a body', async () => {
    const server = await serve(honest)
    const request = new FetchRequest(server.url)
    request.setHeader('x-team', 'blue')
    request.setHeader('content-type', 'text/plain')
    const { client, request: given } = clientOf(request)
    expect(given).toBe(request)
    await client.request({ method: 'eth_getBalance' })
    expect(server.requests[0]?.headers).toMatchObject({ 'x-team': 'blue', 'content-type': 'application/json' })
  })

  it('sets the timeout, which an option overrides', async () => {
    const server = await serve(silent)
    const request = new FetchRequest(server.url)
    request.timeout = 20
    const failing = (options: object) =>
      clientOf(request, { retry: { attempts: 1 }, ...options })
        .client.request({ method: 'eth_getBalance' })
        .catch((error) => error.message)
    expect(await failing({})).toContain('20 ms')
    expect(await failing({ timeoutMs: 30 })).toContain('30 ms')
  })

  it.each(['preflightFunc', 'processFunc', 'retryFunc'] as const)('with a %s is refused', (name) => {
    const request = new FetchRequest(URL_OF)
    request[name] = (async () => true) as never
    expect(() => clientFor(request, {})).toThrow(OptionError)
    expect(() => clientFor(request, {})).toThrow(`FetchRequest.${name}`)
  })
})

it('a registered function is noticed, until ethers’ own is registered again', () => {
  const own = new FetchRequest(URL_OF).getUrlFunc
  onTestFinished(() => FetchRequest.registerGetUrl(own))
  expect(isGetUrlRegistered()).toBe(false)
  FetchRequest.registerGetUrl(FetchRequest.createGetUrlFunc({}))
  expect(isGetUrlRegistered()).toBe(true)
  expect(() => clientFor(URL_OF, {})).toThrow('FetchRequest.registerGetUrl')
  FetchRequest.registerGetUrl(own)
  expect(isGetUrlRegistered()).toBe(false)
})
