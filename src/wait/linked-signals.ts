import { type Listed, Listeners } from './listeners.ts'

/** Passes an abort on. */
interface Link extends Listed {
  readonly controller: AbortController
}

/**
 * Signals that abort when any of several does, until they are released: for each call, where
 * `AbortSignal.any` would leave a trace of it in a signal that lives long.
 */
export class LinkedSignals {
  readonly #links = new Listeners<Link>(({ controller }, reason) => controller.abort(reason))

  link(signals: readonly AbortSignal[]): { readonly signal: AbortSignal; release(): void } {
    const controller = new AbortController()
    const links = signals.map((signal) => {
      const link: Link = { controller, index: -1 }
      if (signal.aborted) controller.abort(signal.reason)
      else this.#links.add(signal, link)
      return () => this.#links.remove(signal, link)
    })
    return {
      signal: controller.signal,
      release: () => {
        for (const unlink of links) unlink()
      },
    }
  }
}
