import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type Attributes, type BatchObservableCallback, type Meter, type Observable, ROOT_CONTEXT } from '@opentelemetry/api'
import { endpointLabels, type Metric, record, SECONDS } from '../../src/metrics/recorder.ts'
import { Series } from '../../src/metrics/series.ts'
import type { CallEvent, PostEvent } from '../../src/rpc/events.ts'
import { rpcMethod } from './attributes.ts'

const POST_DURATION = 'post.duration'

/**
 * The metrics of `--metrics`, as OpenTelemetry names them. Counters and gauges are read when they
 * are collected, and cost calls nothing more; so is the sum of the durations of calls. A histogram
 * cannot be read so: POSTs are recorded one by one, and calls where `callDurations` is set.
 */
export function measure(meter: Meter, callDurations: boolean): () => void {
  const recorder = record()
  const stopHistograms = recordDurations(meter, callDurations)
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
    stopHistograms()
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

/** Durations of calls and of POSTs, in seconds. */
function recordDurations(meter: Meter, callDurations: boolean): () => void {
  const advice = { explicitBucketBoundaries: [...SECONDS] }
  const description = 'From a call to its end: queueing, attempts, and the waits between them.'
  const callSeconds = callDurations ? meter.createHistogram('rpc.client.call.duration', { description, unit: 's', advice }) : undefined
  const postSeconds = meter.createHistogram(`hexline.${POST_DURATION}`, {
    description: 'From the start of a POST to the end of its reply.',
    unit: 's',
    advice,
  })
  const endpointLabel = endpointLabels()
  // Made once for each combination, and with few attributes: the SDK encodes them for each call,
  // which takes longer than all that hexline does for its metrics.
  const attributes = new Series<{ held: Attributes | undefined }>(2, () => ({ held: undefined }))
  const onCall = (message: unknown) => {
    const { method, outcome, kind, durationMs } = message as CallEvent
    const name = rpcMethod(method)
    const error = outcome === 'answered' ? undefined : outcome === 'aborted' ? outcome : (kind ?? '_OTHER')
    const place = attributes.at(name, error)
    place.held ??= { 'rpc.system.name': 'jsonrpc', 'rpc.method': name, ...(error !== undefined && { 'error.type': error }) }
    callSeconds?.record(durationMs / 1000, place.held, ROOT_CONTEXT)
  }
  const onPost = (message: unknown) => {
    const { durationMs, ...event } = message as PostEvent
    const endpoint = endpointLabel(event.endpoint)
    const place = attributes.at('', endpoint)
    place.held ??= { endpoint }
    postSeconds.record(durationMs / 1000, place.held, ROOT_CONTEXT)
  }
  if (callSeconds !== undefined) subscribe('hexline:call', onCall)
  subscribe('hexline:post', onPost)
  return () => {
    unsubscribe('hexline:call', onCall)
    unsubscribe('hexline:post', onPost)
  }
}
