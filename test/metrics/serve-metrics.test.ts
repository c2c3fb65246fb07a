import { channel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { get } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { serveMetrics } from '../../src/metrics/serve-metrics.ts'
import { clientOf, honest, read, serve } from '../support/server.ts'

async function served(): Promise<Awaited<ReturnType<typeof serveMetrics>>> {
  const server = await serveMetrics('127.0.0.1', 0)
  onTestFinished(() => server.close())
  return server
}

test('serves what has been counted since its start', async () => {
  const metrics = await served()
  const server = await serve(honest)
  await read(clientOf(server.url), 1)
  const response = await fetch(`${metrics.url}?x=1`)
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect((await response.text()).split('\n')).toContain(
    `hexline_calls_total{endpoint="${new URL(server.url).host}",method="eth_getBalance",outcome="answered",kind=""} 1`,
  )
})

test('has nothing else, and accepts only GET and HEAD', async () => {
  const { url } = await served()
  expect((await fetch(new URL('/', url))).status).toBe(404)
  expect((await fetch(url, { method: 'POST', body: 'x' })).status).toBe(405)
  const head = await fetch(url, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
  // As a proxy may ask.
  const [whole] = await once(get(url, { path: `http://metrics.example${new URL(url).pathname}` }), 'response')
  expect(whole.resume().statusCode).toBe(200)
})

test('rejects if the port is in use, and leaves no listener', async () => {
  const { url, close } = await served()
  await expect(serveMetrics('127.0.0.1', Number(new URL(url).port))).rejects.toMatchObject({ code: 'EADDRINUSE' })
  close()
  expect(channel('hexline:call').hasSubscribers).toBe(false)
  await expect(fetch(url)).rejects.toThrow()
})
