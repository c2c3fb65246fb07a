import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type PostEnd, watchCalls } from '../rpc/call-watchers.ts'
import { type Events, numbered } from '../rpc/events.ts'
import { type CallDurations, Figures, type OnPost } from './figures.ts'
import type { Metric } from './metric.ts'

/** Counts what the process's clients do, from `record` to `stop`, and again from `resume` on. */
export interface Recorder {
  /** All of them, as they are now: POSTs wait to be counted until they are asked for. */
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

/**
 * Counts what all clients of this process do from now on. `onPost` is given the duration of each
 * POST, in seconds, with the label of its endpoint, when that is counted.
 */
export function record(callDurations: CallDurations = 'histogram', onPost?: OnPost): Recorder {
  const figures = new Figures(callDurations, onPost)
  const listeners: { readonly [Name in keyof Events]?: (event: Events[Name]) => void } = {
    'hexline:retry': (event) => figures.retried(event),
    'hexline:throttle': (event) => figures.throttled(event),
    'hexline:route': (event) => figures.routeChanged(event),
  }
  const listened = Object.entries(listeners) as [string, (message: unknown) => void][]
  let run: Run | undefined
  let unwatch = () => {}
  const begin = () => {
    const begun: Run = { callsBefore: numbered.calls, countedBefore: figures.endedCalls, posts: 0 }
    /** One for all POSTs of this run. */
    const postEnded: PostEnd = (end) => {
      if (run !== begun) return
      begun.posts--
      figures.postEnded(end)
    }
    unwatch = watchCalls({
      ended: (id, method, outcome, endpoint, _attempts, durationMs, bytes, failure) => {
        if (id > begun.callsBefore) figures.callEnded(method, outcome, endpoint, durationMs, bytes, failure)
      },
      postBegun: () => {
        begun.posts++
        return postEnded
      },
    })
    for (const [name, listener] of listened) subscribe(name, listener)
    run = begun
  }
  begin()
  const metrics = figures.metrics({
    calls: () => (run === undefined ? 0 : numbered.calls - run.callsBefore - (figures.endedCalls - run.countedBefore)),
    posts: () => run?.posts ?? 0,
  })
  return {
    get metrics() {
      figures.settle()
      return metrics
    },
    stop() {
      if (run === undefined) return
      run = undefined
      unwatch()
      for (const [name, listener] of listened) unsubscribe(name, listener)
      figures.settle()
    },
    resume() {
      if (run === undefined) begin()
    },
  }
}
