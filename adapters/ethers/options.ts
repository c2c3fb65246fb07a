import type { JsonRpcApiProviderOptions } from 'ethers'
import * as check from '../../src/check.ts'
import { CLIENT_OPTIONS, type ClientOptions } from '../../src/client/options.ts'
import { OptionError } from '../../src/errors.ts'

/**
 * Options of ethers' `JsonRpcProvider` and of a hexline client. hexline does the batching:
 * `batchMaxCount` limits a batch, in calls, and `batchStallTime` is how long a call waits for
 * others to join its batch, in ms. By default a batch holds the calls of one turn of the event
 * loop.
 */
export interface HexlineProviderOptions extends Omit<JsonRpcApiProviderOptions, 'batchMaxSize'>, ClientOptions {}

const OF_ETHERS = ['polling', 'staticNetwork', 'batchStallTime', 'batchMaxCount', 'cacheTimeout', 'pollingInterval']
const NO_MAX_SIZE = 'a batch that is too large for the node is split; batchMaxCount limits its calls'

/**
 * Splits the options into ethers' and the client's. Throws `OptionError`, also if a client is given
 * together with client options.
 */
export function splitOptions(options: object, hasClient: boolean): { ofEthers: JsonRpcApiProviderOptions; ofClient: ClientOptions } {
  check.onlyKnown('options', options, [...OF_ETHERS, ...CLIENT_OPTIONS], { refused: { batchMaxSize: NO_MAX_SIZE } })
  const pick = (names: readonly string[]) => Object.fromEntries(Object.entries(options).filter(([name, value]) => value !== undefined && names.includes(name)))
  const ofEthers = pick(OF_ETHERS) as JsonRpcApiProviderOptions
  const ofClient = pick(CLIENT_OPTIONS) as ClientOptions
  const { batchMaxCount, batchStallTime, pollingInterval, polling, staticNetwork, cacheTimeout } = ofEthers
  const other = Object.keys(ofClient)[0] ?? (batchMaxCount === undefined ? undefined : 'batchMaxCount')
  if (hasClient && other !== undefined)
    throw new OptionError(other, 'undefined with a client, which has its own options', check.withoutText((options as Record<string, unknown>)[other]))
  if (polling !== undefined) check.flag('polling', polling)
  // A Network may come from another build of ethers.
  if (!(staticNetwork == null || typeof staticNetwork === 'boolean' || typeof staticNetwork.matches === 'function'))
    throw new OptionError('staticNetwork', 'true, false, null or a Network of ethers', check.withoutText(staticNetwork))
  // Of ethers: one below 0 means that nothing is cached.
  if (cacheTimeout !== undefined && !(typeof cacheTimeout === 'number' && !Number.isNaN(cacheTimeout)))
    throw new OptionError('cacheTimeout', 'a number of ms, or -1 for no cache', check.withoutText(cacheTimeout))
  if (batchStallTime !== undefined) check.msOrZero('batchStallTime', batchStallTime)
  if (pollingInterval !== undefined) check.msOrZero('pollingInterval', pollingInterval)
  if (batchMaxCount === undefined || ofClient.batch !== undefined) return { ofEthers, ofClient }
  return { ofEthers, ofClient: { ...ofClient, batch: batchMaxCount === 1 ? false : { maxCalls: batchMaxCount } } }
}
