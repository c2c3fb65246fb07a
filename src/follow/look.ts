import type { Client } from '../client/client.ts'
import type { Hash } from '../eth/codec/hex.ts'
import type { ToldHead } from './bell.ts'
import type { HeldChain } from './held-chain.ts'
import { NEAR, type Target } from './next-step.ts'

/** How far blocks are held back: this many blocks, or until the node calls them safe or final. */
export type Confirmations = number | 'safe' | 'finalized'

/** The newest block that may be delivered; undefined where the chain is too young for one. */
export async function look(client: Client, confirmations: Confirmations): Promise<Target | undefined> {
  const block = await client.call('eth_getBlockByNumber', typeof confirmations === 'number' ? 'latest' : confirmations, false)
  if (block === null) return undefined
  const number = Number(block.number)
  if (typeof confirmations !== 'number' || confirmations === 0) return { number, hash: block.hash ?? undefined }
  return number < confirmations ? undefined : { number: number - confirmations, hash: undefined }
}

/**
 * The same from a head that a subscription announces, without a call: blocks up to it are then
 * asked for at once. Undefined where the node has to be asked, as for confirmations: a block is
 * there or not, but how many follow it would be taken from the announcement alone.
 */
export function targetFrom(told: ToldHead | undefined, chain: HeldChain, confirmations: Confirmations): Target | undefined {
  if (told === undefined || confirmations !== 0) return undefined
  const { number } = told
  if (chain.hashAt(number) === told.hash) return { number, hash: told.hash as Hash }
  // The announcement may be wrong, and the stream would wait for a block that does not exist.
  return number >= chain.next && number - chain.next < NEAR && chain.tip !== undefined ? { number, hash: undefined } : undefined
}
