import { createClient } from 'hexline'
import { follow } from 'hexline/bulk'

const client = createClient(['wss://rpc.example.com/KEY', 'https://rpc.example.org/KEY'])
const token = '0xdAC17F958D2ee523a2206206994597C13D831ec7'

for await (const item of follow(client, { from: 21_000_000n, logs: { address: token } })) {
  if (item.type === 'block') console.log(item.block.number, item.logs.length)
  else console.log(`undo blocks ${item.blocks.map(({ number }) => number).join(', ')}`)
}
