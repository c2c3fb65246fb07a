/** Something that ends when a signal is aborted. */
export interface Abortable {
  /** Called once, with the signal's reason. */
  cancel(reason: unknown): void
}

/** By signals, for as long as these live. */
const waiting = new WeakMap<AbortSignal, Set<Abortable>>()

/**
 * Cancels `each` when the signal is aborted, which it is not yet, until `forgetAbort`.
 *
 * A signal keeps its one event listener to its own end: adding one for each request and removing it
 * costs more than the rest of a small request. So this is for signals of hexline's own that serve
 * one request after another, not for those of users.
 */
export function onAbort(signal: AbortSignal, each: Abortable): void {
  let those = waiting.get(signal)
  if (those === undefined) {
    const made = new Set<Abortable>()
    those = made
    waiting.set(signal, made)
    signal.addEventListener('abort', () => {
      for (const one of [...made]) if (made.delete(one)) one.cancel(signal.reason)
    })
  }
  those.add(each)
}

export function forgetAbort(signal: AbortSignal, each: Abortable): void {
  waiting.get(signal)?.delete(each)
}
