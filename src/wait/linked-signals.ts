import { type Listed, Listeners } from './listeners.ts'

/** Passes an abort on. */
interface Link extends Listed {
  readonly controller: AbortController
}

/** Signals that abort when either of two does, until they are released. */
export class LinkedSignals {
  readonly #links = new Listeners<Link>(({ controller }, reason) => controller.abort(reason))

  link(a: AbortSignal, b: AbortSignal): { readonly signal: AbortSignal; release(): void } {
    const controller = new AbortController()
    const links = [a, b].map((signal) => {
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
