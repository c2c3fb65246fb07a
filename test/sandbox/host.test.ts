import { request as get } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox({ allowedHosts: ['sandbox.test', 'Box.Internal'] })
})
afterAll(() => sandbox?.stop())

/**
 * The reply to a request with this host name, as a browser page with its own name would send it.
 */
function statusFor(host: string, { method = 'GET', path = '/streams/evm?limit=1' } = {}): Promise<[number | undefined, string]> {
  return new Promise((resolve, reject) => {
    const body = method === 'POST' ? '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}' : ''
    const request = get(`${sandbox.url}${path}`, { method, setHost: false, headers: { host, 'x-api-key': sandbox.apiKey } }, async (response) => {
      resolve([response.statusCode, await text(response)])
    })
    request.on('error', reject).end(body)
  })
}

describe('a request is answered', () => {
  const port = () => new URL(sandbox.url).port
  it.each(['127.0.0.1', '127.0.0.1:PORT', 'localhost', 'localhost:PORT', 'LOCALHOST:1', 'localhost.', 'app.localhost:PORT', '[::1]:PORT', '127.8.9.1'])(
    'by %s',
    async (host) => {
      expect((await statusFor(host.replace('PORT', port())))[0]).toBe(200)
    },
  )

  it.each(['sandbox.test', 'SANDBOX.test:80', 'box.internal', 'box.internal.:PORT'])('by %s, which was allowed', async (host) => {
    expect((await statusFor(host.replace('PORT', port())))[0]).toBe(200)
  })

  it('without a name, which no browser sends', async () => {
    const socket = connect(Number(port()), '127.0.0.1')
    socket.end(`GET /streams/evm?limit=1 HTTP/1.0\r\nx-api-key: ${sandbox.apiKey}\r\n\r\n`)
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('a request is refused', () => {
  it.each([
    'evil.example',
    'evil.example:PORT',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'sandbox.test.evil.example',
    '192.168.0.1',
    'evil.example#@localhost',
    '[::2]',
    '0.0.0.0',
  ])('by %s, in every group', async (host) => {
    const name = host.replace('PORT', new URL(sandbox.url).port)
    const refused = [403, '{"message":"this host name is not served: use 127.0.0.1 or localhost, or allow the name (allowedHosts, --allow-host)"}']
    expect(await statusFor(name)).toEqual(refused)
    expect(await statusFor(name, { method: 'POST', path: new URL(sandbox.nodeUrl()).pathname })).toEqual(refused)
  })
})
