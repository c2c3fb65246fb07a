import { FetchRequest } from 'ethers'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Channel, type ChannelOptions } from '../../../adapters/ethers/channel.ts'
import { Destroyed } from '../../../adapters/ethers/format/ethers-error.ts'
import { type Answer, clientOf, cut, honest, refuse, serve, silent } from '../../support/server.ts'

async function setUp(answer: Answer = honest, options: Partial<ChannelOptions> = {}) {
  const server = await serve(answer)
  const end = new AbortController()
  const client = clientOf(server.url, { retry: { attempts: 1 } })
  const channel = new Channel(client, { stallMs: 0, isOwnTransport: true, end: end.signal, ...options })
  return { server, end, channel }
}

const payload = { jsonrpc: '2.0', id: 7, method: 'eth_getBalance', params: ['0x1'] } as const

describe('a payload', () => {
  it("resolves to a response with its own id, not the engine's", async () => {
    const { channel } = await setUp()
    expect(await channel.send(payload)).toEqual({ response: { jsonrpc: '2.0', id: 7, result: { asked: ['0x1'] } } })
  })

  it("resolves to the node's error, with hexline's as its cause", async () => {
    const { channel } = await setUp(refuse(3, 'execution reverted'))
    const { response, cause } = await channel.send(payload)
    expect(response).toEqual({ jsonrpc: '2.0', id: 7, error: { code: 3, message: 'execution reverted' } })
    expect(cause).toMatchObject({ name: 'RpcError', code: 3 })
  })

  it("rejects with ethers' error if there is no reply", async () => {
    const { channel } = await setUp(cut)
    await expect(channel.send(payload)).rejects.toMatchObject({ code: 'NETWORK_ERROR' })
  })

  it('without params is sent with an empty list', async () => {
    const { server, channel } = await setUp()
    await channel.send({ ...payload, params: undefined as never })
    expect(server.requests[0]?.entries[0]?.params).toEqual([])
  })

  it('is cancelled when the provider is destroyed, and later ones are not sent', async () => {
    const { server, end, channel } = await setUp(silent)
    const sending = channel.send(payload)
    await server.received(1)
    end.abort(new Destroyed())
    const destroyed = { code: 'UNSUPPORTED_OPERATION', operation: 'eth_getBalance' }
    await expect(sending).rejects.toMatchObject(destroyed)
    await expect(channel.send(payload)).rejects.toMatchObject(destroyed)
    expect(server.requests).toHaveLength(1)
  })
})

describe('a stall', () => {
  it('does not exist without a stall time, or after the end', async () => {
    expect((await setUp()).channel.stall()).toBeUndefined()
    const { end, channel } = await setUp(honest, { stallMs: 60_000 })
    end.abort()
    expect(channel.stall()).toBeUndefined()
  })

  it('is shared by all calls until it is over', async () => {
    const { channel } = await setUp(honest, { stallMs: 1 })
    const first = channel.stall()
    expect(channel.stall()).toBe(first)
    await first
    expect(channel.stall()).not.toBe(first)
  })

  it('ends when the provider is destroyed', async () => {
    const { end, channel } = await setUp(honest, { stallMs: 600_000 })
    const stall = channel.stall()
    end.abort()
    await stall
  })
})

describe("a function registered with ethers' FetchRequest", () => {
  it.each([
    [false, 'is not bypassed'],
    [true, 'does not matter if the caller chose how to send'],
  ])('%s: it %s', async (isOwnTransport) => {
    const { server, channel } = await setUp(honest, { isOwnTransport })
    const own = new FetchRequest('http://localhost').getUrlFunc
    FetchRequest.registerGetUrl(async () => {
      throw new Error('a proxy')
    })
    onTestFinished(() => FetchRequest.registerGetUrl(own))
    if (isOwnTransport) await channel.send(payload)
    else await expect(channel.send(payload)).rejects.toMatchObject({ code: 'UNSUPPORTED_OPERATION', operation: 'FetchRequest.registerGetUrl' })
    expect(server.requests).toHaveLength(isOwnTransport ? 1 : 0)
  })
})
