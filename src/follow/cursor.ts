import * as check from '../check.ts'
import { OptionError } from '../errors.ts'
import { type Hash, isHash } from '../eth/codec/hex.ts'
import { show } from '../text.ts'
import { HELD, type Position } from './held-chain.ts'

/**
 * Where a stream resumes, in this process or another one: plain JSON. It belongs to the state that
 * the consumer has after the item that it came with.
 */
export interface FollowCursor {
  /** Chain id; null where the node does not give it. */
  readonly chainId: number | null
  /** Hash of block 0, which tells chains with the same id apart; null where the node lacks it. */
  readonly genesis: Hash | null
  /** The first block of the stream. */
  readonly from: number
  /** The last block that was delivered. */
  readonly number: number
  /** Hashes of that block and of those before it, newest first: at most 256. */
  readonly hashes: readonly Hash[]
}

/** What distinguishes one chain from another. */
export type ChainIdentity = Pick<FollowCursor, 'chainId' | 'genesis'>

/** A cursor of this chain at this position. */
export function cursorAt({ chainId, genesis }: ChainIdentity, { from, number, hashes }: Position): FollowCursor {
  return { chainId, genesis, from, number, hashes }
}

/** Whether `from` is meant as a cursor. */
export function isCursor(value: unknown): value is FollowCursor {
  return typeof value === 'object' && value !== null
}

/** Checks a cursor that comes from outside. Throws `OptionError` with the field that is wrong. */
export function checkCursor(value: unknown, name: string): FollowCursor {
  check.onlyKnown(name, value, ['chainId', 'genesis', 'from', 'number', 'hashes'])
  const { chainId, genesis, hashes, ...numbers } = value as Partial<Record<keyof FollowCursor, unknown>>
  if (chainId !== null) check.whole(`${name}.chainId`, chainId, 0)
  if (genesis !== null) checkHash(`${name}.genesis`, genesis)
  const from = check.whole(`${name}.from`, numbers.from, 0)
  const number = check.whole(`${name}.number`, numbers.number, from - 1)
  const most = Math.min(HELD, number - from + 1)
  if (!Array.isArray(hashes)) throw new OptionError(`${name}.hashes`, 'an array of block hashes', show(hashes))
  if (hashes.length > most || (hashes.length === 0 && most > 0))
    throw new OptionError(
      `${name}.hashes`,
      most === 0 ? 'no hashes before the first block' : most === 1 ? '1 hash' : `from 1 to ${most} hashes, newest first`,
      `${hashes.length}`,
    )
  for (const [i, hash] of hashes.entries()) checkHash(`${name}.hashes[${i}]`, hash)
  return { chainId: chainId as number | null, genesis: genesis as Hash | null, from, number, hashes: [...hashes] }
}

/**
 * Throws `OptionError` for a cursor of another chain. What one side does not know is not compared.
 */
export function checkSameChain(cursor: ChainIdentity, node: ChainIdentity, name: string): void {
  const differs = (field: keyof ChainIdentity) => cursor[field] !== null && node[field] !== null && cursor[field] !== node[field]
  if (differs('chainId')) throw new OptionError(name, `a cursor of the node's chain (chain id ${node.chainId})`, `one of chain id ${cursor.chainId}`)
  if (differs('genesis'))
    throw new OptionError(name, `a cursor of the node's chain, which begins with ${node.genesis}`, `one that begins with ${cursor.genesis}`)
}

function checkHash(name: string, value: unknown): void {
  if (!isHash(value)) throw new OptionError(name, 'a hash (32 bytes in hex)', show(value))
}
