import type { Client } from '../client/client.ts'
import { OptionError } from '../errors.ts'
import { billed, type CostTable, costsAt, costTables, throttled } from '../eth/costs.ts'
import { didYouMean } from '../nearest-name.ts'
import { show } from '../text.ts'
import { added, type Estimate, linear, whole } from './estimate.ts'

/** Providers whose prices are known. */
export const providers = ['alchemy', 'infura', 'quicknode', 'chainstack'] as const

/** A provider whose prices are known. */
export type Provider = (typeof providers)[number]

/** What a job costs at a provider, in its units. */
export interface Units {
  readonly provider: Provider
  /** What it charges. */
  readonly billed: Estimate
  /** What its limit per second counts. */
  readonly throttled: Estimate
}

/** Number of calls by method. */
export type Calls = Readonly<Record<string, Estimate>>

/** Throws `OptionError`. */
export function checkProvider(value: unknown): Provider {
  if (providers.includes(value as Provider)) return value as Provider
  throw new OptionError('provider', `one of ${providers.join(', ')}`, show(value) + (typeof value === 'string' ? didYouMean(value, providers) : ''))
}

/** The providers of the client's endpoints, or the given one; all where none is known. */
export function tablesFor(client: Client, provider: Provider | undefined): readonly CostTable[] {
  if (provider !== undefined) return costTables.filter((table) => nameOf(table) === provider)
  const own = costTables.filter((table) => client.endpoints.some((origin) => costsAt(origin) === table))
  return own.length > 0 ? own : costTables
}

/** The units of these calls at each provider. */
export function unitsOf(tables: readonly CostTable[], calls: Calls): Units[] {
  return tables.map((table) => ({
    provider: nameOf(table),
    billed: whole(costOf(calls, (method) => billed(table, method))),
    throttled: whole(costOf(calls, (method) => throttled(table, method))),
  }))
}

/** The cost of these calls together. */
export function costOf(calls: Calls, cost: (method: string) => number): Estimate {
  return added(Object.entries(calls).map(([method, number]) => linear(number, cost(method))))
}

function nameOf({ provider }: CostTable): Provider {
  return provider.toLowerCase() as Provider
}
