import { type ChainServer, startChain } from './chain-server.ts'
import { type MadeBlock, madeJson } from './decoded-blocks.ts'

/** Blocks 0 to `last`, each the parent of the next one, with right hashes and roots. */
export async function madeChain(last: number, extraTransactions = 0): Promise<MadeBlock[]> {
  const chain: MadeBlock[] = []
  for (let number = 0n; number <= last; number++) {
    const parentHash = (chain.at(-1)?.block.hash ?? `0x${'00'.repeat(32)}`) as `0x${string}`
    chain.push(await madeJson({ number, parentHash, extraTransactions }))
  }
  return chain
}

/** Changes a block and its receipts. */
export type Alter = (made: { block: Record<string, unknown> & { transactions: Record<string, unknown>[] }; receipts: Record<string, unknown>[] }) => void

/** A node of this chain, which alters one of its blocks. */
export function startMadeChain(chain: readonly MadeBlock[], wrong = 0, alter: Alter = () => {}): Promise<ChainServer> {
  return startChain({
    head: chain.length - 1,
    answer({ method, params: [which, full] }) {
      if (method === 'eth_chainId') return { result: '0x1' }
      const number = which === 'latest' ? chain.length - 1 : chain.findIndex(({ block }) => block.number === which || block.hash === which)
      if (number < 0) return undefined
      const made = structuredClone(chain[number]) as MadeBlock
      if (number === wrong) alter(made)
      if (method === 'eth_getBlockReceipts') return { result: made.receipts }
      return { result: full ? made.block : { ...made.block, transactions: made.block.transactions.map(({ hash }) => hash) } }
    },
  })
}
