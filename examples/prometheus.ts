/*
 * Metrics into Prometheus: a program that follows the chain, with the figures of its calls, POSTs,
 * retries and limits at http://127.0.0.1:9464/metrics.
 *
 *     npm install hexline @opentelemetry/api @opentelemetry/sdk-metrics @opentelemetry/exporter-prometheus
 *     npm pkg set type=module
 *     HEXLINE_RPC_URL=https://… node prometheus.ts [PORT]
 *
 * (`node` from 22.18; before, `npx tsx`.) It prints where the metrics are, and the number of each
 * block, until Ctrl-C. Let Prometheus scrape the port, and import docs/grafana-dashboard.json into
 * Grafana to see them.
 */
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { createClient } from 'hexline'
import { follow } from 'hexline/bulk'
import { instrument } from 'hexline/otel'

const port = Number(process.argv[2] ?? 9464)

const stop = new AbortController()
process.once('SIGINT', () => stop.abort()) // a second Ctrl-C ends it at once

const exporter = new PrometheusExporter({ port, host: '127.0.0.1', preventServerStart: true })
const meterProvider = new MeterProvider({ readers: [exporter] })
// All clients of the process are measured from here on.
const stopMeasuring = instrument({ traces: false, meterProvider })
const client = createClient(process.env.HEXLINE_RPC_URL ?? 'http://127.0.0.1:8545')
try {
  await exporter.startServer()
  console.log(`http://127.0.0.1:${port}/metrics`)
  for await (const item of follow(client, { from: 'latest', signal: stop.signal })) {
    if (item.type === 'block') console.log(`block ${item.block.number}`)
  }
} catch (error) {
  if (!stop.signal.aborted) {
    console.error(String(error))
    process.exitCode = 1
  }
} finally {
  await client.close()
  stopMeasuring()
  await meterProvider.shutdown()
}
