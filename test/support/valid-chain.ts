import { type ChainOptions, type ChainServer, startChain } from './chain-server.ts'
import { type MadeBlock, madeJson } from './decoded-blocks.ts'

export interface ValidChain extends ChainServer {
  /** The blocks of the chain, by their numbers. */
  readonly blocks: ReadonlyMap<number, MadeBlock>
}

/** Number of the first block. */
export const FIRST = 8

/** Made once: files share this module. */
const made = new Map<string, MadeBlock>()

/**
 * `count` blocks with hashes and roots that hold, each the child of the one before it: with
 * transactions of all types, logs and withdrawals. `layouts` is how many sizes of blocks take
 * turns.
 */
export async function validBlocks(count: number, layouts = 1): Promise<ReadonlyMap<number, MadeBlock>> {
  const blocks = new Map<number, MadeBlock>()
  for (let number = FIRST; number < FIRST + count; number++) {
    const parentHash = blocks.get(number - 1)?.block.hash as `0x${string}` | undefined
    const key = `${layouts} ${number}`
    const extraTransactions = number % layouts
    const block = made.get(key) ?? (await madeJson({ number: BigInt(number), extraTransactions, ...(parentHash !== undefined && { parentHash }) }))
    made.set(key, block)
    blocks.set(number, block)
  }
  return blocks
}

/** Starts a node of such a chain. */
export async function startValidChain(count: number, options: Partial<ChainOptions> = {}, layouts = 1): Promise<ValidChain> {
  const blocks = await validBlocks(count, layouts)
  const server = await startChain({
    head: FIRST + count - 1,
    ...options,
    answer: (call, right) => {
      const other = options.answer?.(call, right)
      if (other !== undefined) return other
      const { method, params } = call
      if (method === 'eth_chainId') return { result: '0x1' }
      const found = blocks.get(Number(params[0] === 'latest' ? FIRST + count - 1 : params[0]))
      if (method === 'eth_getBlockReceipts') return { result: found?.receipts ?? null }
      if (method !== 'eth_getBlockByNumber') return undefined
      if (found === undefined) return { result: null }
      const { transactions } = found.block
      return { result: params[1] === true ? found.block : { ...found.block, transactions: transactions.map(({ hash }) => hash) } }
    },
  })
  return { ...server, blocks }
}
