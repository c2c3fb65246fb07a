import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type Attributes, type BatchObservableCallback, type Meter, type Observable, ROOT_CONTEXT } from '@opentelemetry/api'
import { endpointLabels, type Metric, record, SECONDS } from '../../src/metrics/recorder.ts'
import { Series } from '../../src/metrics/series.ts'
import type { CallEvent, PostEvent } from '../../src/rpc/events.ts'
import { JSON_RPC, rpcMethod, serverAttributes } from './attributes.ts'

/**
 * The metrics of `--metrics`, as OpenTelemetry names them. Counters and gauges are read when they
 * are collected, and cost calls nothing more. Histograms cannot be, and are recorded one by one:
 * `rpc.client.call.duration` of the conventions for RPC, and `hexline.post.duration`.
 */
export function measure(meter: Meter): () => void {
  const recorder = record()
  const stopHistograms = recordDurations(meter)
  const observed = recorder.metrics.filter(({ type }) => type !== 'histogram').map((metric) => [metric, observableOf(meter, metric)] as const)
  const observables = observed.map(([, observable]) => observable)
  const observe: BatchObservableCallback = (result) => {
    for (const [metric, observable] of observed) {
      if (metric.type === 'histogram') continue
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
  return type === 'counter' ? meter.createObservableCounter(`hexline.${name}`, options) : meter.createObservableGauge(`hexline.${name}`, options)
}

function labelled(names: readonly string[], values: readonly string[]): Attributes {
  return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']))
}

/** Durations of calls and of POSTs, in seconds. */
function recordDurations(meter: Meter): () => void {
  const [callSeconds, postSeconds] = [
    meter.createHistogram('rpc.client.call.duration', {
      description: 'From a call to its end: queueing, attempts, and the waits between them.',
      unit: 's',
      advice: { explicitBucketBoundaries: [...SECONDS] },
    }),
    meter.createHistogram('hexline.post.duration', {
      description: 'From the start of a POST to the end of its reply.',
      unit: 's',
      advice: { explicitBucketBoundaries: [...SECONDS] },
    }),
  ]
  // Made once for each combination.
  const endpointLabel = endpointLabels()
  const attributes = new Series<{ held: Attributes | undefined }>(3, () => ({ held: undefined }))
  const onCall = (message: unknown) => {
    const { method, endpoint, outcome, kind, durationMs } = message as CallEvent
    const name = rpcMethod(method)
    const error = outcome === 'answered' ? undefined : outcome === 'aborted' ? outcome : (kind ?? '_OTHER')
    const label = endpointLabel(endpoint)
    const place = attributes.at(name, label, error)
    place.held ??= {
      ...JSON_RPC,
      'rpc.method': name,
      ...(label !== '' && serverAttributes(label)),
      ...(error !== undefined && { 'error.type': error }),
    }
    callSeconds.record(durationMs / 1000, place.held, ROOT_CONTEXT)
  }
  const onPost = (message: unknown) => {
    const { durationMs, ...event } = message as PostEvent
    const endpoint = endpointLabel(event.endpoint)
    const place = attributes.at('', endpoint)
    place.held ??= { endpoint }
    postSeconds.record(durationMs / 1000, place.held, ROOT_CONTEXT)
  }
  subscribe('hexline:call', onCall)
  subscribe('hexline:post', onPost)
  return () => {
    unsubscribe('hexline:call', onCall)
    unsubscribe('hexline:post', onPost)
  }
}
