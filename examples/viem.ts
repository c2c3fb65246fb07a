/*
 * viem on hexline: one line of a viem program changes, the rest stays the same. Needs a local node
 * with a funded account of the well-known test mnemonic, such as anvil (`npx @foundry-rs/anvil`):
 *
 *     npm install hexline viem
 *     npm pkg set type=module
 *     HEXLINE_RPC_URL=http://127.0.0.1:8545 node viem.ts
 *
 * (`node` from 22.18; before, `npx tsx`.)
 */
import { bulkActions, hexline } from 'hexline/viem'
import { createPublicClient, createWalletClient, formatEther, parseEther } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { foundry } from 'viem/chains'

const url = process.env.HEXLINE_RPC_URL ?? 'http://127.0.0.1:8545'
const transport = hexline(url) // was: http(url)

const client = createPublicClient({ chain: foundry, transport }).extend(bulkActions())
const account = mnemonicToAccount('test test test test test test test test test test test junk')
const wallet = createWalletClient({ chain: foundry, transport, account })

try {
  const from = (await client.getBlockNumber()) + 1n

  // Wallet actions, receipts and errors are viem's own.
  const receivers = Array.from(
    { length: 20 },
    (_, i) => mnemonicToAccount('test test test test test test test test test test test junk', { addressIndex: i + 1 }).address,
  )
  const before = await Promise.all(receivers.map((address) => client.getBalance({ address })))
  for (const to of receivers) {
    const hash = await wallet.sendTransaction({ to, value: parseEther('0.5') })
    await client.waitForTransactionReceipt({ hash, pollingInterval: 50 })
  }

  // Twenty reads in one turn of the event loop make one POST, without any code for batching.
  const after = await Promise.all(receivers.map((address) => client.getBalance({ address })))
  const received = after.reduce((sum, balance, i) => sum + balance - (before[i] as bigint), 0n)
  console.log(`20 accounts received ${formatEther(received)} ETH`)

  // A range of blocks in viem's own format, in order and without gaps, with receipts.
  let transactions = 0
  let gas = 0n
  for await (const block of client.getBlocks({ fromBlock: from, toBlock: 'latest', includeTransactions: true, includeReceipts: true })) {
    transactions += block.transactions.length
    for (const receipt of block.receipts) gas += receipt.gasUsed
  }
  console.log(`their blocks hold ${transactions} transactions, which used ${gas} gas`)

  await wallet.sendTransaction({ to: receivers[0] as `0x${string}`, value: parseEther('1000000') })
} catch (error) {
  // viem's errors, with viem's meaning: InsufficientFundsError, HttpRequestError, TimeoutError and
  // so on.
  const { name, shortMessage, details } = error as { name: string; shortMessage: string; details: string }
  console.log(`${name}: ${shortMessage} ${details}`)
  if (name !== 'TransactionExecutionError') process.exitCode = 1
} finally {
  await client.transport.client.close()
}
