import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

interface Failure {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** The limits of a node, and its errors. */
export interface NodeLimits {
  /** Number of the latest block. Default 100,000. */
  readonly head?: number
  /** Largest batch, and the refusal of a larger one. Default: no limit. */
  readonly batch?: { readonly most: number; readonly says: (length: number) => Failure; readonly status?: number }
  /** Largest reply to a batch, in bytes. As in geth, entries beyond it are refused one by one. */
  readonly replyBytes?: number
  /** Size of a full block, in bytes. Default 500. */
  readonly blockBytes?: number
  /** Longest range of `eth_getLogs`, in blocks, and the refusal of a longer one. */
  readonly range?: { readonly most: number; readonly says: (blocks: number, from: number) => Failure }
  /** Calls per second, with each entry counted, and the refusal of more. */
  readonly rate?: { readonly perSecond: number; readonly says: Failure | string; readonly status?: number }
  /** Number of blocks below the head with state. The genesis state is always present. */
  readonly stateDepth?: number
  /** The oldest block of each kind that it has, and what it answers for older ones. */
  readonly history?: { readonly blocks?: number; readonly receipts?: number; readonly logs?: number; readonly says: Failure | null }
  /** What it says of its history. Default: it does not have the method. */
  readonly capabilities?: unknown
  /**
   * Each block has one transaction, all of the same sender: the nonce of each is the number of its
   * block.
   */
  readonly hasTransactions?: boolean
  /** It answers for the newest state, whatever block is asked for. */
  readonly newestState?: boolean
  /** Methods that it does not support. */
  readonly without?: readonly string[]
  /** Tags that it does not know. */
  readonly withoutTags?: readonly string[]
  readonly version?: string
}

export interface LimitedNode {
  readonly url: string
  /** Number of calls in each POST. */
  readonly posts: number[]
  /** Methods of all calls. */
  readonly methods: string[]
  /** Path of each POST. */
  readonly paths: string[]
  /** Resolves when the `n`th POST (from 1) has arrived. */
  received(n: number): Promise<void>
}

interface Call {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** A node on the loopback interface with these limits. */
export async function startLimited(limits: NodeLimits = {}): Promise<LimitedNode> {
  const posts: number[] = []
  const methods: string[] = []
  const paths: string[] = []
  const awaited: { n: number; resolve: () => void }[] = []
  let taken: number[] = []

  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const body = JSON.parse(text) as Call | Call[]
    const calls = Array.isArray(body) ? body : [body]
    posts.push(calls.length)
    paths.push(request.url ?? '')
    methods.push(...calls.map(({ method }) => method))
    for (const { n, resolve } of awaited) if (n === posts.length) resolve()
    const send = (status: number, reply: unknown) =>
      response
        .writeHead(status, { 'content-type': typeof reply === 'string' ? 'text/plain' : 'application/json' })
        .end(typeof reply === 'string' ? reply : JSON.stringify(reply))

    const { rate, batch } = limits
    if (rate !== undefined) {
      const now = performance.now()
      taken = taken.filter((at) => at > now - 1000)
      if (taken.length + calls.length > rate.perSecond) {
        const error = typeof rate.says === 'string' ? rate.says : { jsonrpc: '2.0', id: calls[0]?.id, error: rate.says }
        return send(rate.status ?? 200, Array.isArray(body) && typeof error !== 'string' ? [error] : error)
      }
      taken.push(...calls.map(() => now))
    }
    if (batch !== undefined && Array.isArray(body) && calls.length > batch.most)
      return send(batch.status ?? 200, { jsonrpc: '2.0', id: null, error: batch.says(calls.length) })

    let bytes = 0
    const replies = calls.map((call) => {
      const outcome = answer(call, limits)
      const size = JSON.stringify(outcome).length
      const isTooMuch = Array.isArray(body) && limits.replyBytes !== undefined && bytes + size > limits.replyBytes
      if (!isTooMuch) bytes += size
      return { jsonrpc: '2.0', id: call.id, ...(isTooMuch ? { error: { code: -32003, message: 'response too large' } } : outcome) }
    })
    send(200, Array.isArray(body) ? replies : replies[0])
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    posts,
    methods,
    paths,
    received: (n) =>
      new Promise((resolve) => {
        if (posts.length >= n) resolve()
        else awaited.push({ n, resolve })
      }),
  }
}

function answer({ method, params }: Call, limits: NodeLimits): { result: unknown } | { error: Failure } {
  const { head = 100_000, stateDepth, range, blockBytes = 500, history } = limits
  if (limits.without?.includes(method)) return { error: { code: -32601, message: `the method ${method} does not exist/is not available` } }
  const numberOf = (block: unknown) => (block === 'earliest' ? 0 : typeof block === 'string' && block.startsWith('0x') ? Number(block) : head)
  if (method === 'eth_chainId') return { result: '0x1' }
  if (method === 'web3_clientVersion') return { result: limits.version ?? 'Limited/v1.0.0' }
  if (method === 'eth_blockNumber') return { result: hex(head) }
  if (method === 'eth_getBlockByNumber') {
    if (limits.withoutTags?.includes(params[0] as string)) return { error: { code: -32602, message: `invalid block tag ${params[0]}` } }
    const number = numberOf(params[0])
    if (isOld(history?.blocks, number)) return gone(history)
    const hash = `0x${number.toString(16).padStart(64, '0')}`
    const transaction = params[1] === true ? { hash, from: SENDER, nonce: hex(number), type: '0x2' } : hash
    const block = { number: hex(number), hash, transactions: limits.hasTransactions ? [transaction] : [], extraData: '0x' }
    return { result: number > head ? null : { ...block, extraData: `0x${'ab'.repeat(params[1] === true ? blockBytes / 2 : 0)}` } }
  }
  if (method === 'eth_capabilities') {
    if (limits.capabilities !== undefined) return { result: limits.capabilities }
    return { error: { code: -32601, message: `the method ${method} does not exist/is not available` } }
  }
  if (method === 'eth_getBlockReceipts' && isOld(history?.receipts, numberOf(params[0]))) return gone(history)
  if ((method === 'eth_getBalance' || method === 'eth_getTransactionCount') && stateDepth !== undefined) {
    const number = numberOf(params[1])
    if (number !== 0 && number < head - stateDepth) return { error: { code: -32000, message: `missing trie node ${'5a'.repeat(32)} (path )` } }
  }
  if (method === 'eth_getTransactionCount') return { result: hex((limits.newestState ? head : numberOf(params[1])) + 1) }
  if (method === 'eth_getLogs') {
    const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string }
    if (isOld(history?.logs, Number(fromBlock))) return gone(history)
    const blocks = Number(toBlock) - Number(fromBlock) + 1
    if (range !== undefined && blocks > range.most) return { error: range.says(blocks, Number(fromBlock)) }
    return { result: [] }
  }
  if (method === 'eth_sendRawTransaction') return { error: { code: -32000, message: 'typed transaction too short' } }
  return { result: '0x0' }
}

const SENDER = `0x${'5e'.repeat(20)}`

function isOld(oldest: number | undefined, block: number): boolean {
  return oldest !== undefined && block !== 0 && block < oldest
}

function gone(history: NodeLimits['history']): { result: null } | { error: Failure } {
  return history?.says == null ? { result: null } : { error: history.says }
}

function hex(number: number): string {
  return `0x${number.toString(16)}`
}
