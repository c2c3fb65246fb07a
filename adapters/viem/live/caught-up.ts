import type { Client } from '../../../src/client/client.ts'
import { clockOf, napOf } from '../../../src/client/internals.ts'

/** How long a node may be behind what was delivered before its chain counts as shorter, in ms. */
const MOST_MS = 10_000
/** How often its head is looked at, in ms. */
const LOOK_EVERY_MS = 250

/**
 * The head of the node, as `look` gives it, once it is not below the newest block that was
 * delivered. After the loss of a socket, another node may answer, which lags behind the first one:
 * what it does not have yet was not replaced. A node that stays below has a shorter chain.
 */
export async function caughtUp(client: Client, newest: number, look: () => Promise<number>, signal: AbortSignal): Promise<number> {
  const clock = clockOf(client)
  const until = clock.now() + MOST_MS
  for (;;) {
    const head = await look()
    if (head >= newest || clock.now() >= until) return head
    await napOf(client)('eth_subscribe', clock.now() + LOOK_EVERY_MS, signal).over
  }
}
