import { createClient } from 'hexline'
import { getBlocks, type Progress, verifyBlock } from 'hexline/bulk'

const client = createClient('http://127.0.0.1:8545')

// A range: a wrong block is requested again from another endpoint.
let progress: Progress | undefined
const onProgress = (newest: Progress) => {
  progress = newest
}
const options = { from: 0, to: 'latest', transactions: 'full', receipts: true, verify: 'full' } as const
for await (const block of getBlocks(client, { ...options, onProgress })) console.log(block.number)
console.log(progress?.verified)

// A single block.
const block = await client.call('eth_getBlockByNumber', 'latest', true)
const receipts = await client.call('eth_getBlockReceipts', 'latest')
if (block !== null && receipts !== null) console.log(await verifyBlock(block, receipts))

await client.close()
