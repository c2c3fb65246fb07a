import { type Attributes, type Context, type Link, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { watchCalls } from '../../src/rpc/call-watchers.ts'
import type { CallEvent, PostEvent } from '../../src/rpc/events.ts'
import { endpointAttributes, rpcMethod } from './attributes.ts'
import { Gate, type TraceOptions } from './gate.ts'
import { runAll } from './run-all.ts'

/**
 * Makes a span of each call, and of each POST that carries one of these calls or is hexline's own.
 * A call's span is a child of the span that is active where the call is made. A POST's is a child
 * of the first call that it carries and that is recorded; links lead from it to all these calls,
 * and from each call to all its POSTs.
 *
 * The tracer is asked for every call that the options let through, and its sampler decides. Nothing
 * is made for the others.
 */
export function traceCalls(tracer: Tracer, options: TraceOptions): () => void {
  /** Those of calls and POSTs that are recorded and have not ended. */
  const calls = new Map<number, Span>()
  const posts = new Set<Span>()
  const gate = new Gate(options)

  const start = (id: number, method: string, priority: CallEvent['priority'], parent: Context): void => {
    const name = rpcMethod(method)
    // The name of a span must have few values: that of the protocol, where the method is not known.
    const options = { kind: SpanKind.CLIENT, attributes: startAttributes(method, name, priority) }
    const span = tracer.startSpan(name === method ? name : 'jsonrpc', options, parent)
    if (span.isRecording()) calls.set(id, span)
  }

  const unwatch = watchCalls({
    // Apart from `start`, and short: every call runs it.
    begun(id, method, priority, now) {
      const parent = gate.parentOf(priority, now)
      if (parent !== undefined) start(id, method, priority, parent)
    },

    ended(id, _method, outcome, endpoint, attempts, _durationMs, bytes, failure) {
      const span = calls.size > 0 ? calls.get(id) : undefined
      if (span === undefined) return
      calls.delete(id)
      describeCall(span, { outcome, endpoint, attempts, bytes }, failure)
      span.end()
    },

    postBegun(endpoint, count, callIds, now) {
      if (calls.size === 0 && !gate.isLeft(now)) return undefined
      const ids = callIds()
      const carried = recorded(ids, calls)
      const [first] = carried
      // One without a call of the user is hexline's own: nobody's context, wherever it was started.
      if (first === undefined && (ids.length > 0 || !gate.letsOwn(now))) return undefined
      const parent = first === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, first)
      const options = { kind: SpanKind.CLIENT, attributes: postAttributes(endpoint, count), links: carried.map(linkTo) }
      const span = tracer.startSpan('hexline POST', options, parent)
      if (!span.isRecording()) return undefined
      posts.add(span)
      const link = linkTo(span)
      // Tracers older than `addLink` have none.
      for (const call of carried) call.addLink?.(link)
      return (figures) => {
        if (!posts.delete(span)) return
        describePost(span, figures)
        span.end()
      }
    },
  })
  return () => {
    unwatch()
    // Their ends are no longer reported.
    const open = [...calls.values(), ...posts]
    calls.clear()
    posts.clear()
    runAll(open.map((span) => () => span.end()))
  }
}

const NO_SPANS: readonly Span[] = []

/** The spans of those calls that are recorded. */
function recorded(ids: readonly number[], calls: ReadonlyMap<number, Span>): readonly Span[] {
  if (calls.size === 0) return NO_SPANS
  const spans: Span[] = []
  for (const id of ids) {
    const span = calls.get(id)
    if (span !== undefined) spans.push(span)
  }
  return spans
}

function linkTo(span: Span): Link {
  return { context: span.spanContext() }
}

/** A tracer, or a sampler of its own, may keep or change the attributes: they are made anew. */
function startAttributes(method: string, name: string, priority: 'interactive' | 'bulk'): Attributes {
  // A compiled literal: calls that are not sampled have it made, too.
  const attributes: Attributes = { 'rpc.system.name': 'jsonrpc', 'jsonrpc.protocol.version': '2.0', 'rpc.method': name, 'hexline.priority': priority }
  if (name !== method) attributes['rpc.method_original'] = method
  return attributes
}

function postAttributes(endpoint: string, calls: number): Attributes {
  return {
    'rpc.system.name': 'jsonrpc',
    'jsonrpc.protocol.version': '2.0',
    ...endpointAttributes(endpoint),
    'hexline.calls': calls,
  }
}

function describeCall(
  span: Span,
  { outcome, endpoint, attempts, bytes }: Pick<CallEvent, 'outcome' | 'endpoint' | 'attempts' | 'bytes'>,
  { kind, rpcCode }: Partial<Pick<CallEvent, 'kind' | 'rpcCode'>> = {},
): void {
  span.setAttributes({ 'hexline.attempts': attempts, 'hexline.outcome': outcome, 'hexline.result.size': bytes })
  if (endpoint !== undefined) span.setAttributes(endpointAttributes(endpoint))
  if (rpcCode !== undefined) span.setAttribute('rpc.response.status_code', String(rpcCode))
  if (outcome === 'answered') return
  // Aborted by the caller: that is no fault.
  span.setAttribute('error.type', outcome === 'aborted' ? 'aborted' : (kind ?? '_OTHER'))
  if (outcome === 'failed') span.setStatus({ code: SpanStatusCode.ERROR })
}

function describePost(span: Span, { calls, status, bytes, failures, isCut }: Omit<PostEvent, 'id'>): void {
  const kinds = Object.keys(failures)
  const failed = Object.values(failures).reduce((sum, each) => sum + each, 0)
  span.setAttributes({ 'hexline.reply.size': bytes, 'hexline.failed_calls': failed })
  if (status !== undefined) span.setAttribute('http.response.status_code', status)
  if (isCut) span.setAttribute('error.type', 'aborted')
  // Where some were answered, the failures are those of single calls.
  if (failed === 0 || failed < calls) return
  span.setAttribute('error.type', kinds.length === 1 ? (kinds[0] as string) : 'several')
  span.setStatus({ code: SpanStatusCode.ERROR })
}
