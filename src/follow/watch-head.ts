import type { Client } from '../client/client.ts'
import { clockOf } from '../client/internals.ts'
import type { Timer } from '../wait/clock.ts'
import { type Confirmations, look } from './look.ts'

/** How often the head is looked at while the stream catches up with it, in ms. */
const LOOK_AGAIN_MS = 5_000
/** Why a catch-up ends before its last block. */
export const HEAD_WAS_FALSE = new Error('the head was far too high')

/**
 * Looks at the head from time to time while a stream catches up with block `to`, which was far
 * below it, and aborts `stop` with `HEAD_WAS_FALSE` where the head is below that block: the head
 * that the catch-up began with was false, or the chain was reset. Blocks that do not exist would be
 * requested all the time. Ends when the returned function is called; a look that is on its way ends
 * with `stop`.
 *
 * A stream that is abandoned is not ended, so the timer does not hold the process up: the calls of
 * a catch-up do.
 */
export function watchHead(given: Client, confirmations: Confirmations, to: number, stop: AbortController): () => void {
  const clock = clockOf(given)
  const client = given.with({ signal: stop.signal })
  let isOver = false
  const wait = () => {
    timer = clock.wakeAt(clock.now() + LOOK_AGAIN_MS, lookAgain)
    timer.unref()
  }
  const lookAgain = async () => {
    // What fails here fails the catch-up, too, if it lasts.
    const target = await look(client, confirmations).catch(() => undefined)
    if (isOver) return
    if (target !== undefined && target.number < to) stop.abort(HEAD_WAS_FALSE)
    else wait()
  }
  let timer: Timer
  wait()
  return () => {
    isOver = true
    clock.cancel(timer)
  }
}
