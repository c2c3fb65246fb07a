import type { Address, Hash, LogTopic } from 'viem'
import type { Client as HexlineClient } from '../../../src/client/client.ts'
import { listenOf } from '../../../src/client/internals.ts'
import { guarded } from '../../../src/wait/throw-later.ts'
import { viemError } from '../format/viem-error.ts'
import type { AnnouncedBlocks } from './announced-blocks.ts'
import { HeadBackfill } from './head-backfill.ts'
import { type Listener, listenOrPoll } from './listen-or-poll.ts'
import { LogBackfill } from './log-backfill.ts'

/** What viem's `webSocket()` transport takes. */
export interface SubscribeParameters {
  readonly params:
    | ['newHeads']
    | ['newPendingTransactions']
    | ['logs', { address?: Address | Address[] | undefined; topics?: LogTopic[] | undefined }]
    | ['syncing']
  /** Gets `{ subscription, result }` of each notification, as the node sent it. */
  readonly onData: (data: { subscription: Hash; result: unknown }) => void
  readonly onError?: ((error: unknown) => void) | undefined
}

/** A subscription that a transport has made. */
export interface SubscribeReturnType {
  /** The same through reconnects: it is not the node's. */
  readonly subscriptionId: Hash
  unsubscribe(): Promise<{ jsonrpc: '2.0'; id: number; result: boolean }>
}

/**
 * Subscribes as viem's `webSocket()` does, and stays subscribed through reconnects. Heads and logs
 * that were missed in the meantime are delivered afterwards, each once; pending transactions that
 * were missed are not. While no WebSocket has the subscription, heads and logs are fetched at the
 * viem client's `pollingInterval`, if the client has an endpoint of another kind. Rejects with
 * viem's errors. `onError` is called when the subscription has ended, or when something that was
 * missed cannot be fetched.
 */
export type Subscribe = (parameters: SubscribeParameters) => Promise<SubscribeReturnType>

/** How often heads and logs are fetched while no WebSocket has the subscription, in ms. */
const POLL_MS = 4_000

/**
 * `subscribe` of a transport; undefined for a client without a WebSocket. Heads are `announced`
 * before they are delivered.
 */
export function subscribeOf(client: HexlineClient, pollMs: number = POLL_MS, announced?: AnnouncedBlocks): Subscribe | undefined {
  const listen = listenOf(client)
  if (listen === undefined) return undefined
  return async ({ params, onData, onError }) => {
    // Fields that are undefined would be left out anyway.
    const sent = JSON.parse(JSON.stringify(params)) as SubscribeParameters['params']
    const subscription = `0x${crypto.randomUUID().replaceAll('-', '')}` as const
    // What these throw must reach neither the socket nor the notifications that follow.
    const deliver = guarded((result: unknown) => {
      if (params[0] === 'newHeads') announced?.add(result)
      onData({ subscription, result })
    })
    const told = (error: unknown) => viemError(error, { method: 'eth_subscribe', params: sent }, client.endpoints)
    const [name, filter] = sent
    const failed = guarded((error: unknown) => onError?.(told(error)))
    const backfill =
      name === 'logs' ? new LogBackfill(client, filter, deliver, failed) : name === 'newHeads' ? new HeadBackfill(client, deliver, failed) : undefined
    try {
      await backfill?.start()
      const stop = await new Promise<() => void>((resolve, reject) => {
        let isReady = false
        const listener: Listener = {
          ready() {
            isReady = true
            // Not before `listenOrPoll` has returned.
            queueMicrotask(() => resolve(stopListening))
          },
          notified: (result) => (backfill === undefined ? deliver(result) : backfill.notified(result)),
          fill: backfill && (() => backfill.fill()),
          poll: backfill instanceof LogBackfill ? () => backfill.poll() : undefined,
          ended(error) {
            if (isReady) failed(error)
            else reject(error)
          },
        }
        const stopListening = listenOrPoll(client, listen, sent, listener, pollMs)
      })
      return {
        subscriptionId: subscription,
        async unsubscribe() {
          stop()
          backfill?.stop()
          return { jsonrpc: '2.0', id: 0, result: true }
        },
      }
    } catch (error) {
      backfill?.stop()
      throw told(error)
    }
  }
}
