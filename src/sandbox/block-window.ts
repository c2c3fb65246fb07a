import type { Client } from '../client/client.ts'
import { RpcError } from '../errors.ts'
import type { Hash } from '../eth/codec/hex.ts'

/** The blocks that a limited node has, while it answers one POST. */
export interface BlockWindow {
  readonly oldest: number
  readonly head: number
  /**
   * The number of a block by its tag, number or hash, or by the object of EIP-1898; undefined when
   * the upstream node has no such block.
   */
  numberOf(block: unknown): Promise<number | undefined>
}

/** Where the window begins and ends. */
export interface WindowLimits {
  /** Distance of its head to the head of the upstream node, in blocks. */
  readonly lag: number
  /** The oldest block. The head is always there. */
  readonly prunedBelow: number
}

/** The window at this moment. Throws what the client throws. */
export async function blockWindow(client: Client, { lag, prunedBelow }: WindowLimits): Promise<BlockWindow> {
  const head = Math.max(0, Number(await client.call('eth_blockNumber')) - lag)
  const oldest = Math.min(prunedBelow, head)

  async function numberOf(block: unknown): Promise<number | undefined> {
    if (block === undefined || block === null || block === 'latest' || block === 'pending') return head
    // As geth and reth do: the oldest block that they have.
    if (block === 'earliest') return oldest
    if (block === 'safe' || block === 'finalized') {
      const number = await asked(client.call('eth_getBlockByNumber', block, false))
      return number === undefined ? undefined : Math.min(number, head)
    }
    if (typeof block === 'object') {
      const { blockHash, blockNumber } = block as { blockHash?: unknown; blockNumber?: unknown }
      return await numberOf(blockHash ?? blockNumber)
    }
    const text = String(block)
    if (/^0x[0-9a-f]{64}$/i.test(text)) return await asked(client.call('eth_getBlockByHash', text as Hash, false))
    return /^0x[0-9a-f]{1,13}$/i.test(text) ? Number(text) : undefined
  }

  return { oldest, head, numberOf }
}

/** Whether the node knows the tag is for the node to say. */
async function asked(block: Promise<{ readonly number: bigint } | null>): Promise<number | undefined> {
  try {
    const found = await block
    return found === null ? undefined : Number(found.number)
  } catch (error) {
    if (error instanceof RpcError) return undefined
    throw error
  }
}
