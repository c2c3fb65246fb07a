import { type Attributes, type BatchObservableCallback, type Meter, type Observable, ROOT_CONTEXT } from '@opentelemetry/api'
import { type Metric, record, SECONDS } from '../../src/metrics/recorder.ts'
import { type CallEnd, type CallWatcher, watchCalls } from '../../src/rpc/call-watchers.ts'
import { rpcMethod } from './attributes.ts'

const POST_DURATION = 'post.duration'

/**
 * The metrics of `--metrics`, as OpenTelemetry names them. Counters and gauges are read when they
 * are collected, and cost calls nothing more; so is the sum of the durations of calls. A histogram
 * cannot be read so: POSTs are recorded one by one, and calls where `callDurations` is set.
 */
export function measure(meter: Meter, callDurations: boolean): () => void {
  const recorder = record(postDurations(meter))
  const stopCalls = callDurations ? watchCalls(callDurationsOf(meter)) : undefined
  const observed = recorder.metrics.filter(({ name }) => name !== POST_DURATION).map((metric) => [metric, observableOf(meter, metric)] as const)
  const observables = observed.map(([, observable]) => observable)
  const observe: BatchObservableCallback = (result) => {
    for (const [metric, observable] of observed) {
      if (metric.type === 'histogram') {
        for (const [labels, { sum }] of metric.series) result.observe(observable, sum, labelled(metric.labels, labels))
        continue
      }
      for (const [labels, { value }] of metric.series) result.observe(observable, value, labelled(metric.labels, labels))
    }
  }
  meter.addBatchObservableCallback(observe, observables)
  return () => {
    meter.removeBatchObservableCallback(observe, observables)
    stopCalls?.()
    recorder.stop()
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

/** Records the duration of each POST. */
function postDurations(meter: Meter): (seconds: number, endpoint: string) => void {
  const description = 'From the start of a POST to the end of its reply.'
  const histogram = meter.createHistogram(`hexline.${POST_DURATION}`, { description, unit: 's', advice: ADVICE })
  return (seconds, endpoint) => histogram.record(seconds, { endpoint }, ROOT_CONTEXT)
}

/** Records the duration of each call, with few attributes, since the SDK encodes them each time. */
function callDurationsOf(meter: Meter): CallWatcher {
  const description = 'From a call to its end: queueing, attempts, and the waits between them.'
  const histogram = meter.createHistogram('rpc.client.call.duration', { description, unit: 's', advice: ADVICE })
  const methods = new Map<string, CallEnd>()
  const endOf = (name: string): CallEnd => {
    const attributes = new Map<string | undefined, Attributes>()
    const attributesOf = (error: string | undefined): Attributes => {
      let held = attributes.get(error)
      if (held === undefined) {
        held = { 'rpc.system.name': 'jsonrpc', 'rpc.method': name, ...(error !== undefined && { 'error.type': error }) }
        attributes.set(error, held)
      }
      return held
    }
    return {
      ended(outcome, _endpoint, _attempts, durationMs, _bytes, failure) {
        const error = outcome === 'answered' ? undefined : outcome === 'aborted' ? outcome : (failure?.kind ?? '_OTHER')
        histogram.record(durationMs / 1000, attributesOf(error), ROOT_CONTEXT)
      },
    }
  }
  return {
    begun(_id, method) {
      const name = rpcMethod(method)
      let end = methods.get(name)
      if (end === undefined) {
        end = endOf(name)
        methods.set(name, end)
      }
      return end
    },
  }
}
