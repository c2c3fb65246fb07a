import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { isKnown } from '../eth/methods.ts'
import { type PostEnd, watchCalls } from '../rpc/call-watchers.ts'
import { type CallEvent, type Events, numbered, type RetryEvent, type RouteEvent, type ThrottleEvent } from '../rpc/events.ts'
import { Histogram, Series, type Value } from './series.ts'

/** One metric, as Prometheus and OpenTelemetry describe it. */
interface Description {
  /** Without `hexline`, in words: `post.duration` is `hexline_post_duration_seconds`. */
  readonly name: string
  readonly help: string
  /** UCUM code, or a noun in braces. */
  readonly unit: string
  readonly labels: readonly string[]
}

/** A metric with its figures. */
export type Metric =
  | (Description & { readonly type: 'counter' | 'gauge'; readonly series: Iterable<[readonly string[], Value]> })
  | (Description & { readonly type: 'histogram'; readonly bounds: readonly number[]; readonly series: Iterable<[readonly string[], Histogram]> })

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

/** Counts what the process's clients do, from `record` to `stop`, and again from `resume` on. */
export interface Recorder {
  readonly metrics: readonly Metric[]
  /** Ends it; nothing is in flight then. A second call does nothing. */
  stop(): void
  /** Counts on, after `stop`. */
  resume(): void
}

/** What a recorder counts from its beginning, or from `resume`, to `stop`. */
interface Run {
  /** Calls that were told before: those after them count. */
  readonly callsBefore: number
  /** Calls that had been counted before. */
  readonly countedBefore: number
  /** POSTs in flight. */
  posts: number
}

/** Upper bounds of durations, in seconds: a node in the same rack, and one that is overloaded. */
export const SECONDS: readonly number[] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

/** Most endpoints with labels of their own: programs may take URLs from their users. */
const MOST_ENDPOINTS = 100

/** The label of a method that is not in the table, and of an endpoint beyond the first hundred. */
const OTHER = 'other'

/**
 * Counts what all clients of this process do from now on. Every label has few values: names of
 * endpoints (host and port), methods of the table, kinds of failures. `onPost` is given the
 * duration of each POST, in seconds, with the label of its endpoint.
 */
export function record(onPost?: (seconds: number, endpoint: string) => void): Recorder {
  const values = (depth: number) => new Series<Value>(depth, () => ({ value: 0 }))
  const histograms = (depth: number) => new Series(depth, () => new Histogram(SECONDS))
  const calls = values(4)
  const callSeconds = histograms(1)
  const resultBytes = values(1)
  const posts = values(2)
  const postSeconds = histograms(1)
  const postCalls = values(1)
  const failedCalls = values(2)
  const receivedBytes = values(1)
  const retries = values(2)
  const throttles = values(2)
  const routeChanges = values(2)
  const maxCalls = values(1)
  const maxPosts = values(1)
  const maxRate = values(1)

  const endpointLabel = endpointLabels()

  const methods = new Map<string, MethodFigures>()
  const figuresOf = (method: string): MethodFigures => {
    const label = isKnown(method) ? method : OTHER
    let figures = methods.get(label)
    if (figures === undefined) {
      figures = new MethodFigures(callSeconds.at(label), resultBytes.at(label), (endpoint, outcome, kind) =>
        calls.at(endpointLabel(endpoint), label, outcome, kind),
      )
      methods.set(label, figures)
    }
    return figures
  }
  const counted = () => {
    let sum = 0
    for (const [, { value }] of calls) sum += value
    return sum
  }
  let run: Run | undefined
  let unwatch = () => {}
  const endpoints = new Map<string, PostFigures>()
  const postFiguresOf = (endpoint: string): PostFigures => {
    const label = endpointLabel(endpoint)
    let figures = endpoints.get(label)
    if (figures === undefined) {
      figures = new PostFigures(label, postSeconds.at(label), postCalls.at(label), receivedBytes.at(label), (status) => posts.at(label, status))
      endpoints.set(label, figures)
    }
    return figures
  }
  let lastEndpoint: string | undefined
  let lastPostFigures: PostFigures | undefined
  const postEnded: PostEnd = ({ endpoint, status, failures, isCut, durationMs, bytes, calls }) => {
    if (endpoint !== lastEndpoint || lastPostFigures === undefined) {
      lastPostFigures = postFiguresOf(endpoint)
      lastEndpoint = endpoint
    }
    const seconds = durationMs / 1000
    lastPostFigures.ended(isCut ? 'cut' : status, seconds, calls, bytes)
    const { label } = lastPostFigures
    for (const kind in failures) failedCalls.at(label, kind).value += failures[kind as keyof typeof failures] ?? 0
    onPost?.(seconds, label)
  }
  let lastMethod: string | undefined
  let lastFigures: MethodFigures | undefined
  const listeners: { readonly [Name in keyof Events]?: (event: Events[Name]) => void } = {
    'hexline:retry': ({ endpoint, kind }: RetryEvent) => {
      retries.at(endpointLabel(endpoint), kind).value++
    },
    'hexline:throttle': ({ endpoint, kind, ...limits }: ThrottleEvent) => {
      const label = endpointLabel(endpoint)
      if (kind !== undefined) throttles.at(label, kind).value++
      maxCalls.at(label).value = limits.maxCalls
      maxPosts.at(label).value = limits.concurrency
      if (limits.callsPerSecond !== undefined) maxRate.at(label).value = limits.callsPerSecond
    },
    'hexline:route': ({ endpoint, change }: RouteEvent) => {
      routeChanges.at(endpointLabel(endpoint), change).value++
    },
  }
  const listened = Object.entries(listeners) as [string, (message: unknown) => void][]
  const begin = () => {
    const begun: Run = { callsBefore: numbered.calls, countedBefore: counted(), posts: 0 }
    /** One for all POSTs of this run. */
    const ended: PostEnd = (figures) => {
      if (run !== begun) return
      begun.posts--
      postEnded(figures)
    }
    unwatch = watchCalls({
      ended: (id, method, outcome, endpoint, _attempts, durationMs, bytes, failure) => {
        if (id <= begun.callsBefore) return
        // Most calls are of the method of the one before: a comparison.
        if (method !== lastMethod || lastFigures === undefined) {
          lastFigures = methods.get(method) ?? figuresOf(method)
          lastMethod = method
        }
        lastFigures.ended(outcome, endpoint, durationMs, bytes, failure)
      },
      postBegun: () => {
        begun.posts++
        return ended
      },
    })
    for (const [name, listener] of listened) subscribe(name, listener)
    run = begun
  }
  begin()
  return {
    metrics: [
      counter('calls', 'Calls that have ended, after all their attempts.', '{call}', ['endpoint', 'method', 'outcome', 'kind'], calls),
      histogram('call.duration', 'From a call to its end: queueing, attempts, and the waits between them.', ['method'], callSeconds),
      gauge(
        'calls.in_flight',
        'Calls that have not ended yet.',
        '{call}',
        [],
        single(() => (run === undefined ? 0 : numbered.calls - run.callsBefore - (counted() - run.countedBefore))),
      ),
      counter(
        'result.size',
        'Results after decompression; replies parsed as a whole count with their envelope, in equal shares for the calls of a batch.',
        'By',
        ['method'],
        resultBytes,
      ),
      counter('posts', 'POSTs that have ended, by the class of their HTTP status.', '{post}', ['endpoint', 'status'], posts),
      histogram('post.duration', 'From the start of a POST to the end of its reply.', ['endpoint'], postSeconds),
      gauge(
        'posts.in_flight',
        'POSTs that have not ended yet.',
        '{post}',
        [],
        single(() => run?.posts ?? 0),
      ),
      counter('post.calls', 'Calls in POSTs.', '{call}', ['endpoint'], postCalls),
      counter('post.failed_calls', 'Calls in POSTs that failed there.', '{call}', ['endpoint', 'kind'], failedCalls),
      counter('received.size', 'Bodies of replies after decompression.', 'By', ['endpoint'], receivedBytes),
      counter('retries', 'Failed attempts that are repeated.', '{attempt}', ['endpoint', 'kind'], retries),
      counter('throttles', 'Times that an endpoint throttled a POST, or was sent less because of failures.', '{post}', ['endpoint', 'kind'], throttles),
      counter('route.changes', 'Endpoints left out, back or taken out, and calls moved to another one.', '{change}', ['endpoint', 'change'], routeChanges),
      gauge('limit.batch', 'Longest batch, once limits have changed.', '{call}', ['endpoint'], maxCalls),
      gauge('limit.concurrency', 'POSTs that may be in flight, once limits have changed.', '{post}', ['endpoint'], maxPosts),
      gauge('limit.rate', 'Calls per second, as set or as learnt from throttling.', '{call}/s', ['endpoint'], maxRate),
    ],
    stop() {
      if (run === undefined) return
      run = undefined
      unwatch()
      for (const [name, listener] of listened) unsubscribe(name, listener)
    },
    resume() {
      if (run === undefined) begin()
    },
  }
}

/** The figures of the POSTs to one endpoint. */
class PostFigures {
  readonly label: string
  readonly #seconds: Histogram
  readonly #calls: Value
  readonly #bytes: Value
  readonly #countOf: (status: string) => Value
  /** That of the status that came last. */
  #lastStatus: number | 'cut' | undefined
  #last: Value | undefined

  constructor(label: string, seconds: Histogram, calls: Value, bytes: Value, countOf: (status: string) => Value) {
    this.label = label
    this.#seconds = seconds
    this.#calls = calls
    this.#bytes = bytes
    this.#countOf = countOf
  }

  /** A POST has ended. */
  ended(status: number | 'cut' | undefined, seconds: number, calls: number, bytes: number): void {
    // Most POSTs end with the status of the one before: a comparison.
    if (status !== this.#lastStatus || this.#last === undefined) {
      this.#last = this.#countOf(statusLabel(status))
      this.#lastStatus = status
    }
    this.#last.value++
    this.#seconds.add(seconds)
    this.#calls.value += calls
    this.#bytes.value += bytes
  }
}

/** The figures of one method. */
class MethodFigures {
  readonly #seconds: Histogram
  readonly #bytes: Value
  readonly #countOf: (endpoint: string | undefined, outcome: CallEvent['outcome'], kind: string | undefined) => Value
  /** Counts of answered calls by the name of the endpoint, and the one that was last used. */
  readonly #answered = new Map<string, Value>()
  #lastEndpoint = ''
  #last: Value = { value: 0 }

  constructor(seconds: Histogram, bytes: Value, countOf: (endpoint: string | undefined, outcome: CallEvent['outcome'], kind: string | undefined) => Value) {
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

/** The series of a metric without labels, read when it is collected. */
function single(current: () => number): Iterable<[readonly string[], Value]> {
  return {
    *[Symbol.iterator]() {
      yield [[], { value: current() }]
    },
  }
}

function counter(name: string, help: string, unit: string, labels: readonly string[], series: Iterable<[readonly string[], Value]>): Metric {
  return { type: 'counter', name, help, unit, labels, series }
}

function gauge(name: string, help: string, unit: string, labels: readonly string[], series: Iterable<[readonly string[], Value]>): Metric {
  return { type: 'gauge', name, help, unit, labels, series }
}

function histogram(name: string, help: string, labels: readonly string[], series: Iterable<[readonly string[], Histogram]>): Metric {
  return { type: 'histogram', name, help, unit: 's', labels, bounds: SECONDS, series }
}

function statusLabel(status: number | 'cut' | undefined): string {
  return status === 'cut' ? status : status === undefined ? 'none' : `${Math.floor(status / 100)}xx`
}
