import { OptionError } from '../errors.ts'
import { metricsAddress } from '../metrics/address.ts'
import { type MetricsServer, serveMetrics } from '../metrics/serve-metrics.ts'
import { reasonOf } from '../system-error.ts'
import type { Io } from './output/io.ts'
import { type MessageFlags, messagesFor } from './output/messages.ts'

/** The flag of commands that run long: its form and its help. */
export const METRICS_FLAG = ['--metrics <address>', 'serve metrics for Prometheus while it runs, such as :9464 (on 127.0.0.1) or 0.0.0.0:9464'] as const

/** Where metrics are to be served; nowhere by default. */
export interface MetricsFlags {
  readonly metrics?: string
}

/** Runs a command, and serves its metrics meanwhile. Throws `OptionError` if that is impossible. */
export async function withMetrics(flags: MetricsFlags & MessageFlags, io: Io, run: () => Promise<void>): Promise<void> {
  if (flags.metrics === undefined) return run()
  const { host, port } = metricsAddress('--metrics', flags.metrics)
  let server: MetricsServer
  try {
    server = await serveMetrics(host, port)
  } catch (error) {
    throw new OptionError('--metrics', 'an address to listen at', `${flags.metrics} (${reasonOf(error)})`)
  }
  try {
    messagesFor(flags, io).tell(`metrics: ${server.url}`, { type: 'metrics', url: server.url })
    await run()
  } finally {
    server.close()
  }
}
