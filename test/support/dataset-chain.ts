import { makeBlocks, makeReceipts, type RawBlock } from '../../bench/made-blocks.ts'
import { type ChainOptions, type ChainServer, hexOf, startChain } from './chain-server.ts'

/**
 * A chain of blocks with all that a dataset stores: transactions of every type, receipts, logs,
 * withdrawals.
 */
export interface DatasetChain extends ChainServer {
  block(number: number): RawBlock & { readonly withdrawals: readonly object[] }
  receipts(number: number): readonly ReturnType<typeof makeReceipts>[number][]
}

const made = makeBlocks()
const word = (head: string, number: number, index = 0) => `0x${head.repeat(8)}${number.toString(16).padStart(28, '0')}${index.toString(16).padStart(28, '0')}`

/** The hash of a block; `branch` is a digit that tells branches of the chain apart. */
export const hashOf = (number: number, branch = 'b') => word(branch, number)

/** The block of that number, with 0 to 6 transactions. */
export function datasetBlock(number: number, branch = 'b'): ReturnType<DatasetChain['block']> {
  const { transactions, ...block } = made[number % made.length] as RawBlock
  const hash = hashOf(number, branch)
  return {
    ...block,
    number: hexOf(number),
    hash,
    parentHash: hashOf(number - 1, branch),
    timestamp: hexOf(1_700_000_000 + 12 * number),
    transactions: transactions
      .slice(number % 11, (number % 11) + (number % 7))
      .map((each, i) => ({ ...each, hash: word('7', number, i), blockHash: hash, blockNumber: hexOf(number), transactionIndex: hexOf(i) })),
  } as RawBlock as ReturnType<DatasetChain['block']>
}

export function datasetReceipts(number: number, branch = 'b'): ReturnType<DatasetChain['receipts']> {
  return makeReceipts(datasetBlock(number, branch))
}

/** Starts a node of such a chain. `branch` may change while it runs. */
export async function startDatasetChain({ branch = () => 'b', ...options }: ChainOptions & { readonly branch?: () => string }): Promise<DatasetChain> {
  const server = await startChain({
    ...options,
    answer: (call, right) => {
      const other = options.answer?.(call, right)
      if (other !== undefined) return other
      const { method, params } = call
      const number = Number(params[0])
      if (right === null || Number.isNaN(number)) return undefined
      if (method === 'eth_getBlockReceipts') return { result: datasetReceipts(number, branch()) }
      if (method !== 'eth_getBlockByNumber') return undefined
      const block = datasetBlock(number, branch())
      return { result: params[1] === true ? block : { ...block, transactions: block.transactions.map(({ hash }) => hash) } }
    },
  })
  return { ...server, block: (number) => datasetBlock(number, branch()), receipts: (number) => datasetReceipts(number, branch()) }
}
