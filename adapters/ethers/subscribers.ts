import type { JsonRpcProvider, Subscriber, Subscription } from 'ethers'
import { BlockSubscriber } from './block-subscriber.ts'
import { FilterSubscriber } from './filter-subscriber.ts'
import { eventsOf, LogSubscriber } from './log-subscriber.ts'

/**
 * A subscriber that loses nothing to a failure, reports it to the listeners of `error`, and ends quietly with the provider.
 * `byEthers` gives ethers' own, for what hexline has no subscriber for.
 */
export function subscriberFor(provider: JsonRpcProvider, sub: Subscription, byEthers: () => Subscriber): Subscriber {
  if (sub.type === 'block') return new BlockSubscriber(provider)
  if (sub.type === 'pending') return FilterSubscriber.ofPending(provider)
  if (sub.type === 'event')
    return provider._getOption('polling') ? new LogSubscriber(provider, eventsOf(provider, sub.filter)) : FilterSubscriber.ofEvent(provider, sub.filter)
  const subscriber = byEthers()
  return isOnBlock(subscriber) ? guarded(provider, subscriber) : subscriber
}

/** ethers' subscribers to what is looked up at each block. */
interface OnBlock extends Subscriber {
  _poll(blockNumber: number, provider: never): Promise<void>
}

function isOnBlock(subscriber: Subscriber): subscriber is OnBlock {
  return typeof (subscriber as Partial<OnBlock>)._poll === 'function'
}

/** With failures reported: as ethers has it, nobody handles them, which ends the process. */
function guarded(provider: JsonRpcProvider, subscriber: OnBlock): OnBlock {
  const poll = subscriber._poll
  subscriber._poll = async (block, ethersProvider) => {
    try {
      // At the start: new blocks are counted from a head that is asked for now, and what is asked for after that misses none.
      if (block < 0) await provider.getBlockNumber().catch(() => {})
      await poll.call(subscriber, block, ethersProvider)
    } catch (error) {
      if (!provider.destroyed) void provider.emit('error', error)
    }
  }
  return subscriber
}
