import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { BloomBuilder } from '../../src/eth/bloom.ts'
import { randomFrom } from './random.ts'

export interface GrowingChainOptions {
  readonly head: number
  /** Number of transactions in a block; about that many, by chance. */
  readonly transactions: (number: number) => number
  /** Replies are compressed for clients that take it. Default true. */
  readonly compression?: boolean
  /** The oldest block that the node has. Default 0. */
  readonly prunedBelow?: number
  /** Older blocks are null instead of refused. */
  readonly prunedAsNull?: boolean
  /** Methods that the node does not have. */
  readonly lacks?: readonly string[]
  /** Most blocks in a range of logs, both ends included. */
  readonly maxLogRange?: number
}

export interface GrowingChain {
  readonly url: string
  /** Calls of each method. */
  readonly calls: Record<string, number>
  /** Bytes of the bodies that were sent. */
  sent: number
  posts: number
  close(): Promise<void>
}

interface WireLog {
  readonly address: string
  readonly topics: readonly string[]
  readonly [field: string]: unknown
}

type Answer = { readonly result: unknown } | { readonly error: { readonly code: number; readonly message: string } }

const METHODS = ['eth_chainId', 'eth_blockNumber', 'eth_getLogs', 'eth_getBlockByNumber', 'eth_getBlockReceipts', 'eth_getTransactionReceipt']

const hexOf = (number: number) => `0x${Math.floor(number).toString(16)}`
const GENESIS = `0x${'0'.repeat(64)}`

/** The contract that has a log in one of `RARE` blocks, where the chain has any. */
export const RARE_TOKEN: `0x${string}` = `0x${'ab'.repeat(20)}`
const RARE = 9
export const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/**
 * A node with a chain whose blocks all differ, as those of real chains do: hashes and signatures by
 * chance, few contracts in most transactions, calls with words that are mostly zero.
 */
export async function startGrowingChain(options: GrowingChainOptions): Promise<GrowingChain> {
  const { head, prunedBelow = 0, lacks = [], compression = true, maxLogRange = Number.POSITIVE_INFINITY } = options
  const chain = { calls: {} as Record<string, number>, sent: 0, posts: 0 }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = JSON.parse(Buffer.concat(chunks).toString())
    const reply = (call: { id: number; method: string; params: readonly unknown[] }) => ({ jsonrpc: '2.0', id: call.id, ...answer(call.method, call.params) })
    const json = Buffer.from(JSON.stringify(Array.isArray(body) ? body.map(reply) : reply(body)))
    const isCompressed = compression && /gzip/.test(String(request.headers['accept-encoding']))
    const bytes = isCompressed ? gzipSync(json) : json
    chain.posts++
    chain.sent += bytes.length
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length, ...(isCompressed && { 'content-encoding': 'gzip' }) })
    response.end(bytes)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  function answer(method: string, params: readonly unknown[]): Answer {
    chain.calls[method] = (chain.calls[method] ?? 0) + 1
    if (lacks.includes(method) || !METHODS.includes(method)) return { error: { code: -32601, message: `the method ${method} does not exist/is not available` } }
    if (method === 'eth_chainId') return { result: '0x1' }
    if (method === 'eth_blockNumber') return { result: hexOf(head) }
    if (method === 'eth_getLogs') return logsIn(params[0] as Record<string, unknown>)
    const number = ['latest', 'safe', 'finalized'].includes(params[0] as string) ? head : numberOf(params[0] as string)
    if (number < prunedBelow) return options.prunedAsNull ? { result: null } : { error: { code: 4444, message: 'pruned history unavailable' } }
    if (method === 'eth_getTransactionReceipt') return { result: madeBlock(number, options).receipts[Number(`0x${String(params[0]).slice(58)}`)] }
    const { block, receipts } = madeBlock(number, options)
    if (method === 'eth_getBlockReceipts') return { result: receipts }
    return { result: params[1] === true ? block : { ...block, transactions: block.transactions.map(({ hash }) => hash) } }
  }

  function logsIn({ fromBlock, toBlock, address, topics = [] }: { fromBlock?: unknown; toBlock?: unknown; address?: unknown; topics?: unknown }): Answer {
    const [from, to] = [Number(fromBlock), Number(toBlock)]
    if (to - from + 1 > maxLogRange) return { error: { code: -32602, message: `block range too large, max is ${maxLogRange}` } }
    if (from < prunedBelow) return { error: { code: 4444, message: 'pruned history unavailable' } }
    const found: WireLog[] = []
    for (let number = from; number <= to; number++)
      for (const { logs } of madeBlock(number, options).receipts)
        for (const log of logs) {
          const isWanted =
            (address === undefined || log.address === address) && (topics as string[]).every((topic, i) => topic === null || topic === log.topics[i])
          if (isWanted) found.push(log)
        }
    return { result: found }
  }

  return Object.assign(chain, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

/** Hashes tell the block and the place in it. */
function numberOf(text: string): number {
  return text.length < 66 ? Number(text) : Number(`0x${text.slice(2, 14)}`)
}

const cache = new Map<string, ReturnType<typeof makeBlock>>()

function madeBlock(number: number, { transactions }: GrowingChainOptions) {
  const key = `${number} ${transactions(number)}`
  const made = cache.get(key) ?? makeBlock(number, transactions(number))
  if (cache.size > 20_000) cache.clear()
  cache.set(key, made)
  return made
}

/** Digits by chance. */
function hexFrom(random: () => number, digits: number): string {
  let text = ''
  while (text.length < digits)
    text += Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  return text.slice(0, digits)
}

const blooms = new BloomBuilder()

function makeBlock(number: number, about: number) {
  const random = randomFrom(number + 1)
  const below = (most: number) => Math.floor(random() * most)
  const hex = (bytes: number) => hexFrom(random, 2 * bytes)
  const hashOf = (block: number, index = 0) => {
    const mixed = randomFrom(block * 1000 + index)
    return `0x${block.toString(16).padStart(12, '0')}${hexFrom(mixed, 44)}${index.toString(16).padStart(8, '0')}`
  }
  // One of few busy contracts, or one of many.
  const contract = (of: number) => {
    const name = random() < 0.6 ? below(40) : 40 + below(of)
    const own = randomFrom(1_000_000 + name)
    return `0x${hexFrom(own, 40)}`
  }
  const place = { blockHash: hashOf(number), blockNumber: hexOf(number) }
  const count = Math.max(0, Math.round(about * (0.7 + 0.6 * random())))
  let logIndex = 0
  let gas = 0
  const receipts: { readonly logs: readonly WireLog[]; readonly [field: string]: unknown }[] = []
  const transactions = Array.from({ length: count }, (_, i) => {
    const words = below(4)
    const input = words === 0 ? '0x' : `0x${hex(4)}${Array.from({ length: words }, () => hex(1 + below(20)).padStart(64, '0')).join('')}`
    const [from, to] = [contract(100_000), contract(5000)]
    const transaction = {
      ...place,
      from,
      gas: hexOf(21_000 + below(480_000)),
      gasPrice: hexOf(1e9 + below(2e9)),
      maxFeePerGas: hexOf(1e9 + below(2e9)),
      maxPriorityFeePerGas: hexOf(below(1e9)),
      hash: hashOf(number, i),
      input,
      nonce: hexOf(below(10_000)),
      to,
      transactionIndex: hexOf(i),
      value: words === 0 ? `0x1${hex(7)}` : '0x0',
      type: '0x2',
      accessList: [],
      chainId: '0x1',
      v: hexOf(below(2)),
      yParity: hexOf(below(2)),
      r: `0x${hex(32)}`,
      s: `0x${hex(32)}`,
    }
    const gasUsed = 21_000 + 30_000 * words + below(5000)
    gas += gasUsed
    const ofReceipt = { ...place, transactionHash: transaction.hash, transactionIndex: transaction.transactionIndex }
    const addresses = Array.from({ length: words }, () => contract(5000))
    if (i === 0 && number % RARE === 0) addresses.push(RARE_TOKEN)
    const logs = addresses.map(
      (address): WireLog => ({
        address,
        topics: [TRANSFER, `0x${from.slice(2).padStart(64, '0')}`, `0x${to.slice(2).padStart(64, '0')}`],
        data: `0x${hex(1 + below(12)).padStart(64, '0')}`,
        ...ofReceipt,
        logIndex: hexOf(logIndex++),
        removed: false,
      }),
    )
    receipts.push({
      ...ofReceipt,
      contractAddress: null,
      cumulativeGasUsed: hexOf(gas),
      effectiveGasPrice: transaction.gasPrice,
      from,
      gasUsed: hexOf(gasUsed),
      logs,
      logsBloom: blooms.of(logs),
      status: '0x1',
      to,
      type: '0x2',
    })
    return transaction
  })
  const block = {
    number: place.blockNumber,
    hash: place.blockHash,
    parentHash: number === 0 ? GENESIS : hashOf(number - 1),
    nonce: '0x0000000000000000',
    mixHash: `0x${hex(32)}`,
    sha3Uncles: '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347',
    logsBloom: blooms.of(receipts.flatMap(({ logs }) => logs)),
    stateRoot: `0x${hex(32)}`,
    miner: contract(100),
    difficulty: '0x0',
    extraData: '0x',
    size: hexOf(600 + 250 * count),
    gasLimit: '0x2255100',
    gasUsed: hexOf(gas),
    timestamp: hexOf(1_700_000_000 + 12 * number),
    transactionsRoot: `0x${hex(32)}`,
    receiptsRoot: `0x${hex(32)}`,
    baseFeePerGas: hexOf(1e9 + below(1e9)),
    uncles: [],
    transactions,
    withdrawals: Array.from({ length: 4 }, (_, i) => ({
      index: hexOf(4 * number + i),
      validatorIndex: hexOf(below(1e6)),
      address: contract(1000),
      amount: hexOf(below(2e7)),
    })),
  }
  return { block, receipts }
}
