import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { OnBlockSubscriber } from '../../../../adapters/ethers/events/on-block-subscriber.ts'
import { node } from '../../../support/node.ts'
import { RecordingProvider } from '../../../support/recording-provider.ts'
import { serve } from '../../../support/server.ts'

/** Records what is called, and polls until the test ends the poll. */
class Recorder extends OnBlockSubscriber<'first'> {
  readonly seen: unknown[] = []
  #end = (_?: Error) => {}

  protected override begin(): void {
    this.seen.push('begin')
    this.pollAt('first')
  }

  protected override drop(): void {
    this.seen.push(`drop ${this.round}`)
  }

  protected override poll(block: number | 'first'): Promise<void> {
    this.seen.push(block)
    return new Promise((resolve, reject) => {
      this.#end = (error) => (error === undefined ? resolve() : reject(error))
    })
  }

  async end(error?: Error): Promise<void> {
    this.#end(error)
    await turn()
  }
}

async function setUp() {
  const provider = new RecordingProvider((await serve(node())).url)
  const listeners = new Set<(block: number) => void>()
  provider.on = async (_, listener) => {
    listeners.add(listener)
    return provider
  }
  provider.off = async (_, listener) => {
    listeners.delete(listener as never)
    return provider
  }
  const subscriber = new Recorder(provider)
  const announce = (block: number) => {
    for (const listener of listeners) listener(block)
  }
  return { provider, subscriber, announce, listeners, seen: subscriber.seen }
}

describe('a subscriber that polls at each block', () => {
  it('polls once at a time: at its start, and for the newest block', async () => {
    const { subscriber, announce, seen } = await setUp()
    subscriber.start()
    for (const block of [1, 2, 3]) announce(block)
    expect(seen).toEqual(['begin', 'first'])
    await subscriber.end()
    expect(seen).toEqual(['begin', 'first', 3])
  })

  it('begins again after a pause, and not twice', async () => {
    const { subscriber, announce, seen } = await setUp()
    subscriber.start()
    await subscriber.end()
    subscriber.pause()
    announce(1)
    await turn()
    expect(seen).toEqual(['begin', 'first'])
    subscriber.resume()
    subscriber.resume()
    expect(seen).toEqual(['begin', 'first', 'begin', 'first'])
  })

  it('drops everything when it is stopped, and in a pause that asks for it', async () => {
    const { subscriber, listeners, seen } = await setUp()
    subscriber.start()
    subscriber.pause(false)
    subscriber.pause(true)
    expect(listeners.size).toBe(1)
    subscriber.stop()
    expect(listeners.size).toBe(0)
    expect(seen).toEqual(['begin', 'first', 'drop 1', 'drop 2'])
  })

  it('reports a failed poll and makes the next one', async () => {
    const { provider, subscriber, announce, seen } = await setUp()
    subscriber.start()
    const error = new Error('refused')
    await subscriber.end(error)
    expect(provider.emitted).toEqual([['error', error]])
    announce(1)
    expect(seen).toEqual(['begin', 'first', 1])
  })

  it('says nothing when the provider is destroyed during a poll', async () => {
    const { provider, subscriber } = await setUp()
    subscriber.start()
    provider.destroy()
    await subscriber.end(new Error('destroyed'))
    expect(provider.emitted).toEqual([])
  })
})
