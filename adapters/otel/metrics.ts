import { type Attributes, type BatchObservableCallback, type Meter, type Observable, ROOT_CONTEXT } from '@opentelemetry/api'
import { type Metric, record, SECONDS } from '../../src/metrics/recorder.ts'
import { type CallWatcher, watchCalls } from '../../src/rpc/call-watchers.ts'
import { numbered } from '../../src/rpc/events.ts'
import { rpcMethod } from './attributes.ts'

const POST_DURATION = 'post.duration'

/** Of each meter that was measured with before: ends the reading of what was counted then. */
const readingOf = new WeakMap<Meter, () => void>()

/**
 * The metrics of `--metrics`, as OpenTelemetry names them. Counters and gauges are read when they
 * are collected, and cost calls nothing more; so is the sum of the durations of calls. A histogram
 * cannot be read so: the durations of POSTs are recorded, and those of calls where `callDurations`
 * is set.
 *
 * What was counted is still read after the end, so that the last collection of the SDK, when it is
 * shut down, has all of it. A gauge is not: it tells what is now.
 */
export function measure(meter: Meter, callDurations: boolean): () => void {
  readingOf.get(meter)?.()
  const durations = postDurations(meter)
  const recorder = record(durations.add)
  const stopCalls = callDurations ? watchCalls(callDurationsOf(meter)) : undefined
  const observed = recorder.metrics.filter(({ name }) => name !== POST_DURATION).map((metric) => [metric, observableOf(meter, metric)] as const)
  const observables = observed.map(([, observable]) => observable)
  let isStopped = false
  const observe: BatchObservableCallback = (result) => {
    durations.collected()
    for (const [metric, observable] of observed) {
      if (isStopped && metric.type === 'gauge') continue
      if (metric.type === 'histogram') {
        for (const [labels, { sum }] of metric.series) result.observe(observable, sum, labelled(metric.labels, labels))
        continue
      }
      for (const [labels, { value }] of metric.series) result.observe(observable, value, labelled(metric.labels, labels))
    }
  }
  meter.addBatchObservableCallback(observe, observables)
  readingOf.set(meter, () => meter.removeBatchObservableCallback(observe, observables))
  return () => {
    isStopped = true
    stopCalls?.()
    recorder.stop()
    durations.flush()
  }
}

function observableOf(meter: Meter, { type, name, help, unit }: Metric): Observable {
  const options = { description: help, unit }
  if (type === 'histogram') return meter.createObservableCounter(`hexline.${name}.sum`, options)
  return type === 'counter' ? meter.createObservableCounter(`hexline.${name}`, options) : meter.createObservableGauge(`hexline.${name}`, options)
}

function labelled(names: readonly string[], values: readonly string[]): Attributes {
  return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']))
}

const ADVICE = { explicitBucketBoundaries: [...SECONDS] }

/** Most durations that wait to be recorded. */
const MOST_WAITING = 256

/**
 * Records the duration of each POST: the first one to an endpoint since the last collection at
 * once, since its time can become the start of the interval, and the others together, before they
 * are collected.
 */
function postDurations(meter: Meter): { add(seconds: number, endpoint: string): void; flush(): void; collected(): void } {
  const description = 'From the start of a POST to the end of its reply.'
  const histogram = meter.createHistogram(`hexline.${POST_DURATION}`, { description, unit: 's', advice: ADVICE })
  const waiting = new Map<string, number[]>()
  const flush = () => {
    for (const [endpoint, all] of waiting) {
      for (const seconds of all.splice(0)) histogram.record(seconds, { endpoint }, ROOT_CONTEXT)
    }
  }
  return {
    add(seconds, endpoint) {
      const all = waiting.get(endpoint)
      if (all === undefined) {
        waiting.set(endpoint, [])
        histogram.record(seconds, { endpoint }, ROOT_CONTEXT)
      } else if (all.push(seconds) === MOST_WAITING) flush()
    },
    flush,
    collected() {
      flush()
      waiting.clear()
    },
  }
}

/** Records the duration of each call, with few attributes, since the SDK encodes them each time. */
function callDurationsOf(meter: Meter): CallWatcher {
  const description = 'From a call to its end: queueing, attempts, and the waits between them.'
  const histogram = meter.createHistogram('rpc.client.call.duration', { description, unit: 's', advice: ADVICE })
  /** As for `hexline.calls`, those that had begun by now do not count. */
  const callsBefore = numbered.calls
  const attributes = new Map<string, Map<string | undefined, Attributes>>()
  const attributesOf = (method: string, error: string | undefined): Attributes => {
    const name = rpcMethod(method)
    let ofMethod = attributes.get(name)
    if (ofMethod === undefined) {
      ofMethod = new Map()
      attributes.set(name, ofMethod)
    }
    let held = ofMethod.get(error)
    if (held === undefined) {
      held = { 'rpc.system.name': 'jsonrpc', 'rpc.method': name, ...(error !== undefined && { 'error.type': error }) }
      ofMethod.set(error, held)
    }
    return held
  }
  return {
    ended(id, method, outcome, _endpoint, _attempts, durationMs, _bytes, failure) {
      if (id <= callsBefore) return
      const error = outcome === 'answered' ? undefined : outcome === 'aborted' ? outcome : (failure?.kind ?? '_OTHER')
      histogram.record(durationMs / 1000, attributesOf(method, error), ROOT_CONTEXT)
    },
  }
}
