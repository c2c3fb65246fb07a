import type { Client } from '../client/client.ts'
import { HexlineError } from '../errors.ts'

/** Whether the node says that this block is final. Not all nodes know the tag. */
export async function isFinal(client: Client, number: bigint): Promise<boolean> {
  try {
    const block = await client.call('eth_getBlockByNumber', 'finalized', false)
    return block !== null && number <= block.number
  } catch (error) {
    if (error instanceof HexlineError && UNKNOWN_TAG.includes(error.kind)) return false
    throw error
  }
}

/** Undefined where the node does not have the method. */
export async function chainIdOf(client: Client): Promise<number | undefined> {
  try {
    return await client.call('eth_chainId')
  } catch (error) {
    if (error instanceof HexlineError && error.kind === 'unsupported') return undefined
    throw error
  }
}

/** How nodes refuse a tag that they do not know. */
const UNKNOWN_TAG = ['invalid', 'unsupported', 'server', 'lagging', 'execution', 'not-found']
