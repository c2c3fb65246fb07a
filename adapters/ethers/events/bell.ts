import type { Client } from '../../../src/client/client.ts'
import { listenOf } from '../../../src/client/internals.ts'
import { readNumber } from '../../block-header.ts'

/** Hears of new blocks. What it hears is a hint: the node has to be asked. */
export interface Ringer {
  /** There may be a new block; its number, where the node has said it. */
  rung(number?: number): void
  /** New blocks are not announced until it rings again. */
  silent(): void
}

/** Starts to ring at new blocks; gives the function that ends it. */
export type Bell = (ringer: Ringer) => () => void

/** The bell of a client: its subscription to new heads. Undefined for one without a WebSocket. */
export function bellOf(client: Client): Bell | undefined {
  const listen = listenOf(client)
  if (listen === undefined) return undefined
  return (ringer) =>
    listen(
      ['newHeads'],
      {
        // Blocks may have come before the subscription, or while there was none.
        started: () => ringer.rung(),
        gap: () => ringer.rung(),
        notified: (head) => ringer.rung(readNumber(head)),
        lost: () => ringer.silent(),
        // A node without subscriptions: there is still polling.
        ended: () => ringer.silent(),
      },
      undefined,
    )
}
