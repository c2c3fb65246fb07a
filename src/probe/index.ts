import type { Client } from '../client/client.ts'
import type { ProbeOptions, ProbeReport } from './probe.ts'

export type { Figure } from './figure.ts'
export type { EndpointHistory, OldState } from './history.ts'
export type { Support, Tag } from './methods.ts'
export type { EndpointReport, ProbeOptions, ProbeProgress, ProbeReport } from './probe.ts'

/**
 * Measures the limits and features of each endpoint of `client`: batch, reply, range and rate
 * limits, archive depth, history, methods, tags, version and latency. Its POSTs go out one after
 * the other, past the client's queue and without effect on it, and it makes at most `maxCalls`
 * calls to each endpoint. Each figure says how it was found. Throws `OptionError`; rejects with the
 * endpoint's error when no endpoint can be reached, and with the reason of the signal.
 */
export async function probe(client: Client, options: ProbeOptions = {}): Promise<ProbeReport> {
  // Loaded on demand, since most programs never probe.
  return (await import('./probe.ts')).probe(client, options)
}
