/** Controllers that stop with a signal, and its event listener. */
interface Group {
  readonly controllers: Set<WeakRef<AbortController>>
  readonly onAbort: (event: Event) => void
}

/** Weak: what is abandoned without being released goes with its signal. */
const groups = new WeakMap<AbortSignal, Group>()

/** A signal does not hold its controller, and would never be aborted without it. */
const controllersOf = new WeakMap<AbortSignal, AbortController>()

/** Takes controllers that were abandoned without being released out of their groups. */
const abandoned = new FinalizationRegistry<Held>(({ controller, group, signal }) => forget(controller, group, signal.deref()))

/** One of a group, without a strong reference to its signal, whose listeners may lead to it. */
interface Held {
  readonly controller: WeakRef<AbortController>
  readonly group: Group
  readonly signal: WeakRef<AbortSignal>
}

/**
 * A new controller that is aborted with `signal`, too, until `release` is called.
 * However many there are for one signal, it gets one event listener: Node.js warns of a leak at
 * eleven.
 *
 * A signal may live as long as the process, and a generator that its consumer abandons is never
 * told to end. So the signal holds no controller: what stops with it may be collected before it.
 */
export function stopWith(signal: AbortSignal | undefined): { readonly stop: AbortController; release(): void } {
  const stop = new AbortController()
  if (signal?.aborted) stop.abort(signal.reason)
  if (signal === undefined || signal.aborted) return { stop, release() {} }
  const group = groups.get(signal) ?? groupOf(signal)
  const controller = new WeakRef(stop)
  group.controllers.add(controller)
  controllersOf.set(stop.signal, stop)
  abandoned.register(stop, { controller, group, signal: new WeakRef(signal) }, controller)
  return {
    stop,
    release() {
      abandoned.unregister(controller)
      forget(controller, group, signal)
    },
  }
}

function forget(controller: WeakRef<AbortController>, group: Group, signal: AbortSignal | undefined): void {
  const { controllers, onAbort } = group
  controllers.delete(controller)
  if (signal === undefined || controllers.size > 0 || groups.get(signal) !== group) return
  signal.removeEventListener('abort', onAbort)
  groups.delete(signal)
}

function groupOf(signal: AbortSignal): Group {
  const controllers = new Set<WeakRef<AbortController>>()
  // Without a reference to the signal, for `Held`.
  const onAbort = ({ target }: Event) => {
    const { reason } = target as AbortSignal
    for (const each of [...controllers]) each.deref()?.abort(reason)
  }
  const group = { controllers, onAbort }
  signal.addEventListener('abort', onAbort)
  groups.set(signal, group)
  return group
}
