import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** A span as it comes over OTLP/HTTP in JSON. */
export interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  /** 2 for an error. */
  readonly status: { readonly code?: number; readonly message?: string }
}

export interface OtlpReceiver {
  readonly url: string
  readonly spans: readonly OtlpSpan[]
  /** All bodies as text, to look for what must not be there. */
  readonly text: () => string
}

interface Value {
  readonly stringValue?: string
  readonly intValue?: number
  readonly doubleValue?: number
  readonly boolValue?: boolean
}
type Sent = Omit<OtlpSpan, 'attributes' | 'links'> & {
  readonly attributes: readonly { readonly key: string; readonly value: Value }[]
  readonly links?: OtlpSpan['links']
}
interface Body {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly Sent[] }[] }[]
}

/** Receives spans over OTLP/HTTP, as a collector does, until the test ends. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const bodies: unknown[] = []
  const spans: OtlpSpan[] = []
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as Body
    bodies.push(body)
    for (const { scopeSpans } of body.resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans.map(received))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/v1/traces`, spans, text: () => JSON.stringify(bodies) }
}

function received({ attributes, links = [], ...span }: Sent): OtlpSpan {
  const held = (value: Value) => value.stringValue ?? value.intValue ?? value.doubleValue ?? value.boolValue ?? ''
  return {
    ...span,
    attributes: Object.fromEntries(attributes.map(({ key, value }) => [key, held(value)])),
    links: links.map(({ traceId, spanId }) => ({ traceId, spanId })),
  }
}
