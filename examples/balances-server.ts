/*
 * An HTTP back end that reads balances, hundreds a second: GET /balance/0x… At most eight POSTs are
 * on their way to the node; reads that come meanwhile share the next one. Nothing here says so.
 *
 *     npm install hexline
 *     npm pkg set type=module
 *     HEXLINE_RPC_URL=https://… node balances-server.ts [PORT]
 *
 * (`node` from 22.18; before, `npx tsx`.) It prints where it listens, and answers until Ctrl-C:
 *
 *     $ curl http://127.0.0.1:8080/balance/0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045
 *     {"address":"0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045","wei":"5046413046274501270"}
 *
 * 400 stands for a bad address, 404 for any other path, 502 for a node that fails, and 504 for one
 * that has no answer within two seconds.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Address, createClient, isHexlineError } from 'hexline'

// One client for the whole process: it knows the node's limits, and keeps the sockets open. A call
// is repeated until its deadline, since four attempts, the default, take one second or so.
const client = createClient(process.env.HEXLINE_RPC_URL ?? 'http://127.0.0.1:8545', { deadlineMs: 2000, retry: { attempts: 10 } })

const server = createServer(async ({ method, url = '' }, response) => {
  const answer = (status: number, body: object) => {
    if (!response.destroyed) response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const address = /^\/balance\/([^/?]+)$/.exec(url)?.[1] as Address | undefined
  if (method !== 'GET' || address === undefined) return answer(404, { error: 'GET /balance/0x…' })
  // A caller that hangs up needs no answer: its read is taken out of the queue.
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  try {
    const wei = await client.with({ signal: gone.signal }).call('eth_getBalance', address)
    answer(200, { address, wei: String(wei) })
  } catch (error) {
    if (gone.signal.aborted) return
    // The message of a HexlineError has no key, path or header of the node in it.
    if (!isHexlineError(error)) throw error
    const status = error.kind === 'invalid' ? 400 : error.kind === 'timeout' || error.kind === 'rate-limit' ? 504 : 502
    answer(status, { error: error.message })
  }
})

server.on('error', (error) => {
  console.error(String(error))
  process.exitCode = 1
  void client.close()
})
server.listen(Number(process.argv[2] ?? 8080), '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/balance/0x…`))

// Answers what it has begun, and ends. A second Ctrl-C ends it at once.
process.once('SIGINT', () => {
  server.close(() => client.close())
  server.closeIdleConnections()
})
