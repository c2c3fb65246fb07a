import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { gzip } from 'node:zlib'
import { startSandbox } from 'hexline/sandbox'
import { auditedBlocks } from './audited.ts'
import { FIRST_BLOCK, fill, loadBlocks, type Template } from './blocks.ts'
import { cert, key } from './certificate.ts'
import { logsReply, makeLogs, type Refusal } from './logs.ts'
import { FAULTS, FAULTY_RATE, workloads } from './workloads.ts'

/*
 * A node for the benchmark, in its own process. It answers from memory at the lowest possible cost.
 * The path selects its behaviour: `/late/50` answers after 50 ms; `/throttled/1000/a` refuses more
 * than 1000 calls a second with 429, counted for `a` alone, and `GET /throttled/1000/a` returns the
 * number of refused calls; `/gzip` compresses replies for clients that accept gzip; `GET /faulty/3`
 * starts a sandbox in front of this server, with faults from the seed 3, and returns its URL;
 * `/logs/20/a` answers after 20 ms, with the logs of logs.ts, `/audit/20/a` with the blocks of
 * audited.ts, and `GET /logs/20/a` returns what it has counted for `a`. `node server.ts made`
 * generates the blocks even if real ones are present, and `node server.ts made 200` eight with 200
 * transactions on average.
 */

/** What the server reports when it is ready. */
export interface ServerNews {
  readonly url: string
  /** The same server over TLS, with the certificate of certificate.ts. */
  readonly secureUrl: string
  readonly source: string
  readonly transactions: readonly number[]
  /** Number of transfers in each of the blocks of the workloads `audit`. */
  readonly transfers: readonly number[]
  /** Mean sizes of replies, in bytes. */
  readonly bytes: { readonly full: number; readonly hashes: number; readonly receipts: number; readonly logs: number }
}

/** What the server has counted for one client. */
export interface Counts {
  readonly posts: number
  readonly calls: number
  /** Bytes of the replies, without headers. */
  readonly bytes: number
}

interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

const [, , areMade, transactionsEach] = process.argv
// No two are alike: the blooms of the workloads `audit` have to differ.
const counts = transactionsEach === undefined ? undefined : [-4, -3, -2, -1, 1, 2, 3, 4].map((more) => Number(transactionsEach) + more)
const blocks = loadBlocks(areMade === 'made', counts)
const { source, full, hashes, receipts, transactions, logs } = blocks
const audited = await auditedBlocks(blocks)
const COMMA = Buffer.from(',')
const OPEN = Buffer.from('[')
const CLOSE = Buffer.from(']')
const END = Buffer.from('}')

const listener: RequestListener = (request, response) => {
  const path = request.url ?? ''
  const [, behaviour = '', setting = ''] = path.split('/')
  const bucket = behaviour === 'throttled' ? bucketOf(path, Number(setting)) : undefined
  const counts = countsOf(path)
  if (behaviour === 'faulty') return void startFaulty(Number(setting)).then((url) => reply(response, 200, [Buffer.from(JSON.stringify({ url }))]))
  if (request.method === 'GET') return void reply(response, 200, [Buffer.from(JSON.stringify({ refused: bucket?.refused, rare: audited.rare, ...counts }))])
  const chunks: Buffer[] = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Call | Call[]
    if (bucket?.takes(Array.isArray(body) ? body.length : 1) === false) return reply(response, 429, [REFUSAL])
    const answered = behaviour === 'logs' ? answerLogs : behaviour === 'audit' ? answerAudit : answer
    const parts = Array.isArray(body) ? [...body.flatMap((call, i) => [i === 0 ? OPEN : COMMA, ...answered(call)]), CLOSE] : answered(body)
    counts.posts++
    counts.calls += Array.isArray(body) ? body.length : 1
    counts.bytes += parts.reduce((sum, { length }) => sum + length, 0)
    if (LATE.includes(behaviour)) setTimeout(reply, Number(setting), response, 200, parts)
    else if (behaviour === 'gzip' && String(request.headers['accept-encoding']).includes('gzip')) replyCompressed(response, parts)
    else reply(response, 200, parts)
  })
}

/** Behaviours whose setting is a latency, in ms. */
const LATE = ['late', 'logs', 'audit']

const counted = new Map<string, { -readonly [K in keyof Counts]: Counts[K] }>()

function countsOf(path: string): { -readonly [K in keyof Counts]: Counts[K] } {
  // A client with two endpoints has a longer path for the second one.
  const key = path.split('/').slice(0, 4).join('/')
  let counts = counted.get(key)
  if (counts === undefined) {
    counts = { posts: 0, calls: 0, bytes: 0 }
    counted.set(key, counts)
  }
  return counts
}

const server = createServer(listener)
const secureServer = createSecureServer({ cert, key }, listener)

async function startFaulty(faultSeed: number): Promise<string> {
  const { port } = server.address() as AddressInfo
  const sandbox = await startSandbox({ upstream: `http://127.0.0.1:${port}`, callsPerSecond: FAULTY_RATE, faults: FAULTS, faultSeed })
  return sandbox.nodeUrl()
}

/** Shorter bodies are joined, in bytes. */
const LEAST_IN_PIECES = 64 * 1024

function reply(response: ServerResponse, status: number, parts: readonly Buffer[]): void {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...(status === 429 && { 'retry-after': '1' }) })
  // New memory for a long body costs more than sending it in pieces.
  if (length < LEAST_IN_PIECES) return void response.end(Buffer.concat(parts))
  response.cork()
  for (const part of parts) response.write(part)
  response.end()
}

/** At level 1, nginx's default, and the cheapest for this server. */
function replyCompressed(response: ServerResponse, parts: readonly Buffer[]): void {
  gzip(Buffer.concat(parts), { level: 1 }, (_, body) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-length': body.length })
    response.end(body)
  })
}

function answer({ id, method, params }: Call): Buffer[] {
  const start = Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`)
  const [first] = params
  switch (method) {
    case 'eth_getBlockByNumber':
      return [start, blockOf(params[1] ? full : hashes, first), END]
    case 'eth_getBlockReceipts':
      return [start, blockOf(receipts, first), END]
    case 'eth_getLogs':
      return [start, logs, END]
    // The balance of each account, in wei, is the number of its address.
    case 'eth_getBalance':
      return [start, Buffer.from(`"0x${BigInt(first as string).toString(16)}"}`)]
    case 'eth_chainId':
      return [start, Buffer.from('"0x1"}')]
    case 'net_version':
      return [start, Buffer.from('"1"}')]
    case 'eth_blockNumber':
      return [start, Buffer.from('"0xfffffff"}')]
    default:
      return [Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32601,"message":"the method ${method} does not exist"}}`)]
  }
}

const { amounts: logAmounts, warmUp: logWarmUp = 0 } = workloads.logs
const logBlocks = (logAmounts.hexline as number) * (1 + logWarmUp)

function answerLogs(call: Call): Buffer[] {
  if (call.method !== 'eth_getLogs') return answer(call)
  // All of them once, while the first client warms up.
  makeLogs(FIRST_BLOCK, logBlocks)
  const { fromBlock, toBlock } = call.params[0] as { fromBlock: string; toBlock: string }
  return envelope(call, logsReply(Number(fromBlock), Number(toBlock)))
}

function answerAudit(call: Call): Buffer[] {
  const [first] = call.params
  switch (call.method) {
    case 'eth_getBlockByNumber':
      return envelope(call, audited.header(Number(first)))
    case 'eth_getBlockReceipts':
      return envelope(call, audited.receipts(Number(first)))
    case 'eth_getLogs': {
      const { fromBlock, toBlock, address } = first as { fromBlock: string; toBlock: string; address?: string }
      return envelope(call, audited.logs(Number(fromBlock), Number(toBlock), address === undefined))
    }
    default:
      return answer(call)
  }
}

function envelope({ id }: Call, said: Buffer | Buffer[] | Refusal): Buffer[] {
  const start = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},`
  const result = Buffer.isBuffer(said) ? [said] : said
  return Array.isArray(result) ? [Buffer.from(`${start}"result":`), ...result, END] : [Buffer.from(`${start}"error":${JSON.stringify(result)}}`)]
}

function blockOf(templates: readonly Template[], number: unknown): Buffer {
  const at = Number(number)
  return fill(templates[at % templates.length] as Template, at)
}

const REFUSAL = Buffer.from('{"jsonrpc":"2.0","id":null,"error":{"code":429,"message":"too many requests: calls per second exceeded"}}')

interface Bucket {
  takes(calls: number): boolean
  refused: number
}

const buckets = new Map<string, Bucket>()

/**
 * Refills a bucket with at most one second's worth of calls, so that `Retry-After: 1` is true. A
 * batch takes one token per call, or is refused as a whole.
 */
function bucketOf(path: string, callsPerSecond: number): Bucket {
  const known = buckets.get(path)
  if (known !== undefined) return known
  let [tokens, at] = [callsPerSecond, performance.now()]
  const bucket: Bucket = {
    refused: 0,
    takes(calls) {
      const now = performance.now()
      tokens = Math.min(callsPerSecond, tokens + ((now - at) / 1000) * callsPerSecond)
      at = now
      const isTaken = calls <= tokens
      if (isTaken) tokens -= calls
      else bucket.refused += calls
      return isTaken
    },
  }
  buckets.set(path, bucket)
  return bucket
}

// Keeps the connection of a client that is busy with a long reply.
server.keepAliveTimeout = 120_000
secureServer.keepAliveTimeout = 120_000
server.listen(0, '127.0.0.1', () => secureServer.listen(0, '127.0.0.1', () => tellReady()))

function tellReady(): void {
  const portOf = (listening: Server) => (listening.address() as AddressInfo).port
  const mean = (templates: readonly Template[]) => Math.round(templates.reduce((sum, { bytes }) => sum + bytes.length, 0) / templates.length)
  const bytes = { full: mean(full), hashes: mean(hashes), receipts: mean(receipts), logs: logs.length }
  const urls = { url: `http://127.0.0.1:${portOf(server)}`, secureUrl: `https://127.0.0.1:${portOf(secureServer)}` }
  process.send?.({ ...urls, source, transactions, transfers: audited.transfers, bytes } satisfies ServerNews)
}
process.on('disconnect', () => process.exit())
