import type { Subscriber, Subscription } from 'ethers'
import { describe, expect, it } from 'vitest'
import { BlockSubscriber } from '../../../../adapters/ethers/events/block-subscriber.ts'
import { FilterSubscriber } from '../../../../adapters/ethers/events/filter-subscriber.ts'
import { LiveLogSubscriber } from '../../../../adapters/ethers/events/live-log-subscriber.ts'
import { LogSubscriber } from '../../../../adapters/ethers/events/log-subscriber.ts'
import { ReceiptSubscriber } from '../../../../adapters/ethers/events/receipt-subscriber.ts'
import { subscriberFor } from '../../../../adapters/ethers/events/subscribers.ts'
import { node } from '../../../support/node.ts'
import { RecordingProvider } from '../../../support/recording-provider.ts'
import { serve } from '../../../support/server.ts'

const providerOn = async (polling = false) => {
  const server = await serve(node())
  return { server, provider: new RecordingProvider(server.url, { polling }) }
}

/** A subscriber of ethers' kind, which polls at each block. */
const onBlock = (poll: (block: number) => Promise<void>) => ({ start() {}, stop() {}, pause() {}, resume() {}, _poll: poll })
type OnBlock = ReturnType<typeof onBlock>

describe('the subscriber for an event', () => {
  const unexpected = (): Subscriber => {
    throw new Error("ethers' own is not needed")
  }

  it.each<[Subscription, boolean, unknown]>([
    [{ type: 'block', tag: 'block' }, false, BlockSubscriber],
    [{ type: 'pending', tag: 'pending' }, false, FilterSubscriber],
    [{ type: 'transaction', tag: 'transaction', hash: '0x1' }, false, ReceiptSubscriber],
    [{ type: 'event', tag: 'event', filter: {} }, false, FilterSubscriber],
    [{ type: 'event', tag: 'event', filter: {} }, true, LogSubscriber],
  ])('%o, with polling: %s, is one of hexline', async (sub, polling, expected) => {
    const { provider } = await providerOn(polling)
    expect(subscriberFor(provider, sub, unexpected)).toBeInstanceOf(expected)
  })

  it.each([false, true])('looks for logs itself where there is a bell, with polling: %s', async (polling) => {
    const { provider } = await providerOn(polling)
    const made = subscriberFor(provider, { type: 'event', tag: 'event', filter: {} }, unexpected, () => () => {})
    expect(made).toBeInstanceOf(LiveLogSubscriber)
  })

  it('is unchanged if ethers makes one that does not poll at blocks', async () => {
    const { provider } = await providerOn()
    const { _poll, ...own } = onBlock(async () => {})
    const before = { ...own }
    expect(subscriberFor(provider, { type: 'debug', tag: 'debug' } as Subscription, () => own)).toBe(own)
    expect(own).toEqual(before)
  })
})

describe("a subscriber of ethers' that polls at each block", () => {
  const sub: Subscription = { type: 'safe', tag: 'safe' }
  const guarded = (provider: RecordingProvider, own: OnBlock) => subscriberFor(provider, sub, () => own) as OnBlock

  it('reports a failed poll to the listeners of `error`', async () => {
    const { provider } = await providerOn()
    const failure = new Error('a failed poll')
    await guarded(
      provider,
      onBlock(() => Promise.reject(failure)),
    )._poll(5)
    expect(provider.emitted).toEqual([['error', failure]])
  })

  it('fails silently once the provider is destroyed', async () => {
    const { provider } = await providerOn()
    const subscriber = guarded(
      provider,
      onBlock(async () => {
        provider.destroy()
        throw new Error('a failed poll')
      }),
    )
    await subscriber._poll(5)
    expect(provider.emitted).toEqual([])
  })

  it('requests the head before its first poll, and polls even if that fails', async () => {
    const { server, provider } = await providerOn()
    const polled: [number, number][] = []
    const subscriber = guarded(
      provider,
      onBlock(async (block) => void polled.push([block, server.requests.length])),
    )
    await subscriber._poll(-2)
    await subscriber._poll(7)
    await server.close()
    await subscriber._poll(-2)
    expect(polled).toEqual([
      [-2, 1],
      [7, 1],
      [-2, 1],
    ])
  })
})
