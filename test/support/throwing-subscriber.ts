/*
 * A program whose subscribers throw: its call is answered all the same, and Node reports each error by itself.
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
