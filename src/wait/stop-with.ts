/** Controllers that stop with a signal, and its event listener. */
interface Group {
  readonly controllers: Set<AbortController>
  readonly onAbort: () => void
}

/** Weak: what is abandoned without being released goes with its signal. */
const groups = new WeakMap<AbortSignal, Group>()

/**
 * A controller of one's own, which is also aborted when `signal` is, until `release` is called.
 * However many there are for one signal, it gets one event listener: Node.js warns of a leak at
 * eleven.
 */
export function stopWith(signal: AbortSignal | undefined): { readonly stop: AbortController; release(): void } {
  const stop = new AbortController()
  if (signal?.aborted) stop.abort(signal.reason)
  if (signal === undefined || signal.aborted) return { stop, release() {} }
  const group = groups.get(signal) ?? groupOf(signal)
  const { controllers, onAbort } = group
  controllers.add(stop)
  return {
    stop,
    release() {
      controllers.delete(stop)
      if (controllers.size > 0 || groups.get(signal) !== group) return
      signal.removeEventListener('abort', onAbort)
      groups.delete(signal)
    },
  }
}

function groupOf(signal: AbortSignal): Group {
  const controllers = new Set<AbortController>()
  const onAbort = () => {
    for (const each of [...controllers]) each.abort(signal.reason)
  }
  const group = { controllers, onAbort }
  signal.addEventListener('abort', onAbort)
  groups.set(signal, group)
  return group
}
