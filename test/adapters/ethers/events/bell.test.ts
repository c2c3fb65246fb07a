import { describe, expect, it } from 'vitest'
import { bellOf } from '../../../../adapters/ethers/events/bell.ts'
import { liveChain } from '../../../support/live-chain.ts'
import { clientOf, failed, honest, serve } from '../../../support/server.ts'
import { serveWebSocket } from '../../../support/web-socket-server.ts'

/** Rings as they come; `silent` where there are none any more. */
function listener() {
  const heard: unknown[] = []
  const awaited: { readonly count: number; readonly resolve: () => void }[] = []
  const hear = (what: unknown) => {
    heard.push(what)
    for (const { count, resolve } of awaited) if (heard.length >= count) resolve()
  }
  return {
    heard,
    ringer: { rung: (number?: number) => hear(number ?? 'rung'), silent: () => hear('silent') },
    hasHeard: (count: number) => new Promise<void>((resolve) => (heard.length >= count ? resolve() : awaited.push({ count, resolve }))),
  }
}

describe('the bell of a client', () => {
  it('rings when it is there, at new heads, and when it is there again after a lost socket', async () => {
    const chain = await liveChain()
    const bell = bellOf(clientOf(chain.server.url, { retry: { baseDelayMs: 1 } }))
    const { heard, ringer, hasHeard } = listener()
    const stop = bell?.(ringer)
    await hasHeard(1)
    chain.mine(2)
    await hasHeard(3)
    chain.cut()
    chain.mine()
    await hasHeard(5)
    expect(heard).toEqual(['rung', 6, 7, 'silent', 'rung'])
    stop?.()
    await chain.server.received(3)
    expect(chain.calls.at(-1)).toBe('eth_unsubscribe')
  })

  it('rings without a number at a head that has none', async () => {
    const server = await serveWebSocket(({ entries: [entry], peer }) => {
      peer.send({ jsonrpc: '2.0', id: entry?.id, result: '0x1' })
      for (const head of [null, {}, { number: 'x' }, { number: null }, { number: '' }, { number: '0x5' }]) peer.notify('0x1', head)
    })
    const { heard, ringer, hasHeard } = listener()
    bellOf(clientOf(server.url))?.(ringer)
    await hasHeard(7)
    expect(heard).toEqual([...Array(6).fill('rung'), 5])
  })

  it('is silent at a node without subscriptions', async () => {
    const server = await serveWebSocket(({ entries: [entry], peer }) => peer.send(failed(entry as never, -32601, 'no subscriptions')))
    const { heard, ringer, hasHeard } = listener()
    bellOf(clientOf(server.url))?.(ringer)
    await hasHeard(1)
    expect(heard).toEqual(['silent'])
  })

  it('is there for a pool with a WebSocket, and not without one', async () => {
    const [{ url }, chain] = [await serve(honest), await liveChain()]
    expect([bellOf(clientOf(url)), bellOf(clientOf([url, chain.server.url]))]).toEqual([undefined, expect.any(Function)])
  })
})
