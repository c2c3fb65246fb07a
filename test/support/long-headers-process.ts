/*
 * A process that accepts long headers (`--max-http-header-size`). It gets the first half of a
 * reply's headers, then five other replies, then the rest. Prints the characters of the header.
 */
import net, { type AddressInfo, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { createClient, HttpError } from '../../src/index.ts'

const seen: Socket[] = []
const server = net.createServer((socket) => {
  socket.on('error', () => {})
  socket.once('data', () => {
    seen.push(socket)
    if (seen.length > 1) socket.end(`HTTP/1.1 404 Not Found\r\ncontent-length: 200000\r\n\r\n${'x'.repeat(200_000)}`)
    else socket.write(`HTTP/1.1 404 Not Found\r\npadding: ${'h'.repeat(40_000)}`)
  })
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const client = createClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { batch: false, retry: false })
const ask = () => client.request({ method: 'eth_chainId' }).catch((error: unknown) => error)
const first = ask()
while (seen.length < 1) await setTimeout(5)
for (let i = 0; i < 5; i++) {
  await setTimeout(10)
  await ask()
}
seen[0]?.end(`${'h'.repeat(1_000)}\r\ncontent-length: 0\r\n\r\n`)
const error = await first
process.stdout.write(error instanceof HttpError ? [...new Set(String(error.headers.padding))].join('') : String(error))
await client.close()
server.close()
