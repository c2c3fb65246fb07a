import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient, NetworkError, OptionError } from '../../src/index.ts'
import { startSandbox } from '../../src/sandbox/start-sandbox.ts'
import { node } from '../support/node.ts'
import { deadPort, errorOf, gate, serve } from '../support/server.ts'

async function setUp(chain = 1) {
  const answer = node({ chain })
  const server = await serve(answer)
  const sandbox = await startSandbox({ upstream: server.url, apiKey: 'good', quotaKeys: ['empty'] })
  onTestFinished(() => sandbox.stop())
  return { answer, server, sandbox }
}

describe('a sandbox', () => {
  it('says where everything is', async () => {
    const { server, sandbox } = await setUp(8453)
    const { url } = sandbox
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(sandbox).toMatchObject({
      ...{ rpcUrl: url, dataUrl: url, nftUrl: url, streamsUrl: url, apiKey: 'good', quotaKeys: ['empty'] },
      ...{ chain: 'eth', chainId: 8453, upstream: server.url, service: { dataUrl: url, nftUrl: url, streamsUrl: url, apiKey: 'good' } },
    })
    expect(sandbox.nodeUrl()).toBe(`${url}/eth/good`)
    await using client = createClient(sandbox.nodeUrl())
    expect(await client.call('eth_blockNumber')).toBe(100n)
  })

  it('serves changes of its seed with the next request', async () => {
    const { sandbox } = await setUp()
    const streams = async () => {
      const response = await fetch(`${sandbox.url}/streams/evm?limit=10`, { headers: { 'x-api-key': 'good' } })
      return ((await response.json()) as { total: number }).total
    }
    const before = await streams()
    sandbox.seed.streams.pop()
    expect(await streams()).toBe(before - 1)
  })

  it('ends requests in flight when it is stopped, and frees its port', async () => {
    const { answer, server, sandbox } = await setUp()
    const held = gate(answer)
    server.script(held.answer)
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
    const asking = errorOf(fetch(sandbox.nodeUrl(), { method: 'POST', headers: { 'content-type': 'application/json' }, body }))
    await server.received(server.requests.length + 1)
    await sandbox.stop()
    await asking
    await expect(fetch(sandbox.url)).rejects.toThrow()
    const { port } = new URL(sandbox.url)
    server.script(answer)
    await using again = await startSandbox({ upstream: server.url, port: Number(port) })
    expect(again.url).toBe(sandbox.url)
  })

  it('may be stopped more than once, and when it goes out of scope', async () => {
    const { server, sandbox } = await setUp()
    await Promise.all([sandbox.stop(), sandbox.stop()])
    await sandbox.stop()
    let url: string
    {
      await using scoped = await startSandbox({ upstream: server.url })
      url = scoped.url
    }
    await expect(fetch(url)).rejects.toThrow()
  })
})

describe('a start that fails', () => {
  it('because of its port is an OptionError, and leaves no connection open', async () => {
    const { sandbox } = await setUp()
    const upstream = await serve(node())
    const port = Number(new URL(sandbox.url).port)
    const error = await errorOf(startSandbox({ upstream: upstream.url, port }))
    expect(error).toBeInstanceOf(OptionError)
    expect(error.message).toBe(`port: expected a free port, received ${port} (in use)`)
    await Promise.all([...upstream.sockets].map((socket) => new Promise((resolve) => (socket.destroyed ? resolve(0) : socket.on('close', resolve)))))
  })

  it('because the node does not answer is a NetworkError', async () => {
    const error = await errorOf(startSandbox({ upstream: `http://127.0.0.1:${await deadPort()}` }))
    expect(error).toBeInstanceOf(NetworkError)
  })
})
