import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type Attributes, type Context, context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, TraceFlags, type Tracer, trace } from '@opentelemetry/api'
import { watchCalls } from '../../src/rpc/call-watchers.ts'
import type { CallEvent, Events, PostEvent, PostStartEvent } from '../../src/rpc/events.ts'
import { JSON_RPC, rpcMethod, serverAttributes } from './attributes.ts'

/**
 * Makes a span of each call, and of each POST that carries one of these calls or is hexline's own.
 * A call's span is a child of the span that is active where the call is made. A POST's is a child
 * of the first call that it carries and that is recorded; links lead from it to all these calls,
 * and from each call to all its POSTs.
 *
 * With `sample`, the tracer is asked only for this share of the calls without an active span, and
 * for calls whose active span is sampled: nothing is made for the others. Without it, it is asked
 * for every call.
 */
export function traceCalls(tracer: Tracer, sample?: number): () => void {
  /** Those of calls and POSTs that are recorded and have not ended. */
  const calls = new Map<number, Span>()
  const posts = new Map<number, Span>()
  const isAskedFor = sample === undefined ? () => true : (parent: Context) => isSampled(parent, sample)

  const unwatch = watchCalls({
    begun(id, method, priority) {
      const parent = context.active()
      if (!isAskedFor(parent)) return undefined
      const name = rpcMethod(method)
      // The name of a span must have few values: that of the protocol, where the method is not
      // known.
      const options = { kind: SpanKind.CLIENT, attributes: startAttributes(method, name, priority) }
      const span = tracer.startSpan(name === method ? name : 'jsonrpc', options, parent)
      if (!span.isRecording()) return undefined
      calls.set(id, span)
      return {
        ended(outcome, endpoint, attempts, _durationMs, bytes, failure) {
          // Spans end with the instrumentation.
          if (!calls.delete(id)) return
          describeCall(span, { outcome, endpoint, attempts, bytes }, failure)
          span.end()
        },
      }
    },
  })

  const listeners: { readonly [Name in keyof Events]?: (event: Events[Name]) => void } = {
    'hexline:post:start': ({ id, endpoint, calls: count, callIds }: PostStartEvent) => {
      const carried = calls.size === 0 ? [] : callIds.map((each) => calls.get(each)).filter((span) => span !== undefined)
      const [first] = carried
      // It is the part of calls that are not recorded.
      if (first === undefined && callIds.length > 0) return
      const parent = first === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, first)
      if (first === undefined && !isAskedFor(parent)) return
      const links = carried.map((span) => ({ context: span.spanContext() }))
      const attributes = { ...JSON_RPC, ...serverAttributes(endpoint), 'hexline.endpoint': endpoint, 'hexline.calls': count }
      // One without a parent is hexline's own: nobody's context, wherever the POST was started.
      const span = tracer.startSpan('hexline POST', { kind: SpanKind.CLIENT, attributes, links }, parent)
      if (!span.isRecording()) return
      posts.set(id, span)
      const link = { context: span.spanContext() }
      for (const call of carried) call.addLink(link)
    },
    'hexline:post': (event: PostEvent) => {
      const span = posts.get(event.id)
      if (span === undefined) return
      posts.delete(event.id)
      describePost(span, event)
      span.end()
    },
  }
  const subscribed = Object.entries(listeners) as [string, (message: unknown) => void][]
  for (const [name, listener] of subscribed) subscribe(name, listener)
  return () => {
    unwatch()
    for (const [name, listener] of subscribed.splice(0)) unsubscribe(name, listener)
    // Their ends are no longer reported.
    for (const span of [...calls.values(), ...posts.values()]) span.end()
    calls.clear()
    posts.clear()
  }
}

/** Is the tracer asked for a span with this parent? A call within a span follows the span. */
function isSampled(parent: Context, share: number): boolean {
  const active = trace.getSpanContext(parent)
  return active === undefined ? Math.random() < share : (active.traceFlags & TraceFlags.SAMPLED) !== 0
}

/** A tracer, or a sampler of its own, may keep or change the attributes: they are made anew. */
function startAttributes(method: string, name: string, priority: 'interactive' | 'bulk'): Attributes {
  // A compiled literal: calls that are not sampled have it made, too.
  const attributes: Attributes = { 'rpc.system.name': 'jsonrpc', 'jsonrpc.protocol.version': '2.0', 'rpc.method': name, 'hexline.priority': priority }
  if (name !== method) attributes['rpc.method_original'] = method
  return attributes
}

function describeCall(
  span: Span,
  { outcome, endpoint, attempts, bytes }: Pick<CallEvent, 'outcome' | 'endpoint' | 'attempts' | 'bytes'>,
  { kind, rpcCode }: Partial<Pick<CallEvent, 'kind' | 'rpcCode'>> = {},
): void {
  span.setAttributes({ 'hexline.attempts': attempts, 'hexline.outcome': outcome, 'hexline.result.size': bytes })
  if (endpoint !== undefined) span.setAttributes({ ...serverAttributes(endpoint), 'hexline.endpoint': endpoint })
  if (rpcCode !== undefined) span.setAttribute('rpc.response.status_code', String(rpcCode))
  if (outcome === 'answered') return
  // Aborted by the caller: that is no fault.
  span.setAttribute('error.type', outcome === 'aborted' ? 'aborted' : (kind ?? '_OTHER'))
  if (outcome === 'failed') span.setStatus({ code: SpanStatusCode.ERROR })
}

function describePost(span: Span, { calls, status, bytes, failures, isCut }: PostEvent): void {
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
