import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { BloomBuilder } from '../../src/eth/bloom.ts'
import { ListRoot } from '../../src/verify/list-root.ts'
import { type RootedReceipt, writeReceipt } from '../../src/verify/receipt.ts'
import { RlpWriter } from '../../src/verify/rlp.ts'

/** A log as the server sends it. */
export interface WireLog {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  readonly blockNumber: string
  readonly blockHash: string
  readonly transactionHash: string
  readonly transactionIndex: string
  readonly logIndex: string
  readonly removed: boolean
}

interface Filter {
  readonly address?: string | readonly string[]
  readonly topics?: readonly (string | readonly string[] | null)[]
  readonly fromBlock?: string
  readonly toBlock?: string
  readonly blockHash?: string
}

type RpcAnswer = { readonly result: unknown } | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }

export interface LogChainOptions {
  readonly head: number
  /** Number of logs in a block. Default 5. */
  readonly logs?: (block: number) => number
  /** Logs that `eth_getLogs` leaves out. */
  readonly drops?: (log: WireLog) => boolean
  /** What `eth_getLogs` gives in place of a log. */
  readonly gives?: (log: WireLog) => readonly unknown[]
  /** What a receipt has in place of its log. */
  readonly receiptLogs?: (log: WireLog) => readonly unknown[]
  /** What the node gives in place of a receipt. */
  readonly receipt?: (receipt: Record<string, unknown>) => Record<string, unknown>
  /** Most results of `eth_getLogs`; it leaves out all others. */
  readonly cap?: number
  /** Most blocks of a range, both ends included, and how the refusal of a longer one reads. */
  readonly range?: { readonly most: number; readonly says: (from: number, to: number) => { code?: number; message: string } }
  /** What the server does in place of the right thing; undefined for the right one. */
  readonly answer?: (method: string, params: readonly unknown[]) => RpcAnswer | undefined
  /** The bloom of a block, if it is not the right one. */
  readonly bloom?: (block: number, right: string) => string
  /** The receipts root of a block, if it is not the right one; undefined for none. */
  readonly root?: (block: number, right: string) => string | undefined
  readonly chainId?: number
  /** Which of the forks of the chain the server is on; blocks from `forkedAt` on differ. */
  readonly fork?: () => { readonly name: number; readonly at: number }
}

export interface LogChain {
  readonly url: string
  /** Calls of each method. */
  readonly calls: Record<string, number>
  /** Ranges that `eth_getLogs` was asked for. */
  readonly ranges: [from: number, to: number][]
  /** Numbers of calls in each POST. */
  readonly posts: readonly number[]
  /** The right logs. */
  logs(from: number, to: number, filter?: Filter): WireLog[]
}

export const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const APPROVAL = '0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925'

/** The contracts whose logs the chain has. */
export const tokens = Array.from({ length: 8 }, (_, i) => `0x${(0xa0 + i).toString(16).repeat(20)}`)

/**
 * A node with generated logs, whose blooms and receipts are right, while its `eth_getLogs` has the
 * faults that the options name.
 */
export async function startLogChain(options: LogChainOptions): Promise<LogChain> {
  const chain = createLogChain(options)
  const posts: number[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString())
      posts.push(Array.isArray(body) ? body.length : 1)
      const reply = (call: { id: number; method: string; params: readonly unknown[] }) => ({
        jsonrpc: '2.0',
        id: call.id,
        ...chain.answer(call.method, call.params),
      })
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(Array.isArray(body) ? body.map(reply) : reply(body)))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls: chain.calls, ranges: chain.ranges, posts, logs: chain.logs }
}

function createLogChain(options: LogChainOptions) {
  const {
    head,
    logs: countOf = () => 5,
    drops = () => false,
    gives = (log) => [log],
    receiptLogs = (log) => [log],
    receipt: given = (right) => right,
    cap = Number.POSITIVE_INFINITY,
    range,
    chainId = 1,
  } = options
  const calls: Record<string, number> = {}
  const ranges: [number, number][] = []
  const blooms = new BloomBuilder()
  const writer = new RlpWriter()
  const listRoot = new ListRoot(writer)
  /** The right roots, of blocks whose headers were asked for. */
  const roots = new Map<number, string>()

  function rootOf(block: number): string {
    let root = roots.get(block)
    if (root === undefined) {
      const logs = logsOf(block)
      root = listRoot.of(logs.length, (i) => writeReceipt(writer, receiptOf(logs[i] as WireLog, i, [logs[i]]) as unknown as RootedReceipt, 0))
      roots.set(block, root)
    }
    return root
  }

  function hashOf(block: number): string {
    const fork = options.fork?.()
    const name = fork !== undefined && block >= fork.at ? fork.name : 0
    return `0x${'b'.repeat(8)}${name.toString(16).padStart(8, '0')}${block.toString(16).padStart(48, '0')}`
  }

  function logsOf(block: number): WireLog[] {
    const length = countOf(block)
    if (length === 0) return []
    const blockHash = hashOf(block)
    return Array.from({ length }, (_, i) => {
      const mixed = (block * 2_654_435_761 + i * 40_503) >>> 0
      return {
        address: tokens[mixed % tokens.length] as string,
        topics: [mixed % 3 === 0 ? APPROVAL : TRANSFER, wordOf(mixed % 1000), wordOf((mixed >>> 10) % 1000)],
        data: `0x${mixed.toString(16).padStart(64, '0')}`,
        blockNumber: hexOf(block),
        blockHash,
        transactionHash: transactionHash(block, i),
        transactionIndex: hexOf(i),
        logIndex: hexOf(i),
        removed: false,
      }
    })
  }

  function select(from: number, to: number, filter: Filter = {}): WireLog[] {
    const found: WireLog[] = []
    for (let block = from; block <= to; block++) for (const log of logsOf(block)) if (matches(log, filter)) found.push(log)
    return found
  }

  function headerOf(block: number): Record<string, unknown> {
    const logs = logsOf(block)
    const right = blooms.of(logs)
    return {
      number: hexOf(block),
      hash: hashOf(block),
      parentHash: block === 0 ? `0x${'0'.repeat(64)}` : hashOf(block - 1),
      logsBloom: options.bloom?.(block, right) ?? right,
      receiptsRoot: options.root === undefined ? rootOf(block) : options.root(block, rootOf(block)),
      gasUsed: '0x5208',
      timestamp: hexOf(1_700_000_000 + block),
      transactions: logs.map(({ transactionHash }) => transactionHash),
    }
  }

  function receiptsOf(block: number): Record<string, unknown>[] {
    return logsOf(block).map((log, i) => given(receiptOf(log, i, receiptLogs(log))))
  }

  function receiptOf(log: WireLog, i: number, logs: readonly unknown[]): Record<string, unknown> {
    return {
      transactionHash: log.transactionHash,
      transactionIndex: log.transactionIndex,
      blockHash: log.blockHash,
      blockNumber: log.blockNumber,
      type: '0x0',
      status: '0x1',
      gasUsed: '0x5208',
      cumulativeGasUsed: hexOf(21_000 * (i + 1)),
      logsBloom: blooms.of([log]),
      logs,
    }
  }

  function getLogs(filter: Filter): RpcAnswer {
    const one = filter.blockHash === undefined ? undefined : numberIn(filter.blockHash)
    const from = one ?? numberOf(filter.fromBlock)
    const to = one ?? Math.min(head, numberOf(filter.toBlock ?? 'latest'))
    ranges.push([from, to])
    if (range !== undefined && to - from + 1 > range.most) return { error: { code: -32602, ...range.says(from, to) } }
    return {
      result: select(from, to, filter)
        .filter((log) => !drops(log))
        .flatMap(gives)
        .slice(0, cap),
    }
  }

  function numberOf(tag: unknown): number {
    if (tag === 'latest' || tag === 'safe' || tag === 'finalized') return head
    return Number(tag)
  }

  function right(method: string, params: readonly unknown[]): RpcAnswer {
    const number = numberOf(params[0])
    const hash = String(params[0])
    if (method === 'eth_chainId') return { result: hexOf(chainId) }
    if (method === 'eth_blockNumber') return { result: hexOf(head) }
    if (method === 'eth_getBlockByHash') return { result: headerOf(numberIn(params[0] as string)) }
    if (method === 'eth_getBlockByNumber') return { result: number > head ? null : headerOf(number) }
    if (method === 'eth_getBlockReceipts') return { result: receiptsOf(String(params[0]).length < 66 ? number : numberIn(params[0] as string)) }
    if (method === 'eth_getLogs') return getLogs(params[0] as Filter)
    if (method === 'eth_getTransactionReceipt') return { result: receiptsOf(Number(`0x${hash.slice(10, 38)}`))[Number(`0x${hash.slice(38)}`)] ?? null }
    return { error: { code: -32601, message: `the method ${method} does not exist` } }
  }

  function answer(method: string, params: readonly unknown[]): RpcAnswer {
    calls[method] = (calls[method] ?? 0) + 1
    return options.answer?.(method, params) ?? right(method, params)
  }
  return { calls, ranges, answer, logs: select }
}

function matches(log: WireLog, { address, topics = [] }: Filter): boolean {
  if (address !== undefined && ![address].flat().includes(log.address)) return false
  return topics.every((topic, i) => topic === null || [topic].flat().includes(log.topics[i] as string))
}

function wordOf(value: number): string {
  return `0x${(value + 1).toString(16).padStart(64, '0')}`
}

/** The number of the block with this hash. */
function numberIn(hash: string): number {
  return Number(`0x${hash.slice(18)}`)
}

function transactionHash(block: number, index: number): string {
  return `0x${'7'.repeat(8)}${block.toString(16).padStart(28, '0')}${index.toString(16).padStart(28, '0')}`
}

function hexOf(number: number): string {
  return `0x${number.toString(16)}`
}
