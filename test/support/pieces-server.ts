import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import * as zlib from 'node:zlib'
import { onTestFinished, vi } from 'vitest'
import { blockOf, receiptsOf, type SeenCall } from './chain-server.ts'
import { cert, key } from './tls.ts'

const { zstdCompressSync } = zlib as { zstdCompressSync?: (body: Buffer) => Buffer }

/** What packs a body in each coding that this Node.js can undo. Levels are low, to be fast. */
export const packers: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  identity: (body) => body,
  gzip: (body) => zlib.gzipSync(body, { level: 1 }),
  deflate: (body) => zlib.deflateSync(body, { level: 1 }),
  br: (body) => zlib.brotliCompressSync(body, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
  ...(zstdCompressSync && { zstd: zstdCompressSync }),
}

/** How bodies are sent. */
export interface Sending {
  readonly coding: string
  /**
   * How their end is known: by content-length, by the last chunk, or by the end of the connection.
   */
  readonly ends: 'counted' | 'chunked' | 'closed'
  /** Size of the next piece, in bytes. */
  piece(): number
}

export interface PiecesServer {
  readonly url: string
  /** How to send from now on. */
  sending: Sending
}

/**
 * A real server, over TLS if it is secure, that sends the replies to calls in pieces, until the
 * test ends. Clients of the same process trust it until then.
 */
export async function startPieces(isSecure: boolean, sending: Sending, answer: (call: SeenCall) => unknown): Promise<PiecesServer> {
  const made = { url: '', sending }
  const listener: http.RequestListener = async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const calls = JSON.parse(Buffer.concat(chunks).toString()) as SeenCall | SeenCall[]
    const replyTo = (call: SeenCall) => ({ jsonrpc: '2.0', id: call.id, result: answer(call) })
    await sendPieces(response, Buffer.from(JSON.stringify(Array.isArray(calls) ? calls.map(replyTo) : replyTo(calls))), made.sending)
  }
  const server = isSecure ? https.createServer({ key, cert }, listener) : http.createServer(listener)
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  if (isSecure) vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  onTestFinished(() => {
    vi.unstubAllEnvs()
    server.close()
    server.closeAllConnections()
  })
  made.url = `${isSecure ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`
  return made
}

async function sendPieces(response: http.ServerResponse, plain: Buffer, { coding, ends, piece }: Sending): Promise<void> {
  const body = (packers[coding] as (typeof packers)[string])(plain)
  if (ends === 'counted') response.setHeader('content-length', body.length)
  // Without this header Node.js sends neither chunks nor a length.
  if (ends === 'closed') response.removeHeader('transfer-encoding')
  response.writeHead(200, { 'content-type': 'application/json', ...(coding !== 'identity' && { 'content-encoding': coding }) })
  for (let at = 0; at < body.length; ) {
    const end = at + piece()
    response.write(body.subarray(at, end))
    at = end
    await setImmediate()
  }
  response.end()
}

/** Blocks of 1 to 150 kB, with different bytes in each, and their receipts. */
export function mixedChain({ method, params: [tag, full] }: SeenCall): unknown {
  const transactions = (number: number) => (number * 7) % 30
  const number = Number(tag)
  if (method === 'eth_getBlockReceipts') return receiptsOf(number, { head: number, transactions })
  if (method !== 'eth_getBlockByNumber') return '0xfffffff'
  const block = blockOf(number, full === true, { transactions })
  return full ? { ...block, transactions: (block.transactions as object[]).map((each, i) => ({ ...each, input: inputOf(number, i) })) } : block
}

function inputOf(number: number, i: number): string {
  return `0x${(number * 1000 + i)
    .toString(16)
    .padStart(8, '0')
    .repeat((number * 131 + i * 17) % 700)}`
}

/** A decoded value as it was sent: its numbers as quantities. */
export function asSent(value: unknown): unknown {
  if (typeof value === 'bigint' || typeof value === 'number') return `0x${value.toString(16)}`
  if (Array.isArray(value)) return value.map(asSent)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, asSent(each)]))
}
