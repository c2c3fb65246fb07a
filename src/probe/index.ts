import type { Client } from '../client/client.ts'
import type { ProbeOptions, ProbeReport } from './probe.ts'

export type { Figure } from './figure.ts'
export type { Support, Tag } from './methods.ts'
export type { EndpointReport, ProbeOptions, ProbeProgress, ProbeReport } from './probe.ts'

/**
 * Learns what each endpoint of `client` takes and has: batch, reply, range and rate limits, archive depth, methods, tags, version and latency. It makes POSTs of its
 * own, one after the other, past the client's queue, which learns nothing from them, and never more than `maxCalls` to each endpoint. Nothing is guessed: each figure says how it is
 * known. Throws `OptionError`; rejects with why the endpoint cannot be reached when none can, and with the reason of the signal.
 */
export async function probe(client: Client, options: ProbeOptions = {}): Promise<ProbeReport> {
  // Most programs never probe, and do not wait for it to be loaded.
  return (await import('./probe.ts')).probe(client, options)
}
