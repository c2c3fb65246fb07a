/*
 * An ethers bot on hexline: it tops accounts up to 1 ETH, from a wallet of yours, whenever a block
 * finds them below a half. before.ts is the same without hexline; one line differs, and its import.
 *
 *     npm install hexline ethers
 *     npm pkg set type=module
 *     HEXLINE_RPC_URL=https://… PRIVATE_KEY=0x… node after.ts ADDRESS…
 *
 * (`node` from 22.18; before, `npx tsx`.) It prints a line for each payment, and ends at Ctrl-C:
 *
 *     0x70997970C51812dc3A010C7d01b50e0d17dc79C8 gets 0.7 ETH
 */
import { formatEther, parseEther, Wallet } from 'ethers'
import { HexlineProvider } from 'hexline/ethers'

const url = process.env.HEXLINE_RPC_URL ?? 'http://127.0.0.1:8545'
const provider = new HexlineProvider(url)
const wallet = new Wallet(process.env.PRIVATE_KEY ?? '', provider)
const accounts = process.argv.slice(2)
const [least, full] = [parseEther('0.5'), parseEther('1')]

let busy = false
async function topUp() {
  if (busy) return // the next block looks again
  busy = true
  try {
    const balances = await Promise.all(accounts.map((account) => provider.getBalance(account)))
    for (const [i, to] of accounts.entries()) {
      const balance = balances[i] ?? full
      if (balance >= least) continue
      const value = full - balance
      const transaction = await wallet.sendTransaction({ to, value })
      await transaction.wait()
      console.log(`${to} gets ${formatEther(value)} ETH`)
    }
  } catch (error) {
    // After Ctrl-C it only tells that the provider is gone. Otherwise the next block tries again.
    if (!provider.destroyed) console.error(String(error))
  } finally {
    busy = false
  }
}

process.once('SIGINT', () => provider.destroy()) // a second Ctrl-C ends it at once
await topUp()
if (!provider.destroyed) provider.on('block', topUp)
