import { MalformedReplyError } from '../errors.ts'
import { BodyProgress } from '../http/progress.ts'
import type { Call, Outcome, Post, Send } from '../rpc/call.ts'
import { createQueue } from '../rpc/queue/queue.ts'
import type { Backoff } from '../rpc/retry-delay.ts'
import { systemClock } from '../wait/clock.ts'
import { Waiting } from '../wait/waiting.ts'

/** What the calls to one host with one key share: the line in which they wait, and all that it learns of the host's limits. */
export interface Endpoint {
  /** Sends a call whose only param is a `Get`. */
  readonly send: Send
  readonly waiting: Waiting
  /** How long its replies may stop in their middle. */
  readonly progress: BodyProgress
}

/** Makes the one exchange of an attempt. Never rejects. */
export type Get = (call: Call, signal: AbortSignal) => Promise<Outcome>

/** As many GETs at a time as a batch of JSON-RPC has calls. */
const CONCURRENCY = 100
/** An endpoint that throttles everything, and does not say for how long, is left alone for this long: the defaults of `createClient`. */
const BACKOFF: Backoff = { baseDelayMs: 150, maxDelayMs: 10_000 }
/** What was learnt of an endpoint is dropped when it has not been used for this long: the longest pause that the queue knows. */
const REMEMBERED_MS = 600_000

interface Known {
  readonly endpoint: Endpoint
  usedAt: number
}

/** Limits hold for a key at a host, whatever object describes the service; so what is learnt of them is found by those two. */
const known = new Map<string, Known>()

/** The endpoint for calls to `host` with `apiKey`. */
export function endpointAt(host: string, apiKey: string): Endpoint {
  const name = `${host} ${apiKey}`
  const now = performance.now()
  const found = known.get(name)
  if (found !== undefined) {
    found.usedAt = now
    return found.endpoint
  }
  for (const [each, { usedAt }] of known) if (now - usedAt > REMEMBERED_MS) known.delete(each)
  const endpoint = createEndpoint(host)
  known.set(name, { endpoint, usedAt: now })
  return endpoint
}

/** The queue of an endpoint that knows no batches: each call travels alone. */
function createEndpoint(name: string): Endpoint {
  const waiting = new Waiting(systemClock)
  const { send } = createQueue({
    name,
    post,
    waiting,
    concurrency: CONCURRENCY,
    singleConcurrency: CONCURRENCY,
    maxCalls: 1,
    backoff: BACKOFF,
    isHeavy: () => false,
    dedupe: false,
  })
  return { send, waiting, progress: new BodyProgress() }
}

const post: Post = ([call], signal) => {
  const [get] = call?.params ?? []
  // Only `Endpoint.send` leads here.
  return Promise.all([call !== undefined && typeof get === 'function' ? (get as Get)(call, signal) : new MalformedReplyError('a call without its GET')])
}
