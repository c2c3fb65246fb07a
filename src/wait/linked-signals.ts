/** What joins a signal: aborted when the signal is. */
interface Audience {
  readonly controllers: Set<AbortController>
  readonly listener: () => void
}

/**
 * Signals that abort when either of two does, until they are released. Each signal has one listener however many join it,
 * and remembers nothing of what was released: `AbortSignal.any` on a signal that lives long keeps a trace of every call.
 */
export class Joints {
  readonly #audiences = new Map<AbortSignal, Audience>()

  join(a: AbortSignal, b: AbortSignal): { readonly signal: AbortSignal; release(): void } {
    const either = new AbortController()
    for (const signal of [a, b]) {
      if (signal.aborted) either.abort(signal.reason)
      else this.#audienceOf(signal).controllers.add(either)
    }
    return {
      signal: either.signal,
      release: () => {
        for (const signal of [a, b]) this.#leave(signal, either)
      },
    }
  }

  #audienceOf(signal: AbortSignal): Audience {
    let audience = this.#audiences.get(signal)
    if (audience === undefined) {
      const controllers = new Set<AbortController>()
      const listener = () => {
        for (const each of controllers) each.abort(signal.reason)
      }
      audience = { controllers, listener }
      this.#audiences.set(signal, audience)
      signal.addEventListener('abort', audience.listener)
    }
    return audience
  }

  #leave(signal: AbortSignal, controller: AbortController): void {
    const audience = this.#audiences.get(signal)
    if (audience === undefined) return
    audience.controllers.delete(controller)
    if (audience.controllers.size > 0) return
    signal.removeEventListener('abort', audience.listener)
    this.#audiences.delete(signal)
  }
}
