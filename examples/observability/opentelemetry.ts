import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { createClient } from 'hexline'
import { instrument } from 'hexline/otel'

// The exporter reads OTEL_EXPORTER_OTLP_ENDPOINT. The context manager makes spans of your own the
// parents of hexline's. `@opentelemetry/sdk-node` does all this, too.
const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] })
trace.setGlobalTracerProvider(provider)
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

const stop = instrument()

const client = createClient(process.env.HEXLINE_RPC_URL ?? 'http://127.0.0.1:8545')
await trace.getTracer('my-app').startActiveSpan('newest block', async (span) => {
  const number = await client.call('eth_blockNumber')
  console.log(await client.call('eth_getBlockByNumber', number, false).then((block) => block?.hash))
  span.end()
})

await client.close()
stop()
await provider.shutdown()
