import { type Attributes, type BatchObservableCallback, type Meter, type Observable, ROOT_CONTEXT } from '@opentelemetry/api'
import type { OnPost } from '../../src/metrics/figures.ts'
import { type Metric, SECONDS } from '../../src/metrics/metric.ts'
import { type Recorder, record } from '../../src/metrics/recorder.ts'
import { processWide } from '../../src/process-wide.ts'
import { type CallWatcher, watchCalls } from '../../src/rpc/call-watchers.ts'
import { numbered } from '../../src/rpc/events.ts'
import { rpcMethod } from './attributes.ts'

/** What has been counted with one meter, and continues to be. */
const measured = processWide('measured', () => new WeakMap<Meter, Recorder>())

/**
 * The metrics of `--metrics`, as OpenTelemetry names them. Counters and gauges are read when they
 * are collected, and cost calls nothing more; so is the sum of the durations of calls. A histogram
 * cannot be read so: the durations of POSTs are recorded, and those of calls where `callDurations`
 * is set.
 *
 * A meter is read for good: the last collection of the SDK, when it is shut down, has all that was
 * counted, and measuring again with this meter continues the counts.
 */
export function measure(meter: Meter, callDurations: boolean): () => void {
  // Nothing has begun where one of these throws.
  const calls = callDurations ? callDurationsOf(meter) : undefined
  const before = measured.get(meter)
  before?.resume()
  const recorder = before ?? begin(meter)
  const stopCalls = calls && watchCalls(calls)
  return () => {
    stopCalls?.()
    recorder.stop()
  }
}

function begin(meter: Meter): Recorder {
  const recorder = record('sum', postDurations(meter))
  try {
    observe(meter, recorder)
  } catch (error) {
    recorder.stop()
    throw error
  }
  measured.set(meter, recorder)
  return recorder
}

/** Gives the recorder's figures to the meter whenever it collects them. */
function observe(meter: Meter, recorder: Recorder): void {
  const observables = scalars(recorder).map((metric) => observableOf(meter, metric))
  const callback: BatchObservableCallback = (result) => {
    for (const [i, { series, labels: names }] of scalars(recorder).entries()) {
      for (const [labels, { value }] of series) result.observe(observables[i] as Observable, value, labelled(names, labels))
    }
  }
  meter.addBatchObservableCallback(callback, observables)
}

/** All metrics but the histogram, which `postDurations` records when the metrics are asked for. */
function scalars({ metrics }: Recorder) {
  return metrics.filter((metric) => metric.type !== 'histogram')
}

function observableOf(meter: Meter, { type, name, help, unit }: Metric): Observable {
  const options = { description: help, unit }
  return type === 'counter' ? meter.createObservableCounter(`hexline.${name}`, options) : meter.createObservableGauge(`hexline.${name}`, options)
}

function labelled(names: readonly string[], values: readonly string[]): Attributes {
  return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']))
}

const ADVICE = { explicitBucketBoundaries: [...SECONDS] }

/** Records the duration of each POST. */
function postDurations(meter: Meter): OnPost {
  const description = 'From the start of a POST to the end of its reply.'
  const histogram = meter.createHistogram('hexline.post.duration', { description, unit: 's', advice: ADVICE })
  return (seconds, endpoint) => histogram.record(seconds, { endpoint }, ROOT_CONTEXT)
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
