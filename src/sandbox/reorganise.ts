import type { Client } from '../client/client.ts'
import { RpcError } from '../errors.ts'
import { decodeQuantity } from '../eth/codec/quantity.ts'
import type { Answer } from './call-plan.ts'
import type { Forward } from './json-rpc.ts'
import type { LogFilter, Notifications } from './notifications.ts'
import { json } from './reply.ts'

/** The sandbox's own method. Its param is the number of blocks to replace. */
const METHOD = 'sandbox_reorg'

/**
 * Replaces the last blocks of anvil's chain, on demand: `sandbox_reorg` with a depth puts `depth +
 * 1` empty blocks in their place, and answers with the numbers of the last block that stays and of
 * the new head. All other calls pass. A batch passes, too, and the node does not know the method.
 */
export function withReorganisations(forward: Forward, client: Client, notifications: Notifications): Forward {
  return {
    async send(body, signal) {
      const { id, method, params } = (body.value ?? {}) as { id?: unknown; method?: unknown; params?: unknown }
      if (method !== METHOD) return await forward.send(body, signal)
      return json(200, { jsonrpc: '2.0', id: id ?? null, ...(await answer(params, client, notifications)) })
    },
    close: forward.close,
  }
}

async function answer(params: unknown, client: Client, notifications: Notifications): Promise<Answer> {
  const head = await client.call('eth_blockNumber')
  const depth = depthOf(params)
  if (depth === undefined || depth > head)
    return {
      error: {
        code: -32602,
        message: head === 0n ? 'there is no block to replace yet: mine some first' : `expected how many blocks to replace, from 1 to ${head}`,
      },
    }
  const ancestor = head - depth
  const [fromBlock, toBlock] = [ancestor + 1n, head].map(hex)
  const logsOf = async ({ address, topics }: LogFilter) => {
    const params = [{ ...(address != null && { address }), ...(topics != null && { topics }), fromBlock, toBlock }]
    return (await client.request({ method: 'eth_getLogs', params })) as object[]
  }
  try {
    return await notifications.replaceBlocks(logsOf, async () => {
      await client.request({ method: 'anvil_reorg', params: [Number(depth), []] })
      // A chain replaces another one when it is longer.
      await client.request({ method: 'evm_mine' })
      return { result: { ancestor: hex(ancestor), head: hex(head + 1n) } }
    })
  } catch (error) {
    if (error instanceof RpcError) return { error: { code: error.code, message: `${METHOD} needs anvil as its node: ${error.said}` } }
    throw error
  }
}

function depthOf(params: unknown): bigint | undefined {
  const [depth]: unknown[] = Array.isArray(params) && params.length === 1 ? params : []
  try {
    const value = typeof depth === 'number' ? BigInt(depth) : decodeQuantity(depth)
    return value > 0n ? value : undefined
  } catch {
    return undefined
  }
}

function hex(number: bigint): string {
  return `0x${number.toString(16)}`
}
