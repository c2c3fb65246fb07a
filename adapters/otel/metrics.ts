import { type Attributes, type BatchObservableCallback, type Meter, type Observable, ROOT_CONTEXT } from '@opentelemetry/api'
import { type Metric, SECONDS } from '../../src/metrics/metric.ts'
import { type Recorder, record } from '../../src/metrics/recorder.ts'
import { processWide } from '../../src/process-wide.ts'
import { type CallWatcher, watchCalls } from '../../src/rpc/call-watchers.ts'
import { numbered } from '../../src/rpc/events.ts'
import { rpcMethod } from './attributes.ts'

/** What has been counted with one meter, and continues to be. */
interface Measured {
  readonly recorder: Recorder
  readonly durations: PostDurations
}

const measured = processWide('measured', () => new WeakMap<Meter, Measured>())

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
  before?.recorder.resume()
  const { recorder, durations } = before ?? begin(meter)
  const stopCalls = calls && watchCalls(calls)
  return () => {
    stopCalls?.()
    recorder.stop()
    durations.flush()
  }
}

function begin(meter: Meter): Measured {
  const durations = postDurations(meter)
  const recorder = record('sum', durations.add)
  try {
    observe(meter, recorder, durations)
  } catch (error) {
    recorder.stop()
    throw error
  }
  measured.set(meter, { recorder, durations })
  return { recorder, durations }
}

/** Gives the recorder's figures to the meter whenever it collects them. */
function observe(meter: Meter, recorder: Recorder, durations: PostDurations): void {
  // The only histogram is that of the POSTs, which `durations` records.
  const metrics = recorder.metrics.filter((metric) => metric.type !== 'histogram')
  const observed = metrics.map((metric) => [metric, observableOf(meter, metric)] as const)
  const callback: BatchObservableCallback = (result) => {
    durations.collected()
    for (const [{ series, labels: names }, observable] of observed) {
      for (const [labels, { value }] of series) result.observe(observable, value, labelled(names, labels))
    }
  }
  meter.addBatchObservableCallback(
    callback,
    observed.map(([, observable]) => observable),
  )
}

function observableOf(meter: Meter, { type, name, help, unit }: Metric): Observable {
  const options = { description: help, unit }
  return type === 'counter' ? meter.createObservableCounter(`hexline.${name}`, options) : meter.createObservableGauge(`hexline.${name}`, options)
}

function labelled(names: readonly string[], values: readonly string[]): Attributes {
  return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']))
}

const ADVICE = { explicitBucketBoundaries: [...SECONDS] }

/** Most durations that wait to be recorded. */
const MOST_WAITING = 256

interface PostDurations {
  readonly add: (seconds: number, endpoint: string) => void
  /** Records those that wait. */
  flush(): void
  /** A collection begins. */
  collected(): void
}

/**
 * Records the duration of each POST: the first one to an endpoint since the last collection at
 * once, since its time can become the start of the interval, and the others together, before they
 * are collected.
 */
function postDurations(meter: Meter): PostDurations {
  const description = 'From the start of a POST to the end of its reply.'
  const histogram = meter.createHistogram('hexline.post.duration', { description, unit: 's', advice: ADVICE })
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
