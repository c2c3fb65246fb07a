import { BodyProgress } from '../http/progress.ts'
import { Agent, Dispatcher, getGlobalDispatcher } from '../http/undici.ts'
import { createTaskQueue, type RunTask } from '../rpc/queue/tasks.ts'
import type { Backoff } from '../rpc/retry-delay.ts'
import { systemClock } from '../wait/clock.ts'
import { Waiting } from '../wait/waiting.ts'

/**
 * What the GETs to one host with one key share: the line in which they wait, what is learnt of the
 * host's limits, and sockets.
 */
export class ServiceEndpoint {
  readonly run: RunTask
  readonly waiting = new Waiting(systemClock)
  /** How long its replies may stop in their middle. */
  readonly progress = new BodyProgress()
  /** When it was last asked for. */
  usedAt = 0
  #agent: Agent | undefined

  constructor(host: string) {
    this.run = createTaskQueue({ name: host, waiting: this.waiting, concurrency: CONCURRENCY, backoff: BACKOFF })
  }

  /** What sends where the user gave nothing: undici's global dispatcher, or an agent of its own. */
  get dispatcher(): Dispatcher {
    const global = getGlobalDispatcher()
    if (global instanceof Dispatcher) return global
    // Node's own fetch, where it was used first, has set one of another version, which speaks
    // another protocol.
    this.#agent ??= new Agent()
    return this.#agent
  }
}

/** As many GETs at a time as a batch of JSON-RPC has calls. */
const CONCURRENCY = 100
/** The defaults of `createClient`. */
const BACKOFF: Backoff = { baseDelayMs: 150, maxDelayMs: 10_000 }

/**
 * An endpoint that was not used for this long is forgotten: the longest pause that the queue knows,
 * in ms.
 */
const REMEMBERED_MS = 600_000

/**
 * The endpoints in use, by host and key. A provider limits a key, whatever object holds it:
 * programs write `getTransaction({ dataUrl, apiKey }, ...)` with a new object each time, and calls
 * of two such objects must share what is learnt. No object that a user made lives as long as that,
 * so it is kept here.
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
