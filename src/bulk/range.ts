import type { Client } from '../client/client.ts'
import { HexlineError, OptionError } from '../errors.ts'
import { decodeQuantity, encodeQuantity, type Quantity } from '../eth/codec/quantity.ts'
import type { BlockTag } from '../eth/params.ts'
import { didYouMean } from '../nearest-name.ts'
import { show } from '../text.ts'
import { askEach } from './ask-each.ts'

/** The end of a range: a number, or a tag that is resolved once, at the start. */
export type RangeEnd = Quantity | Exclude<BlockTag, 'pending'>

/** A range whose end may be a tag. */
export interface CheckedRange {
  readonly from: bigint
  readonly to: bigint | Exclude<RangeEnd, Quantity>
  /** The chain is known to have these blocks, though a node may be behind. */
  readonly isKnown?: boolean
}

/** The blocks `from` to `to`, both included. */
export interface Range {
  readonly from: bigint
  readonly to: bigint
}

const tags = ['latest', 'earliest', 'safe', 'finalized']

/** Makes the checks that need no request. Throws `OptionError`. */
export function checkRange(from: Quantity, to: RangeEnd): CheckedRange {
  const first = numberFrom('from', from)
  const last =
    typeof to === 'string' && tags.includes(to)
      ? (to as Exclude<RangeEnd, Quantity>)
      : numberFrom('to', to, `, or one of latest, safe, finalized, earliest${didYouMean(String(to), tags)}`)
  if (typeof last === 'bigint' && last < first) throw new OptionError('to', `at least the first block, ${first}`, String(last))
  return { from: first, to: last }
}

/**
 * Resolves a tag, or checks that a number is not beyond the head, since requests for such a block
 * would never succeed.
 */
export async function resolveRange(client: Client, range: CheckedRange): Promise<Range> {
  const { from, to } = range
  if (typeof to === 'bigint') {
    if (range.isKnown) return { from, to }
    let head = await client.call('eth_blockNumber')
    // The endpoint that answered may lag behind others, which have the block already.
    if (to > head) for (const other of await heads(client)) if (other > head) head = other
    if (to > head && !(to <= head + NEAR && (await isThere(client, to)))) throw new OptionError('to', `at most the node's latest block, ${head}`, String(to))
    return { from, to }
  }
  const head = await client.call('eth_getBlockByNumber', to, false)
  if (head === null) throw new OptionError('to', `a tag that the node knows`, show(to))
  if (head.number < from) throw new OptionError('from', `at most the ${to} block, ${head.number}`, String(from))
  return { from, to: head.number }
}

/** One URL may stand for several nodes, whose heads are at most this many blocks apart. */
const NEAR = 16n
/** Attempts to have a block from one of them that has it: on average, they take a second. */
const ATTEMPTS = 5
/** Kinds of failures that mean that there is no such block. */
const NOT_THERE = ['lagging', 'pruned', 'not-found', 'invalid']

/** Whether a block is there which an endpoint took to be beyond the head. */
async function isThere(client: Client, number: bigint): Promise<boolean> {
  try {
    await client.send({ method: 'eth_getBlockByNumber', params: [encodeQuantity(number), false], required: true, attempts: ATTEMPTS })
    return true
  } catch (error) {
    if (error instanceof HexlineError && NOT_THERE.includes(error.kind)) return false
    throw error
  }
}

/** The heads of several endpoints, as far as they answer. */
async function heads(client: Client): Promise<bigint[]> {
  const replies = await askEach(client, { method: 'eth_blockNumber', params: [] })
  return replies.flatMap((reply) => {
    try {
      return [decodeQuantity(reply.take())]
    } catch {
      return []
    }
  })
}

/** Block numbers have 8 bytes. */
const LAST_NUMBER = 2n ** 64n - 1n

function numberFrom(name: string, value: unknown, orElse = ''): bigint {
  const number = quantityFrom(value)
  if (number === undefined) throw new OptionError(name, `a block number (a whole number that is not negative)${orElse}`, show(value))
  // A longer one is most likely a hash.
  if (number > LAST_NUMBER) throw new OptionError(name, `a block number from 0 to 2^64 - 1${orElse}`, show(value))
  return number
}

function quantityFrom(value: unknown): bigint | undefined {
  try {
    return decodeQuantity(encodeQuantity(value))
  } catch {
    return undefined
  }
}
