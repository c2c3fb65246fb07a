import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadBlocks } from './blocks.ts'

/*
 * A node of the benchmark, in a process of its own: answers from memory, and costs as little as it can. Block n is one of
 * a few, with its own number, hash and parent.
 */

const HEAD = 100_000_000n
const { source, full, hashes } = loadBlocks()
const bodies = { full: full.map((text) => Buffer.from(`${text}}`)), hashes: hashes.map((text) => Buffer.from(`${text}}`)) }

interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[]
    const parts = Array.isArray(body) ? body.flatMap((call, i) => [Buffer.from(i === 0 ? '[' : ','), ...answer(call)]) : answer(body)
    if (Array.isArray(body)) parts.push(Buffer.from(']'))
    let length = 0
    for (const part of parts) length += part.length
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': length })
    response.end(Buffer.concat(parts, length))
  })
})

function answer({ id, method, params }: Call): Buffer[] {
  const start = `{"jsonrpc":"2.0","id":${id},"result":`
  if (method === 'eth_getBlockByNumber') {
    const number = BigInt(params[0] as string)
    const templates = params[1] ? bodies.full : bodies.hashes
    const head = `{"number":"0x${number.toString(16)}","hash":"${hashOf(number)}","parentHash":"${hashOf(number - 1n)}",`
    return [Buffer.from(start + head), templates[Number(number % BigInt(templates.length))] as Buffer, END]
  }
  // Every account has as many wei as its address says.
  if (method === 'eth_getBalance') return [Buffer.from(`${start}"0x${BigInt(params[0] as string).toString(16)}"}`)]
  if (method === 'eth_chainId') return [Buffer.from(`${start}"0x1"}`)]
  return [Buffer.from(`${start}"0x${HEAD.toString(16)}"}`)]
}

const END = Buffer.from('}')

function hashOf(number: bigint): string {
  return `0x${(number + 1n).toString(16).padStart(64, 'b')}`
}

server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo
  const size = (texts: readonly string[]) => Math.round(texts.reduce((sum, text) => sum + text.length, 0) / texts.length)
  process.send?.({ url: `http://127.0.0.1:${port}`, source, fullBytes: size(full), hashesBytes: size(hashes) })
})
process.on('disconnect', () => process.exit())
