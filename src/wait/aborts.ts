/** Something that ends when a signal is aborted. */
export interface Abortable {
  /** Called once, with the signal's reason. */
  cancel(reason: unknown): void
}

/** By signals, for as long as these live. Few wait at a time: a set would cost more. */
const waiting = new WeakMap<AbortSignal, Abortable[]>()

/**
 * Cancels `each` when the signal is aborted, which it is not yet, until `forgetAbort`.
 *
 * Each signal gets one event listener, for as long as it lives: adding and removing one for each
 * request costs more than the rest of a small request. So this is for signals of hexline's own that
 * serve one request after another, not for those of users.
 */
export function onAbort(signal: AbortSignal, each: Abortable): void {
  let those = waiting.get(signal)
  if (those === undefined) {
    const made: Abortable[] = []
    those = made
    waiting.set(signal, made)
    signal.addEventListener('abort', () => {
      for (let next = made.shift(); next !== undefined; next = made.shift()) next.cancel(signal.reason)
    })
  }
  those.push(each)
}

export function forgetAbort(signal: AbortSignal, each: Abortable): void {
  const those = waiting.get(signal)
  const at = those?.indexOf(each) ?? -1
  if (at >= 0) those?.splice(at, 1)
}
