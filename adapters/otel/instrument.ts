import { type MeterProvider, metrics as metricsApi, type TracerProvider, trace } from '@opentelemetry/api'
import * as check from '../../src/check.ts'
import { OptionError } from '../../src/errors.ts'
import { show } from '../../src/text.ts'
import { VERSION } from '../../src/version.ts'
import { claim } from './in-use.ts'
import { measure } from './metrics.ts'
import { runAll } from './run-all.ts'
import { traceCalls } from './traces.ts'

/** Enough to see what calls do, and few enough that their spans cost next to nothing. */
const TRACED_PER_SECOND = 100

/** What `instrument` reports, and to whom. */
export interface InstrumentOptions {
  /** Makes spans of calls and POSTs (default: true). */
  readonly traces?: boolean | undefined
  /**
   * Most calls per second that get spans (default: 100), and most at once. Interactive calls within
   * a sampled span have a limit of their own, five times as high. Calls within a span that is not
   * sampled get none. The SDK's sampler decides about those that are let through, and is not asked
   * for the others. `Infinity`: it is asked for every call.
   */
  readonly tracedPerSecond?: number | undefined
  /**
   * Share of your calls, from 0 to 1, that get spans, among those without an active span, and
   * within `tracedPerSecond` (default: 1). Even without a limit, calls within a span then get one
   * only if that is sampled.
   */
  readonly sample?: number | undefined
  /** Counts and measures calls and POSTs (default: true). */
  readonly metrics?: boolean | undefined
  /**
   * Records `rpc.client.call.duration`, a histogram (default: false). The SDK takes 1 to 2 µs
   * for it in each call, a multiple of what all other metrics take.
   */
  readonly callDurations?: boolean | undefined
  /** What makes the tracer (default: the one that is registered globally). */
  readonly tracerProvider?: TracerProvider | undefined
  /** What makes the meter (default: the one that is registered globally at this moment). */
  readonly meterProvider?: MeterProvider | undefined
}

/**
 * Reports what all clients of this process do to OpenTelemetry, from now on until the function that
 * it returns is called. Register the SDK before. Throws `OptionError` for invalid options, and for
 * a provider that another `instrument` reports to now.
 */
export function instrument(options: InstrumentOptions = {}): () => void {
  check.onlyKnown('instrument', options, ['traces', 'tracedPerSecond', 'sample', 'metrics', 'callDurations', 'tracerProvider', 'meterProvider'])
  const {
    traces = true,
    tracedPerSecond = TRACED_PER_SECOND,
    sample,
    metrics = true,
    callDurations = false,
    tracerProvider = trace.getTracerProvider(),
    meterProvider = metricsApi.getMeterProvider(),
  } = options
  check.flag('traces', traces)
  if (!(typeof tracedPerSecond === 'number' && tracedPerSecond >= 1))
    throw new OptionError('tracedPerSecond', 'a number from 1, or Infinity', show(tracedPerSecond))
  if (sample !== undefined && !(typeof sample === 'number' && sample >= 0 && sample <= 1)) throw new OptionError('sample', 'a number from 0 to 1', show(sample))
  check.flag('metrics', metrics)
  check.flag('callDurations', callDurations)
  if (typeof tracerProvider?.getTracer !== 'function') throw new OptionError('tracerProvider', 'a TracerProvider of OpenTelemetry', show(tracerProvider))
  if (typeof meterProvider?.getMeter !== 'function') throw new OptionError('meterProvider', 'a MeterProvider of OpenTelemetry', show(meterProvider))
  const tracer = traces ? tracerProvider.getTracer('hexline', VERSION) : undefined
  const meter = metrics ? meterProvider.getMeter('hexline', VERSION) : undefined
  const begun = [claim({ tracerProvider: traces ? tracerProvider : undefined, meterProvider: metrics ? meterProvider : undefined })]
  // A second time, nothing is left to stop.
  const stop = () => runAll(begun.splice(0))
  try {
    if (tracer !== undefined) begun.push(traceCalls(tracer, { sample, perSecond: tracedPerSecond }))
    if (meter !== undefined) begun.push(measure(meter, callDurations))
  } catch (error) {
    stop()
    throw error
  }
  return stop
}
