import { MalformedReplyError } from '../errors.ts'
import { ethereum } from '../eth/protocol.ts'
import type { Post } from '../rpc/call.ts'
import type { Health } from '../rpc/route/health.ts'
import { show } from '../text.ts'
import type { WebSocketExchange } from '../ws/exchange.ts'
import type { LiveSubscription } from '../ws/subscriptions.ts'
import { postAlone } from './post-alone.ts'

/** An endpoint that can have subscriptions. */
export interface SubscriptionSource {
  readonly name: string
  readonly post: Post
  readonly webSocket: WebSocketExchange
  readonly health: Health
  /** Rejects where the endpoint must not be used: one of several may be on another chain. */
  readonly check: () => Promise<void>
  /** When its subscriptions last brought something, or it last answered whether it does. */
  heardAt?: number
  /** It is being asked. */
  isAsked?: boolean
}

/**
 * An endpoint whose subscriptions bring nothing for this long, in ms, is asked a question: a
 * gateway answers pings itself, also where no node is left behind it.
 */
export const QUIET_MS = 30_000

/** Asks for a subscription; gives its id. */
export async function subscribeAt({ post, name }: SubscriptionSource, params: readonly unknown[]): Promise<string> {
  const method = 'eth_subscribe'
  // Not given up when the subscriber leaves: the node would keep a subscription without an owner.
  const id = (await postAlone(post, { method, params })).take()
  if (typeof id === 'string') return id
  throw new MalformedReplyError(`${name}: ${method}: expected the id of a subscription, received ${show(id)}`, { method, endpoint: name })
}

/** Ends a subscription. Whether the node hears of it is not waited for. */
export function unsubscribe(subscription: LiveSubscription, { post }: SubscriptionSource): void {
  const { id } = subscription
  const method = 'eth_unsubscribe'
  // Sent first: the socket is not to be closed as unused before.
  subscription.stop(id === undefined ? undefined : postAlone(post, { method, params: [id] }))
}

/** Resolves when the endpoint, which may be used, answers a question asked now. */
export async function answer({ check, post }: SubscriptionSource): Promise<void> {
  await check()
  await postAlone(post, ethereum.askChain)
}

/**
 * Asks the endpoint a question if it has been quiet. One that says nothing within its timeout loses
 * its socket by that, and so the subscription. Gives the time at which to do so again.
 */
export function askIfQuiet(source: SubscriptionSource, now: () => number): number {
  const at = now()
  const quietAt = (source.heardAt ?? 0) + QUIET_MS
  if (at < quietAt) return quietAt
  // Never twice at a time: another request in flight would keep the socket.
  if (!source.isAsked) {
    source.isAsked = true
    const onEnd = () => {
      source.isAsked = false
      source.heardAt = now()
    }
    void postAlone(source.post, ethereum.askChain).then(onEnd, onEnd)
  }
  return at + QUIET_MS
}
