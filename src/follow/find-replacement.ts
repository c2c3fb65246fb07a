import type { Client } from '../client/client.ts'
import { HexlineError } from '../errors.ts'
import type { Address, Hash } from '../eth/codec/hex.ts'

/** Blocks to search: nodes without an archive keep the state of about this many. */
const MOST_BLOCKS = 120

/**
 * The hash of the transaction by which an account has used a nonce, in one of the last blocks up to
 * `to`, as of which it has been used. Undefined where it is older, or cannot be found.
 */
export async function findReplacement(
  client: Client,
  { from, nonce }: { readonly from: Address; readonly nonce: number },
  to: number,
): Promise<Hash | undefined> {
  const isUsedAt = async (number: number) => (await client.call('eth_getTransactionCount', from, number)) > nonce
  try {
    // Not used as of `below`, but as of `above`.
    let below = Math.max(-1, to - MOST_BLOCKS)
    let above = to
    if (below >= 0 && (await isUsedAt(below))) return undefined
    while (above - below > 1) {
      const middle = Math.floor((below + above) / 2)
      if (await isUsedAt(middle)) above = middle
      else below = middle
    }
    const block = await client.call('eth_getBlockByNumber', above, true)
    return block?.transactions.find((each) => each.nonce === nonce && each.from.toLowerCase() === from.toLowerCase())?.hash
  } catch (error) {
    // No state that far back, for example.
    if (!(error instanceof HexlineError) || !UNKNOWN.includes(error.kind)) throw error
    return undefined
  }
}

const UNKNOWN = ['execution', 'invalid', 'not-found', 'unsupported', 'pruned', 'lagging']
