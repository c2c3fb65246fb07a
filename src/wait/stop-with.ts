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

/** A controller that stops with a signal. */
export interface Stop {
  readonly stop: AbortController
  /** It does not stop with the signal any more. */
  release(): void
  /** The same, and what still runs is stopped: nobody waits for it. */
  end(): void
}

/** Nobody sees it. A reason that is given costs less than one that the signal makes. */
const ENDED: unique symbol = Symbol('nobody waits for it any more')

/**
 * A new controller that is aborted with `signal`, too, until `release` or `end` is called. However
 * many there are for one signal, it gets one event listener: Node.js warns of a leak at eleven.
 *
 * A signal may live as long as the process, and a generator that its consumer abandons is never
 * told to end. So the signal holds no controller: what stops with it may be collected before it.
 */
export function stopWith(signal: AbortSignal | undefined): Stop {
  const stop = new AbortController()
  const release = signal === undefined ? () => {} : follow(signal, stop)
  return {
    stop,
    release,
    end() {
      release()
      stop.abort(ENDED)
    },
  }
}

/** Aborts `stop` with `signal`, until the function that it returns is called. */
function follow(signal: AbortSignal, stop: AbortController): () => void {
  if (signal.aborted) {
    stop.abort(signal.reason)
    return () => {}
  }
  const group = groups.get(signal) ?? groupOf(signal)
  const controller = new WeakRef(stop)
  group.controllers.add(controller)
  controllersOf.set(stop.signal, stop)
  abandoned.register(stop, { controller, group, signal: new WeakRef(signal) }, controller)
  return () => {
    abandoned.unregister(controller)
    forget(controller, group, signal)
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
