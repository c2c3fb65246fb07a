import type { Client } from '../client/client.ts'
import { IntegrityError } from '../errors.ts'
import type { Hash } from '../eth/codec/hex.ts'
import { type BlockRef, HELD, type HeldChain } from './held-chain.ts'

/** The state of the blocks that were delivered. */
export type Fate =
  /** The node does not contradict them. */
  | { readonly type: 'same' }
  /** Those above this block have been replaced. */
  | { readonly type: 'replaced'; readonly ancestor: number; readonly hash?: Hash; readonly older: readonly BlockRef[] }
  /** All that are held have been replaced, and their ancestor is unknown. */
  | { readonly type: 'lost'; readonly error: IntegrityError }

/** Heights to ask for at a time: most reorganisations replace a block or two. */
const SIZES = [1, 4, 16, 64, HELD]

/**
 * Finds the newest block that was delivered and is part of the node's chain: by the hashes that are
 * held, and below them by asking for replaced blocks by their hashes, which nodes keep for a while.
 */
export async function findFate(client: Client, chain: HeldChain): Promise<Fate> {
  const { tip, oldest, from } = chain
  if (tip === undefined || oldest === undefined) return { type: 'same' }
  const asked = new Map<number, string | null>()
  let isReplaced = false
  for (let number = tip.number, turn = 0; number >= oldest.number; turn++) {
    const last = Math.max(oldest.number, number - (SIZES[turn] ?? HELD) + 1)
    const heights = Array.from({ length: number - last + 1 }, (_, i) => number - i)
    const hashes = await Promise.all(heights.map((height) => hashOf(client, height)))
    for (const [i, height] of heights.entries()) {
      const hash = hashes[i] as string | null
      // Two nodes behind one URL: more than was replaced would be rolled back.
      if (hash === null && (asked.get(height + 1) ?? null) !== null)
        throw new IntegrityError(`the node has block ${height + 1}, but not block ${height}: nodes behind its URL disagree`)
      asked.set(height, hash)
    }
    const found = chain.compare(asked)
    if (found.type === 'same') return found
    if (found.type === 'ancestor') return { type: 'replaced', ancestor: found.number, older: [] }
    isReplaced = found.isReplaced
    number = last - 1
  }
  // The node has none of their heights: it is far behind.
  if (!isReplaced) return { type: 'same' }
  return searchByHash(client, oldest, tip.number - oldest.number + 1, from)
}

/** The ancestor of a block that has been replaced, below those that are held. */
async function searchByHash(client: Client, oldest: BlockRef, held: number, from: number): Promise<Fate> {
  const older: BlockRef[] = []
  for (let replaced = oldest; ; ) {
    const number = replaced.number - 1
    if (number < from) return { type: 'replaced', ancestor: from - 1, older }
    const block = await client.call('eth_getBlockByHash', replaced.hash, false)
    if (block === null) {
      const which = held === 1 ? `block ${oldest.number}, which was delivered last, is not` : `none of the ${held} blocks that were delivered last is`
      const error = new IntegrityError(
        `${which} part of the node's chain any more, and it does not know block ${replaced.number} as ${replaced.hash}, ` +
          'to find out where its chain branched off: undo what was delivered down to a block that is final, and start again after it',
      )
      return { type: 'lost', error }
    }
    if (block.hash !== replaced.hash) throw otherBlock(replaced.hash, block.hash)
    const hash = block.parentHash
    if ((await hashOf(client, number)) === hash) return { type: 'replaced', ancestor: number, hash, older }
    replaced = { number, hash }
    older.push(replaced)
  }
}

/** Null if the node does not have the block. */
async function hashOf(client: Client, number: number): Promise<string | null> {
  const block = await client.call('eth_getBlockByNumber', number, false)
  if (block === null) return null
  // Taken for a block of this height, it would seem to have replaced what was delivered.
  if (block.number !== BigInt(number)) throw otherBlock(`${number}`, `${block.number}`)
  return block.hash
}

function otherBlock(requested: string, received: string | null): IntegrityError {
  return new IntegrityError(`requested block ${requested}, but received block ${received}`)
}
