import type { JsonRpcProvider, Subscriber, Subscription } from 'ethers'
import type { Bell } from './bell.ts'
import { BlockSubscriber } from './block-subscriber.ts'
import { FilterSubscriber } from './filter-subscriber.ts'
import { LiveLogSubscriber } from './live-log-subscriber.ts'
import { eventsOf, LogSubscriber } from './log-subscriber.ts'
import { ReceiptSubscriber } from './receipt-subscriber.ts'
import { report } from './report.ts'

/**
 * A subscriber that survives failures without losing anything, reports them to the listeners of
 * `error`, and stops silently when the provider is destroyed. `byEthers` makes ethers' own
 * subscriber for events that hexline has none for. With a bell, new blocks are noticed when it
 * rings, and all else at new blocks.
 */
export function subscriberFor(provider: JsonRpcProvider, sub: Subscription, byEthers: () => Subscriber, bell?: Bell): Subscriber {
  if (sub.type === 'block') return new BlockSubscriber(provider, bell)
  if (sub.type === 'transaction') return new ReceiptSubscriber(provider, sub.hash)
  if (sub.type === 'pending') return FilterSubscriber.ofPending(provider)
  if (sub.type === 'event' && bell !== undefined) return new LiveLogSubscriber(provider, eventsOf(provider, sub.filter))
  if (sub.type === 'event')
    return provider._getOption('polling') ? new LogSubscriber(provider, eventsOf(provider, sub.filter)) : FilterSubscriber.ofEvent(provider, sub.filter)
  const subscriber = byEthers()
  return isOnBlock(subscriber) ? guarded(provider, subscriber) : subscriber
}

/** Subscribers of ethers' that poll at each block. */
interface OnBlock extends Subscriber {
  _poll(blockNumber: number, provider: never): Promise<void>
}

function isOnBlock(subscriber: Subscriber): subscriber is OnBlock {
  return typeof (subscriber as Partial<OnBlock>)._poll === 'function'
}

/**
 * Reports failures to the listeners of `error`. ethers leaves them unhandled, which ends the
 * process.
 */
function guarded(provider: JsonRpcProvider, subscriber: OnBlock): OnBlock {
  const poll = subscriber._poll
  subscriber._poll = async (block, ethersProvider) => {
    try {
      // At the start: block events count from the head requested here, so what is requested
      // afterwards misses no block.
      if (block < 0) await provider.getBlockNumber().catch(() => {})
      await poll.call(subscriber, block, ethersProvider)
    } catch (error) {
      report(provider, error)
    }
  }
  return subscriber
}
