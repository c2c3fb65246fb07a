import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { type Attributes, type Context, context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import type { CallEvent, CallStartEvent, Events, PostEvent, PostStartEvent } from '../../src/rpc/events.ts'
import { JSON_RPC, rpcMethod, serverAttributes } from './attributes.ts'

/**
 * Makes a span of each call and of each POST. A call's span is a child of the span that is active
 * where the call is made. A POST's is a child of the first call that it carries and that is
 * sampled; links lead from it to all its calls, and from each call to all its POSTs.
 */
export function traceCalls(tracer: Tracer): () => void {
  const calls = new Map<number, Span>()
  const posts = new Map<number, Span>()

  const listeners: { readonly [Name in keyof Events]?: (event: Events[Name]) => void } = {
    'hexline:call:start': ({ id, method, priority }: CallStartEvent) => {
      const name = rpcMethod(method)
      const attributes: Attributes = { ...JSON_RPC, 'rpc.method': name, 'hexline.priority': priority }
      if (name !== method) attributes['rpc.method_original'] = method
      // The name of a span must have few values: that of the protocol, where the method is not
      // known.
      calls.set(id, tracer.startSpan(name === method ? name : 'jsonrpc', { kind: SpanKind.CLIENT, attributes }, context.active()))
    },
    'hexline:call': (event: CallEvent) => {
      const span = calls.get(event.id)
      if (span === undefined) return
      calls.delete(event.id)
      if (span.isRecording()) describeCall(span, event)
      span.end()
    },
    'hexline:post:start': ({ id, endpoint, calls: count, callIds }: PostStartEvent) => {
      const carried = callIds.map((each) => calls.get(each)).filter((span) => span !== undefined)
      const parent = carried.find((span) => span.isRecording()) ?? carried[0]
      const links = carried.filter((span) => span.isRecording()).map((span) => ({ context: span.spanContext() }))
      const attributes = { ...JSON_RPC, ...serverAttributes(endpoint), 'hexline.endpoint': endpoint, 'hexline.calls': count }
      const span = tracer.startSpan('hexline POST', { kind: SpanKind.CLIENT, attributes, links }, contextOf(parent))
      posts.set(id, span)
      if (!span.isRecording()) return
      const link = { context: span.spanContext() }
      for (const call of carried) call.addLink(link)
    },
    'hexline:post': (event: PostEvent) => {
      const span = posts.get(event.id)
      if (span === undefined) return
      posts.delete(event.id)
      if (span.isRecording()) describePost(span, event)
      span.end()
    },
  }
  const subscribed = Object.entries(listeners) as [string, (message: unknown) => void][]
  for (const [name, listener] of subscribed) subscribe(name, listener)
  return () => {
    for (const [name, listener] of subscribed.splice(0)) unsubscribe(name, listener)
    // Their ends are not heard any more.
    for (const span of [...calls.values(), ...posts.values()]) span.end()
    calls.clear()
    posts.clear()
  }
}

/** A span without a parent is hexline's own: nobody's context, wherever the POST was started. */
function contextOf(parent: Span | undefined): Context {
  return parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent)
}

function describeCall(span: Span, { endpoint, attempts, outcome, kind, rpcCode, bytes }: CallEvent): void {
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
