import { isKnown } from '../eth/methods.ts'
import type { PostEnd } from '../rpc/call-watchers.ts'
import type { CallEvent, RetryEvent, RouteEvent, ThrottleEvent } from '../rpc/events.ts'
import { counter, gauge, histogram, type Metric, SECONDS, single } from './metric.ts'
import { type Adding, Histogram, Series, Sum, type Value } from './series.ts'

/** Most endpoints with labels of their own: programs may take URLs from their users. */
const MOST_ENDPOINTS = 100

/** The label of a method that is not in the table, and of an endpoint beyond the first hundred. */
const OTHER = 'other'

/** Is told the duration of a POST, in seconds, and the label of its endpoint. */
export type OnPost = (seconds: number, endpoint: string) => void

/** A POST that has ended. */
type PostEnded = Parameters<PostEnd>[0]

/** Most POSTs to an endpoint that wait to be counted. */
const MOST_WAITING = 256

/** What is kept of the durations of calls. */
export type CallDurations = 'histogram' | 'sum'

/**
 * The figures of all metrics. Every label has few values: names of endpoints (host and port),
 * methods of the table, kinds of failures.
 */
export class Figures {
  readonly #calls = values(4)
  readonly #callSeconds: Series<Adding>
  readonly #callDuration: Metric
  readonly #resultBytes = values(1)
  readonly #posts = values(2)
  readonly #postSeconds = histograms(1)
  readonly #postCalls = values(1)
  readonly #failedCalls = values(2)
  readonly #receivedBytes = values(1)
  readonly #retries = values(2)
  readonly #throttles = values(2)
  readonly #routeChanges = values(2)
  readonly #maxCalls = values(1)
  readonly #maxPosts = values(1)
  readonly #maxRate = values(1)
  readonly #onPost: OnPost | undefined
  readonly #endpointLabel = endpointLabels()
  /** By label, and the one that was last used. */
  readonly #methods = new Map<string, MethodFigures>()
  #lastMethod: string | undefined
  #ofLastMethod: MethodFigures | undefined
  /** By label, and the one that was last used. */
  readonly #endpoints = new Map<string, PostFigures>()
  #lastEndpoint: string | undefined
  #ofLastEndpoint: PostFigures | undefined

  /** `onPost` is told of each POST when it is counted. */
  constructor(callDurations: CallDurations, onPost: OnPost | undefined) {
    this.#onPost = onPost
    const help = 'From a call to its end: queueing, attempts, and the waits between them.'
    if (callDurations === 'histogram') {
      const seconds = histograms(1)
      this.#callSeconds = seconds
      this.#callDuration = histogram('call.duration', help, ['method'], seconds)
    } else {
      const seconds = new Series(1, () => new Sum())
      this.#callSeconds = seconds
      this.#callDuration = counter('call.duration.sum', help, 's', ['method'], seconds)
    }
  }

  /** Number of calls that have ended. */
  get endedCalls(): number {
    let sum = 0
    for (const [, { value }] of this.#calls) sum += value
    return sum
  }

  callEnded(
    method: string,
    outcome: CallEvent['outcome'],
    endpoint: string | undefined,
    durationMs: number,
    bytes: number,
    failure: Pick<CallEvent, 'kind'> | undefined,
  ): void {
    // Most calls are of the method of the one before: a comparison.
    if (method !== this.#lastMethod || this.#ofLastMethod === undefined) {
      this.#ofLastMethod = this.#methods.get(method) ?? this.#figuresOf(method)
      this.#lastMethod = method
    }
    this.#ofLastMethod.ended(outcome, endpoint, durationMs, bytes, failure)
  }

  /** It counts at the next `settle` at the latest. */
  postEnded(post: PostEnded): void {
    const { endpoint } = post
    if (endpoint !== this.#lastEndpoint || this.#ofLastEndpoint === undefined) {
      this.#ofLastEndpoint = this.#postFiguresOf(endpoint)
      this.#lastEndpoint = endpoint
    }
    this.#ofLastEndpoint.ended(post)
  }

  /** Counts the POSTs that wait to be counted. To be called before the metrics are read. */
  settle(): void {
    for (const figures of this.#endpoints.values()) figures.settle()
  }

  retried({ endpoint, kind }: RetryEvent): void {
    this.#retries.at(this.#endpointLabel(endpoint), kind).value++
  }

  throttled({ endpoint, kind, ...limits }: ThrottleEvent): void {
    const label = this.#endpointLabel(endpoint)
    if (kind !== undefined) this.#throttles.at(label, kind).value++
    this.#maxCalls.at(label).value = limits.maxCalls
    this.#maxPosts.at(label).value = limits.concurrency
    // Without a rate, one that was learnt has been forgotten.
    if (limits.callsPerSecond === undefined) this.#maxRate.delete(label)
    else this.#maxRate.at(label).value = limits.callsPerSecond
  }

  routeChanged({ endpoint, change }: RouteEvent): void {
    this.#routeChanges.at(this.#endpointLabel(endpoint), change).value++
  }

  /** All metrics, each with its figures. `inFlight` is read when they are collected. */
  metrics(inFlight: { readonly calls: () => number; readonly posts: () => number }): readonly Metric[] {
    return [
      counter('calls', 'Calls that have ended, after all their attempts.', '{call}', ['endpoint', 'method', 'outcome', 'kind'], this.#calls),
      this.#callDuration,
      gauge('calls.in_flight', 'Calls that have not ended yet.', '{call}', [], single(inFlight.calls)),
      counter(
        'result.size',
        'Results after decompression; replies parsed as a whole count with their envelope, in equal shares for the calls of a batch.',
        'By',
        ['method'],
        this.#resultBytes,
      ),
      counter('posts', 'POSTs that have ended, by the class of their HTTP status.', '{post}', ['endpoint', 'status'], this.#posts),
      histogram('post.duration', 'From the start of a POST to the end of its reply.', ['endpoint'], this.#postSeconds),
      gauge('posts.in_flight', 'POSTs that have not ended yet.', '{post}', [], single(inFlight.posts)),
      counter('post.calls', 'Calls in POSTs.', '{call}', ['endpoint'], this.#postCalls),
      counter('post.failed_calls', 'Calls in POSTs that failed there.', '{call}', ['endpoint', 'kind'], this.#failedCalls),
      counter('received.size', 'Bodies of replies after decompression.', 'By', ['endpoint'], this.#receivedBytes),
      counter('retries', 'Failed attempts that are repeated.', '{attempt}', ['endpoint', 'kind'], this.#retries),
      counter('throttles', 'Times that an endpoint throttled a POST, or was sent less because of failures.', '{post}', ['endpoint', 'kind'], this.#throttles),
      counter(
        'route.changes',
        'Endpoints left out, back or taken out, and calls moved to another one.',
        '{change}',
        ['endpoint', 'change'],
        this.#routeChanges,
      ),
      gauge('limit.batch', 'Longest batch, once limits have changed.', '{call}', ['endpoint'], this.#maxCalls),
      gauge('limit.concurrency', 'POSTs that may be in flight, once limits have changed.', '{post}', ['endpoint'], this.#maxPosts),
      gauge('limit.rate', 'Calls per second, as set or as learnt from throttling.', '{call}/s', ['endpoint'], this.#maxRate),
    ]
  }

  #figuresOf(method: string): MethodFigures {
    const label = isKnown(method) ? method : OTHER
    let figures = this.#methods.get(label)
    if (figures === undefined) {
      figures = new MethodFigures(this.#callSeconds.at(label), this.#resultBytes.at(label), (endpoint, outcome, kind) =>
        this.#calls.at(this.#endpointLabel(endpoint), label, outcome, kind),
      )
      this.#methods.set(label, figures)
    }
    return figures
  }

  #postFiguresOf(endpoint: string): PostFigures {
    const label = this.#endpointLabel(endpoint)
    let figures = this.#endpoints.get(label)
    if (figures === undefined) {
      figures = new PostFigures({
        seconds: this.#postSeconds.at(label),
        calls: this.#postCalls.at(label),
        bytes: this.#receivedBytes.at(label),
        postsOf: (status) => this.#posts.at(label, status),
        failuresOf: (kind) => this.#failedCalls.at(label, kind),
        onPost: (seconds) => this.#onPost?.(seconds, label),
      })
      this.#endpoints.set(label, figures)
    }
    return figures
  }
}

/** Where the POSTs to one endpoint are counted. */
interface PostCounts {
  readonly seconds: Histogram
  readonly calls: Value
  readonly bytes: Value
  readonly postsOf: (status: string) => Value
  readonly failuresOf: (kind: string) => Value
  readonly onPost: (seconds: number) => void
}

/**
 * The figures of the POSTs to one endpoint. They are counted many at a time: what runs once for a
 * POST, among much else, takes several times as long as in a row. Only the first one since the last
 * `settle` counts at once, since its time can become the start of an interval.
 */
class PostFigures {
  readonly #counts: PostCounts
  readonly #waiting: PostEnded[] = []
  #hasCounted = false
  /** The count of the status that came last. */
  #lastStatus: number | 'cut' | undefined
  #last: Value | undefined

  constructor(counts: PostCounts) {
    this.#counts = counts
  }

  /** A POST has ended. */
  ended(post: PostEnded): void {
    if (!this.#hasCounted) {
      this.#hasCounted = true
      this.#count(post)
    } else if (this.#waiting.push(post) === MOST_WAITING) this.#countAll()
  }

  settle(): void {
    this.#countAll()
    this.#hasCounted = false
  }

  #countAll(): void {
    for (const post of this.#waiting.splice(0)) this.#count(post)
  }

  #count({ status, failures, isCut, durationMs, bytes, calls }: PostEnded): void {
    const counts = this.#counts
    const outcome = isCut ? 'cut' : status
    // Most POSTs end with the status of the one before: a comparison.
    if (outcome !== this.#lastStatus || this.#last === undefined) {
      this.#last = counts.postsOf(statusLabel(outcome))
      this.#lastStatus = outcome
    }
    this.#last.value++
    counts.seconds.add(durationMs / 1000)
    counts.calls.value += calls
    counts.bytes.value += bytes
    for (const kind in failures) counts.failuresOf(kind).value += failures[kind as keyof typeof failures] ?? 0
    counts.onPost(durationMs / 1000)
  }
}

/** The figures of one method. */
class MethodFigures {
  readonly #seconds: Adding
  readonly #bytes: Value
  readonly #countOf: (endpoint: string | undefined, outcome: CallEvent['outcome'], kind: string | undefined) => Value
  /** Counts of answered calls by the name of the endpoint, and the one that was last used. */
  readonly #answered = new Map<string, Value>()
  #lastEndpoint = ''
  #last: Value = { value: 0 }

  constructor(seconds: Adding, bytes: Value, countOf: (endpoint: string | undefined, outcome: CallEvent['outcome'], kind: string | undefined) => Value) {
    this.#seconds = seconds
    this.#bytes = bytes
    this.#countOf = countOf
  }

  /** A call of the method has ended. */
  ended(outcome: CallEvent['outcome'], endpoint: string | undefined, durationMs: number, bytes: number, failure: Pick<CallEvent, 'kind'> | undefined): void {
    this.#seconds.add(durationMs / 1000)
    this.#bytes.value += bytes
    const count = outcome === 'answered' && endpoint !== undefined ? this.#answeredBy(endpoint) : this.#countOf(endpoint, outcome, failure?.kind)
    count.value++
  }

  /** Most calls are answered by the endpoint that answered the one before: a comparison. */
  #answeredBy(endpoint: string): Value {
    if (endpoint === this.#lastEndpoint) return this.#last
    let count = this.#answered.get(endpoint)
    if (count === undefined) {
      count = this.#countOf(endpoint, 'answered', undefined)
      if (this.#answered.size === MOST_ENDPOINTS) return count
      this.#answered.set(endpoint, count)
    }
    this.#lastEndpoint = endpoint
    this.#last = count
    return count
  }
}

/**
 * Gives the label of each endpoint: its name, empty where a call reached none, and `other` for all
 * after the first hundred.
 */
export function endpointLabels(): (name: string | undefined) => string {
  const names = new Set<string>()
  return (name) => {
    if (name === undefined || names.has(name)) return name ?? ''
    if (names.size === MOST_ENDPOINTS) return OTHER
    names.add(name)
    return name
  }
}

function values(labels: number): Series<Value> {
  return new Series<Value>(labels, () => ({ value: 0 }))
}

function histograms(labels: number): Series<Histogram> {
  return new Series(labels, () => new Histogram(SECONDS))
}

function statusLabel(status: number | 'cut' | undefined): string {
  return status === 'cut' ? status : status === undefined ? 'none' : `${Math.floor(status / 100)}xx`
}
