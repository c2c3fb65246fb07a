/*
 * A viem script on hexline: the balances of addresses, and how busy the last blocks were. before.ts
 * is the same without hexline; one line differs, and its import.
 *
 *     npm install hexline viem
 *     npm pkg set type=module
 *     HEXLINE_RPC_URL=https://… node after.ts ADDRESS…
 *
 * (`node` from 22.18; before, `npx tsx`.) It prints a line for each address, and one for the blocks:
 *
 *     0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045 5.04 ETH
 *     1842 transactions in blocks 21000000 to 21000009
 */
import { hexline } from 'hexline/viem'
import { type Address, createPublicClient, formatEther } from 'viem'

const url = process.env.HEXLINE_RPC_URL ?? 'http://127.0.0.1:8545'
const client = createPublicClient({ transport: hexline(url) })

try {
  const addresses = process.argv.slice(2) as Address[]
  const balances = await Promise.all(addresses.map((address) => client.getBalance({ address })))
  for (const [i, address] of addresses.entries()) console.log(address, formatEther(balances[i] ?? 0n), 'ETH')

  const head = await client.getBlockNumber()
  const first = head < 9n ? 0n : head - 9n
  const numbers = Array.from({ length: Number(head - first) + 1 }, (_, i) => first + BigInt(i))
  const counts = await Promise.all(numbers.map((blockNumber) => client.getBlockTransactionCount({ blockNumber })))
  const total = counts.reduce((sum, count) => sum + count, 0)
  console.log(`${total} transactions in blocks ${first} to ${head}`)
} catch (error) {
  console.error(String(error))
  process.exitCode = 1
}
