/*
 * A program with subscribers that throw. Its call is still answered, and Node.js reports each error
 * separately.
 */
import { subscribe } from 'node:diagnostics_channel'
import { createClient, replyOf } from '../../src/index.ts'

process.on('uncaughtException', (error) => console.log(`uncaught: ${error.message}`))
for (const name of ['hexline:call', 'hexline:post']) {
  subscribe(name, () => {
    throw new Error(`a subscriber of ${name}`)
  })
}
const client = createClient(async (calls) => calls.map(() => replyOf('0x1', 3)))
console.log('answered', await client.request({ method: 'eth_chainId' }))
await client.close()
