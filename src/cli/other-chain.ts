import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Events } from '../rpc/events.ts'

const CHANNEL = 'hexline:route' satisfies keyof Events

/**
 * Warns of each endpoint that is not used because it is on another chain: otherwise a job would run
 * on fewer nodes than were named, and nobody would know. The returned function ends that.
 */
export function warnOfOtherChain(warn: (sentence: string) => void): () => void {
  const onRoute = (message: unknown) => {
    const event = message as Events[typeof CHANNEL]
    if (event.change === 'taken-out') warn(`${event.endpoint} is on chain ${event.chainId}, not ${event.expectedChainId}, and is not used`)
  }
  subscribe(CHANNEL, onRoute)
  return () => {
    unsubscribe(CHANNEL, onRoute)
  }
}
