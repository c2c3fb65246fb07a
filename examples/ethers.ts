/*
 * ethers on hexline: the class of the provider changes, the rest of the program stays the same.
 * Needs a local node with funded accounts of the well-known test mnemonic, such as anvil (`npx
 * @foundry-rs/anvil`):
 *
 *     npm install hexline ethers
 *     npm pkg set type=module
 *     HEXLINE_RPC_URL=http://127.0.0.1:8545 node ethers.ts
 *
 * (`node` from 22.18; before, `npx tsx`.)
 */
import { formatEther, HDNodeWallet, isError, NonceManager, parseEther } from 'ethers'
import { HexlineProvider } from 'hexline/ethers'

const phrase = 'test test test test test test test test test test test junk'
const account = (index: number) => HDNodeWallet.fromPhrase(phrase, undefined, `m/44'/60'/0'/0/${index}`)

const url = process.env.HEXLINE_RPC_URL ?? 'http://127.0.0.1:8545'
let provider: HexlineProvider | undefined
try {
  // Reads the chain id once, in advance. `new HexlineProvider(url)` works, too.
  const node = await HexlineProvider.connect(url) // was: new JsonRpcProvider(url)
  provider = node
  const start = await node.getBlockNumber()

  // Wallets, nonces, receipts and errors are ethers' own.
  const wallet = new NonceManager(account(0).connect(node))
  const receivers = Array.from({ length: 20 }, (_, i) => account(i + 1).address)
  const sent = []
  for (const to of receivers) sent.push(await wallet.sendTransaction({ to, value: parseEther('0.5') }))
  for (const transaction of sent) await transaction.wait()

  // Forty reads in one turn of the event loop make one POST, without any code for batching.
  const balancesAt = (block: number | 'latest') => Promise.all(receivers.map((address) => node.getBalance(address, block)))
  const [before, after] = await Promise.all([balancesAt(start), balancesAt('latest')])
  console.log(`20 accounts received ${formatEther(after.reduce((sum, balance, i) => sum + balance - (before[i] as bigint), 0n))} ETH`)

  // A range of ethers' blocks, in order and without gaps.
  let transactions = 0
  let value = 0n
  for await (const block of node.getBlocks(start + 1, 'latest', { prefetchTxs: true })) {
    for (const transaction of block.prefetchedTransactions) {
      transactions++
      value += transaction.value
    }
  }
  console.log(`their blocks hold ${transactions} transactions, worth ${formatEther(value)} ETH`)

  await account(1)
    .connect(provider)
    .sendTransaction({ to: wallet, value: parseEther('1000000') })
} catch (error) {
  // ethers' errors, with ethers' codes: INSUFFICIENT_FUNDS, CALL_EXCEPTION, NETWORK_ERROR, TIMEOUT
  // and so on.
  const { code, shortMessage } = error as { code: string; shortMessage: string }
  console.log(`${code}: ${shortMessage}`)
  if (!isError(error, 'INSUFFICIENT_FUNDS')) process.exitCode = 1
} finally {
  provider?.destroy()
}
