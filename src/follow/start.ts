import { chainIdOf } from '../bulk/chain.ts'
import type { Client } from '../client/client.ts'
import { clockOf } from '../client/internals.ts'
import type { Hash } from '../eth/codec/hex.ts'
import { isFailure, mayRepeat } from '../rpc/failure-kinds.ts'
import type { Bell } from './bell.ts'
import { type ChainIdentity, checkSameChain } from './cursor.ts'
import type { Position } from './held-chain.ts'
import type { FollowJob, FollowProgress } from './job.ts'
import { look } from './look.ts'
import { Pace } from './pace.ts'

/*
 * What a stream asks for first: which chain it is, and where to start.
 */

/** Before anything was delivered. */
const NOTHING: FollowProgress = { number: undefined, head: undefined, blocks: 0, rollbacks: 0 }

/** What distinguishes the node's chain from another. */
export async function identityOf(client: Client): Promise<ChainIdentity> {
  const [chainId, genesis] = await Promise.all([chainIdOf(client), genesisOf(client)])
  return { chainId: chainId ?? null, genesis }
}

/** Null where the node does not have it, or no longer. */
async function genesisOf(client: Client): Promise<Hash | null> {
  try {
    return (await client.call('eth_getBlockByNumber', 0, false))?.hash ?? null
  } catch (error) {
    if (!isFailure(error) || error.kind === 'closed' || mayRepeat(error) === true) throw error
    return null
  }
}

/** Where the stream starts. Waits for the newest block that may be delivered, if that is it. */
export async function startOf(client: Client, job: FollowJob, identity: ChainIdentity, bell: Bell): Promise<Position> {
  const { from } = job
  if (typeof from === 'object') {
    checkSameChain(from, identity, 'from')
    return from
  }
  const first = typeof from === 'number' ? from : await newest(client, job, bell)
  return { from: first, number: first - 1, hashes: [] }
}

/** The newest block that may be delivered, as soon as there is one. */
async function newest(client: Client, { confirmations, onProgress }: FollowJob, bell: Bell): Promise<number> {
  const now = () => clockOf(client).now()
  const pace = new Pace(now())
  for (let isFirst = true; ; isFirst = false) {
    bell.take()
    try {
      const target = await look(client, confirmations)
      if (target !== undefined) return target.number
      pace.missed()
      if (isFirst) onProgress?.(NOTHING)
    } catch (error) {
      if (isFirst || !isFailure(error) || mayRepeat(error) !== true) throw error
      pace.failed()
      onProgress?.({ ...NOTHING, failure: error })
    }
    await bell.wait(pace.waitMs(now(), bell.isLive, Math.random()))
  }
}
