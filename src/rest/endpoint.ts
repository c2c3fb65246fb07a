import { BodyProgress } from '../http/progress.ts'
import { Agent, Dispatcher, getGlobalDispatcher } from '../http/undici.ts'
import { DEFAULTS } from '../rpc/defaults.ts'
import { createTaskQueue, type RunTask } from '../rpc/queue/tasks.ts'
import { systemClock } from '../wait/clock.ts'
import { Waiting } from '../wait/waiting.ts'

/**
 * The state that GETs to one host with one key share: their queue, the limits learnt from the
 * host, and its sockets.
 */
export class ServiceEndpoint {
  readonly run: RunTask
  readonly waiting = new Waiting(systemClock)
  /** Stalls of its replies. */
  readonly progress = new BodyProgress()
  /** Time of its last use. */
  usedAt = 0
  #agent: Agent | undefined

  constructor(host: string) {
    this.run = createTaskQueue({ name: host, waiting: this.waiting, concurrency: CONCURRENCY, backoff: DEFAULTS })
  }

  /** The dispatcher to use by default: undici's global dispatcher, or one made here. */
  get dispatcher(): Dispatcher {
    const global = getGlobalDispatcher()
    if (global instanceof Dispatcher) return global
    // Node.js's own fetch, if it was used first, has set a dispatcher of another version with
    // another interface.
    this.#agent ??= new Agent()
    return this.#agent
  }
}

/** The number of GETs in flight, the same as the calls in a JSON-RPC batch. */
const CONCURRENCY = 100

/**
 * An endpoint is forgotten when it has not been used for this long, in ms: the longest pause of the
 * queue.
 */
const REMEMBERED_MS = 600_000

/**
 * The endpoints in use, by host and key. Providers limit a key, no matter which object holds it.
 * Programs write `getTransaction({ dataUrl, apiKey }, ...)` with a new object each time, and calls
 * of two such objects must share their limits. No user's object lives as long as that, so the state
 * is kept here.
 */
const inUse = new Map<string, ServiceEndpoint>()

/** The endpoint for calls to `host` with `apiKey`. */
export function endpointAt(host: string, apiKey: string): ServiceEndpoint {
  const name = `${host} ${apiKey}`
  const now = systemClock.now()
  let endpoint = inUse.get(name)
  if (endpoint === undefined) {
    for (const [each, { usedAt }] of inUse) if (now - usedAt > REMEMBERED_MS) inUse.delete(each)
    endpoint = new ServiceEndpoint(host)
    inUse.set(name, endpoint)
  }
  endpoint.usedAt = now
  return endpoint
}
