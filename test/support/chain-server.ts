import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Answer } from './server.ts'

/** A call as it reached the server. */
export interface SeenCall {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

export interface ChainOptions {
  /** Number of the latest block. */
  readonly head: number
  /** Default 1. */
  readonly chainId?: number
  /** Number of transactions in a block. */
  readonly transactions?: (number: number) => number
  /** Size of each transaction's input, in bytes. */
  readonly inputBytes?: number
  /** The `result` or `error` to send in place of the right one; undefined for the right one. */
  readonly answer?: (call: SeenCall, right: unknown) => { result: unknown } | { error: { code: number; message: string } } | undefined
  /** Awaited before a POST is answered. */
  readonly gate?: (calls: readonly SeenCall[]) => Promise<void> | void
  /** Converts the JSON of the calls to the body to send. */
  readonly body?: (json: string) => string
  /** The reply to send in place of the right one; undefined for the right one. */
  readonly reply?: (post: SeenPost) => ChainReply | undefined
}

/** A POST that is about to be answered. */
export interface SeenPost {
  readonly calls: readonly SeenCall[]
  readonly isBatch: boolean
  /** When it arrived, on the clock of `performance.now()`. */
  readonly at: number
  /** The right reply. */
  readonly json: string
}

export interface ChainReply {
  readonly status?: number
  readonly body: string
  /** Ends the connection after this many characters of the body. */
  readonly cutAt?: number
}

export interface ChainServer {
  readonly url: string
  /** All calls that arrived, in order. */
  readonly calls: SeenCall[]
  /** Number of calls in each POST. */
  readonly posts: number[]
  /** Path of each POST. */
  readonly paths: string[]
  close(): Promise<void>
}

/** A chain of generated blocks that link to each other, with faults on demand. */
function createChain(options: ChainOptions) {
  const calls: SeenCall[] = []
  const posts: number[] = []

  async function replyTo(batch: readonly SeenCall[], isBatch: boolean, at: number): Promise<ChainReply> {
    calls.push(...batch)
    posts.push(batch.length)
    await options.gate?.(batch)
    const replies = batch.map((call) => {
      const right = rightAnswer(call, options)
      return { jsonrpc: '2.0', id: call.id, ...(options.answer?.(call, right) ?? { result: right }) }
    })
    const json = JSON.stringify(isBatch ? replies : replies[0])
    return options.reply?.({ calls: batch, isBatch, at, json }) ?? { body: options.body?.(json) ?? json }
  }
  return { calls, posts, replyTo }
}

/** The chain for `serve` of virtual-server.ts. */
export function chainAnswer(options: ChainOptions): Answer {
  const { replyTo } = createChain(options)
  return async ({ entries, isBatch, at, socket }, response) => {
    const { status = 200, body, cutAt } = await replyTo(entries, isBatch, at)
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    if (cutAt === undefined) response.end(body)
    else response.write(body.slice(0, cutAt), () => socket.destroy())
  }
}

/** A real server with such a chain. */
export async function startChain(options: ChainOptions): Promise<ChainServer> {
  const { calls, posts, replyTo } = createChain(options)
  const paths: string[] = []
  const server = createServer((request, response) => void respond(request, response))

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = performance.now()
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as SeenCall | SeenCall[]
    paths.push(request.url ?? '')
    // JSON-RPC lets a client leave out empty parameters.
    const batch = [body].flat().map((call) => ({ ...call, params: call.params ?? [] }))
    const { status = 200, body: text, cutAt } = await replyTo(batch, Array.isArray(body), at)
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    if (cutAt === undefined) response.end(text)
    else response.write(text.slice(0, cutAt), () => response.destroy())
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    posts,
    paths,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function rightAnswer({ method, params }: SeenCall, options: ChainOptions): unknown {
  if (method === 'eth_chainId') return hexOf(options.chainId ?? 1)
  if (method === 'eth_blockNumber') return hexOf(options.head)
  if (method === 'eth_getBlockByNumber') {
    const number = ['latest', 'safe', 'finalized'].includes(params[0] as string) ? options.head - (tagDepth[params[0] as string] as number) : Number(params[0])
    return number > options.head ? null : blockOf(number, params[1] === true, options)
  }
  if (method === 'eth_getBlockReceipts') return receiptsOf(numberOf(params[0] as string), options)
  if (method === 'eth_getTransactionReceipt') {
    const [block, index] = placeOf(params[0] as string)
    return receiptsOf(block, options)[index]
  }
  if (method === 'debug_traceBlockByNumber' || method === 'debug_traceBlockByHash') return callFramesOf(numberOf(params[0] as string), options)
  if (method === 'trace_block') return tracesOf(numberOf(params[0] as string), options)
  return null
}

const tagDepth: Record<string, number> = { latest: 0, safe: 2, finalized: 4 }

export function hexOf(number: number): string {
  return `0x${number.toString(16)}`
}

export function blockHash(number: number): string {
  return `0x${'b'.repeat(8)}${number.toString(16).padStart(56, '0')}`
}

/** The number of a block, given by its number or its hash. */
function numberOf(block: string): number {
  return Number(block.length < 66 ? block : `0x${block.slice(10)}`)
}

function transactionHash(block: number, index: number): string {
  return `0x${'7'.repeat(8)}${block.toString(16).padStart(28, '0')}${index.toString(16).padStart(28, '0')}`
}

function placeOf(hash: string): [block: number, index: number] {
  return [Number(`0x${hash.slice(10, 38)}`), Number(`0x${hash.slice(38)}`)]
}

export function blockOf(number: number, full: boolean, { transactions = () => 1, inputBytes = 4 }: Partial<ChainOptions> = {}): Record<string, unknown> {
  return {
    number: hexOf(number),
    hash: blockHash(number),
    parentHash: number === 0 ? `0x${'0'.repeat(64)}` : blockHash(number - 1),
    gasLimit: '0x1c9c380',
    gasUsed: hexOf(21_000 * transactions(number)),
    timestamp: hexOf(1_700_000_000 + number),
    transactions: Array.from({ length: transactions(number) }, (_, i) =>
      full
        ? {
            hash: transactionHash(number, i),
            blockHash: blockHash(number),
            blockNumber: hexOf(number),
            transactionIndex: hexOf(i),
            nonce: hexOf(i),
            value: hexOf(number * 1000 + i),
            input: `0x${'ab'.repeat(inputBytes)}`,
          }
        : transactionHash(number, i),
    ),
  }
}

/** A call frame of each transaction, with a call in it. */
export function callFramesOf(number: number, { transactions = () => 1 }: Partial<ChainOptions> = {}): Record<string, unknown>[] {
  const frame = { type: 'CALL', from: `0x${'f'.repeat(40)}`, to: `0x${'a'.repeat(40)}`, gas: '0x5208', gasUsed: '0x5208', input: '0x', value: hexOf(number) }
  return Array.from({ length: transactions(number) }, (_, i) => ({ txHash: transactionHash(number, i), result: { ...frame, calls: [frame] } }))
}

/** Two traces of each transaction, and a reward. */
export function tracesOf(number: number, { transactions = () => 1 }: Partial<ChainOptions> = {}): Record<string, unknown>[] {
  const [from, to] = [`0x${'f'.repeat(40)}`, `0x${'a'.repeat(40)}`]
  const place = { blockHash: blockHash(number), blockNumber: number }
  const call = {
    type: 'call',
    action: { callType: 'call', from, to, gas: '0x5208', value: '0x1', input: '0x' },
    result: { gasUsed: '0x0', output: '0x' },
    ...place,
  }
  const reward = { type: 'reward', action: { author: from, rewardType: 'block', value: '0x1' }, result: null, subtraces: 0, traceAddress: [], ...place }
  const calls = Array.from({ length: transactions(number) }, (_, i) => {
    const each = { ...call, transactionHash: transactionHash(number, i), transactionPosition: i }
    return [
      { ...each, subtraces: 1, traceAddress: [] },
      { ...each, subtraces: 0, traceAddress: [0], error: 'Reverted', result: null },
    ]
  })
  return [...calls.flat(), reward]
}

export function receiptsOf(number: number, { transactions = () => 1 }: ChainOptions): Record<string, unknown>[] {
  return Array.from({ length: transactions(number) }, (_, i) => ({
    transactionHash: transactionHash(number, i),
    transactionIndex: hexOf(i),
    blockHash: blockHash(number),
    blockNumber: hexOf(number),
    status: '0x1',
    gasUsed: '0x5208',
    logs: [],
  }))
}

/**
 * Replies like those of a node that adds more fields after each result; each ends with the same
 * bracket as the result.
 */
export function withLongFields(json: string): string {
  const long = (result: unknown) => JSON.stringify(Array.isArray(result) ? [{ text: 'x'.repeat(3000) }] : { list: ['x'.repeat(3000)] })
  const more = (reply: { result?: unknown }) => `${JSON.stringify(reply).slice(0, -1)},"meta":${long(reply.result)}}`
  const body: unknown = JSON.parse(json)
  return Array.isArray(body) ? `[${body.map(more).join()}]` : more(body as object)
}
