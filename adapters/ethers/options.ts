import type { JsonRpcApiProviderOptions } from 'ethers'
import * as check from '../../src/check.ts'
import { CLIENT_OPTIONS, type ClientOptions } from '../../src/client/options.ts'
import { OptionError } from '../../src/errors.ts'

/**
 * Options of ethers' `JsonRpcProvider` and of a hexline client. Batches are hexline's: `batchMaxCount` is the longest, in calls, and
 * `batchStallTime` how long calls wait for others, in ms; by default they wait for those of the same turn of the event loop, and no longer.
 */
export interface HexlineProviderOptions extends Omit<JsonRpcApiProviderOptions, 'batchMaxSize'>, ClientOptions {}

const OF_ETHERS = ['polling', 'staticNetwork', 'batchStallTime', 'batchMaxCount', 'cacheTimeout', 'pollingInterval']
const NO_MAX_SIZE = 'a batch that is too large for the node is split; batchMaxCount limits its calls'

/** The options for ethers and those for the client. Throws `OptionError`, also for options of the client beside a client. */
export function splitOptions(options: object, hasClient: boolean): { ofEthers: JsonRpcApiProviderOptions; ofClient: ClientOptions } {
  check.onlyKnown('options', options, [...OF_ETHERS, ...CLIENT_OPTIONS], { refused: { batchMaxSize: NO_MAX_SIZE } })
  const pick = (names: readonly string[]) => Object.fromEntries(Object.entries(options).filter(([name, value]) => value !== undefined && names.includes(name)))
  const ofEthers = pick(OF_ETHERS) as JsonRpcApiProviderOptions
  const ofClient = pick(CLIENT_OPTIONS) as ClientOptions
  const { batchMaxCount, batchStallTime, pollingInterval } = ofEthers
  const other = Object.keys(ofClient)[0] ?? (batchMaxCount === undefined ? undefined : 'batchMaxCount')
  if (hasClient && other !== undefined)
    throw new OptionError(other, 'undefined beside a client, which has its own options', check.withoutText((options as Record<string, unknown>)[other]))
  if (batchStallTime !== undefined) check.msOrZero('batchStallTime', batchStallTime)
  if (pollingInterval !== undefined) check.msOrZero('pollingInterval', pollingInterval)
  if (batchMaxCount === undefined || ofClient.batch !== undefined) return { ofEthers, ofClient }
  return { ofEthers, ofClient: { ...ofClient, batch: batchMaxCount === 1 ? false : { maxCalls: batchMaxCount } } }
}
