import type { Filter, FilterByBlockHash } from 'ethers'
import { checkLogOptions } from '../../../src/bulk/get-logs.ts'
import { decodedLogs } from '../../../src/bulk/logs/decoded-logs.ts'
import { LogStream } from '../../../src/bulk/logs/log-stream.ts'
import type { Client } from '../../../src/client/client.ts'
import type { Log } from '../../../src/eth/objects.ts'

/** A filter whose block tags ethers has resolved. */
type ResolvedFilter = Filter | FilterByBlockHash

/** Ranges up to this length are first asked for in one call, as ethers does. */
const SHORT = 10_000

/** The range of a filter; undefined if it is one block, pending, or has no start. */
export interface FilterRange {
  readonly filter: Filter
  readonly from: bigint
  /** Undefined for the latest block. */
  readonly to: bigint | 'safe' | 'finalized' | undefined
}

export function rangeOf(filter: ResolvedFilter): FilterRange | undefined {
  if ('blockHash' in filter && filter.blockHash !== undefined) return undefined
  const { fromBlock, toBlock } = filter as Filter
  const from = fromBlock === 'earliest' ? 0n : numberOf(fromBlock)
  if (from === undefined || toBlock === 'pending' || toBlock === 'earliest') return undefined
  const to = toBlock === 'safe' || toBlock === 'finalized' ? toBlock : numberOf(toBlock)
  if (to === undefined && toBlock !== undefined && toBlock !== null && toBlock !== 'latest') return undefined
  return typeof to === 'bigint' && to <= from ? undefined : { filter: filter as Filter, from, to }
}

/** Undefined for a tag, and for a hash, of which only the node can say that it is no number. */
function numberOf(tag: unknown): bigint | undefined {
  return typeof tag === 'string' && /^0x[0-9a-f]{1,16}$/i.test(tag) ? BigInt(tag) : undefined
}

/** Whether one call may do for the range. */
export function isShort({ from, to }: FilterRange): boolean {
  return typeof to === 'bigint' && to - from < SHORT
}

/**
 * The logs of the range, requested in parts that the node accepts; undefined where the chain does
 * not reach it, of which nodes say different things. Rejects with hexline's errors.
 */
export async function splitLogs(client: Client, { filter, from, to }: FilterRange): Promise<Log[] | undefined> {
  const head = await client.call('eth_blockNumber')
  if (from > head) return undefined
  const isBeyond = to === undefined || (typeof to !== 'string' && to > head)
  const { address, topics } = filter
  const isAny = (value: unknown) => value === undefined || value === null || (Array.isArray(value) && value.length === 0)
  const options = checkLogOptions({
    ...(!isAny(address) && { address: address as `0x${string}` }),
    // Nodes take an empty list for any topic.
    ...(!isAny(topics) && { topics: (topics as (`0x${string}` | null)[]).map((topic) => (isAny(topic) ? null : topic)) }),
    from,
    to: isBeyond ? head : to,
    audit: 'none',
  })
  // A node that is asked next may be behind.
  const range = options.range && { ...options.range, isKnown: true }
  const logs: Log[] = []
  for await (const { items } of new LogStream(client, { ...options, range }, decodedLogs()).pages()) for (const item of items) logs.push(item)
  return logs
}
