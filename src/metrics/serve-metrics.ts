import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PROMETHEUS_TYPE, prometheusText } from './prometheus.ts'
import { record } from './recorder.ts'

/** Where the metrics are served. */
export interface MetricsServer {
  /** Such as `http://127.0.0.1:9464/metrics`. */
  readonly url: string
  /** Ends it, and the connections to it. */
  close(): void
}

/**
 * Counts what all clients of this process do, and serves that at `/metrics`. Port 0 is any free
 * one. It does not keep the process alive. Rejects with the system's error if it cannot listen.
 */
export async function serveMetrics(host: string, port: number): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    const isHead = request.method === 'HEAD'
    const status = request.method !== 'GET' && !isHead ? 405 : pathOf(request.url) === '/metrics' ? 200 : 404
    const type = status === 200 ? PROMETHEUS_TYPE : 'text/plain'
    const body = status === 200 ? prometheusText(recorder.metrics) : status === 404 ? 'metrics are at /metrics\n' : 'only GET\n'
    response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(isHead ? undefined : body)
  })
  server.listen(port, host)
  await once(server, 'listening')
  server.unref()
  const recorder = record()
  const { port: own } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${own}/metrics`,
    close() {
      recorder.stop()
      server.close()
      server.closeAllConnections()
    },
  }
}

/** The path of a request's target, which may be a whole URL (RFC 9112, 3.2.2). */
function pathOf(target = ''): string | undefined {
  const base = 'http://localhost'
  return URL.canParse(target, base) ? new URL(target, base).pathname : undefined
}
