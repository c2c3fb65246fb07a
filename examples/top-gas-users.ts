/*
 * Who uses the gas: the ten accounts and contracts whose transactions used the most of it in the last
 * 1,000 blocks.
 *
 *     npm install hexline
 *     npm pkg set type=module
 *     HEXLINE_RPC_URL=https://… node top-gas-users.ts [BLOCKS]
 *
 * (`node` from 22.18; before, `npx tsx`.) It prints the share of each, its gas, and its transactions:
 *
 *     16423901122 gas in blocks 21000000 to 21000999
 *      9.12 %      1498023111 gas   13921 transactions  0xdac17f958d2ee523a2206206994597c13d831ec7
 */
import { createClient } from 'hexline'
import { getBlocks } from 'hexline/bulk'

const stop = new AbortController()
process.once('SIGINT', () => stop.abort()) // a second Ctrl-C ends it at once

const client = createClient(process.env.HEXLINE_RPC_URL ?? 'http://127.0.0.1:8545')
try {
  const blocks = BigInt(process.argv[2] ?? 1000)
  const to = await client.with({ signal: stop.signal }).call('eth_blockNumber')
  const from = to < blocks ? 0n : to - blocks + 1n
  let total = 0n
  const users = new Map<string, { gas: bigint; transactions: number }>()
  for await (const { receipts } of getBlocks(client, { from, to, receipts: true, signal: stop.signal })) {
    for (const receipt of receipts) {
      // A transaction without a receiver creates a contract: its gas counts for the sender.
      const account = receipt.to ?? receipt.from
      const user = users.get(account) ?? { gas: 0n, transactions: 0 }
      user.gas += receipt.gasUsed
      user.transactions++
      users.set(account, user)
      total += receipt.gasUsed
    }
  }
  console.log(`${total} gas in blocks ${from} to ${to}`)
  const top = [...users].sort(([, a], [, b]) => Number(b.gas - a.gas)).slice(0, 10)
  for (const [account, { gas, transactions }] of top) {
    const share = (Number((gas * 10_000n) / total) / 100).toFixed(2)
    console.log(`${share.padStart(5)} % ${String(gas).padStart(15)} gas ${String(transactions).padStart(7)} transactions  ${account}`)
  }
} catch (error) {
  if (!stop.signal.aborted) console.error(String(error))
  process.exitCode = stop.signal.aborted ? 130 : 1
} finally {
  await client.close()
}
