import type { WireLog } from './log-chain.ts'
import { failed } from './server.ts'
import { type Message, type Peer, type Reaction, serveWebSocket, type WebSocketTestServer } from './web-socket-server.ts'

/** The topic of ERC-20's `Transfer`. */
export const TRANSFER: `0x${string}` = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
export const TOKEN: `0x${string}` = '0x00000000000000000000000000000000000000aa'

const hex = (n: number) => `0x${n.toString(16)}`
const word = (n: number) => `0x${n.toString(16).padStart(64, '0')}`

export interface LiveBlock {
  readonly number: number
  readonly hash: string
  readonly parentHash: string
  /** As the node sends it. */
  readonly raw: object
  readonly logs: readonly LiveLog[]
}

/** A log as the node sends it. Its data is a number that no other log has. */
export type LiveLog = WireLog

/**
 * A node over WebSockets whose chain the test makes. It tells the sockets that are open of new
 * blocks and logs, as nodes do: those that are not open miss them.
 */
export interface LiveChain {
  readonly server: WebSocketTestServer
  /** The blocks as they are now, from block 0 on. */
  readonly blocks: readonly LiveBlock[]
  readonly logs: readonly LiveLog[]
  /** Every method that was called, in order. */
  readonly calls: readonly string[]
  /** Adds blocks. */
  mine(count?: number): void
  /** Replaces the last `depth` blocks by `count` others; says which logs are removed. */
  reorganise(depth: number, count: number): void
  /** Drops all sockets that are open. */
  cut(): void
  /** Longest range of `eth_getLogs`, in blocks. */
  readonly limits: { logRange: number }
  /** Answers to methods that take precedence. */
  readonly answers: Map<string, (params: readonly unknown[]) => unknown>
  /** Resolves when this many subscriptions have been made in all. */
  subscribed(times: number): Promise<void>
}

interface Subscriber {
  readonly peer: Peer
  readonly id: string
  readonly kind: unknown
}

/** Starts one with five blocks, each with `logsPerBlock` logs. */
export async function liveChain({ logsPerBlock = 1 }: { logsPerBlock?: number } = {}): Promise<LiveChain> {
  const blocks: LiveBlock[] = []
  const calls: string[] = []
  const answers: LiveChain['answers'] = new Map()
  const limits = { logRange: Number.POSITIVE_INFINITY }
  let subscribers: Subscriber[] = []
  let made = 0
  let logsMade = 0
  let subscriptions = 0
  let awaited: { readonly times: number; readonly resolve: () => void }[] = []

  const add = () => {
    const number = blocks.length
    const hash = word(0x1000 + made++)
    const parentHash = blocks.at(-1)?.hash ?? word(0)
    const logs = Array.from({ length: logsPerBlock }, (_, i) => ({
      address: TOKEN,
      topics: [TRANSFER, word(0), word(1)],
      data: word(logsMade++),
      blockNumber: hex(number),
      blockHash: hash,
      transactionHash: word(0x5000_0000 + made),
      transactionIndex: '0x0',
      logIndex: hex(i),
      removed: false,
    }))
    const zero = word(0)
    const raw = {
      number: hex(number),
      hash,
      parentHash,
      timestamp: hex(1_700_000_000 + number),
      nonce: '0x0000000000000000',
      difficulty: '0x0',
      gasLimit: '0x1c9c380',
      gasUsed: '0x0',
      miner: `0x${'0'.repeat(40)}`,
      extraData: '0x',
      baseFeePerGas: '0x1',
      logsBloom: `0x${'f'.repeat(512)}`,
      sha3Uncles: zero,
      stateRoot: zero,
      transactionsRoot: zero,
      receiptsRoot: zero,
      mixHash: zero,
      size: '0x1',
      uncles: [],
      transactions: [],
    }
    blocks.push({ number, hash, parentHash, raw, logs })
  }
  const tell = (kind: string, result: unknown) => {
    for (const each of subscribers) if (each.kind === kind) each.peer.notify(each.id, result)
  }
  const mine = (count = 1) => {
    for (let i = 0; i < count; i++) {
      add()
      const { raw, logs } = blocks.at(-1) as LiveBlock
      tell('newHeads', raw)
      for (const log of logs) tell('logs', log)
    }
  }
  for (let i = 0; i < 6; i++) add()

  const blockAt = (tag: unknown) => (tag === 'latest' ? blocks.at(-1) : blocks[Number(tag)])
  const call = (method: string, params: readonly unknown[], peer: Peer): unknown => {
    const answer = answers.get(method)
    if (answer !== undefined) return answer(params)
    if (method === 'eth_chainId') return '0x1'
    if (method === 'eth_blockNumber') return hex(blocks.length - 1)
    if (method === 'eth_getBlockByNumber') return blockAt(params[0])?.raw ?? null
    if (method === 'eth_getLogs') {
      const { fromBlock, toBlock, blockHash } = params[0] as Record<string, string>
      if (blockHash !== undefined) return blocks.find(({ hash }) => hash === blockHash)?.logs ?? null
      return blocks.slice(Number(fromBlock), Number(toBlock) + 1).flatMap(({ logs }) => logs)
    }
    if (method === 'eth_subscribe') {
      const id = hex(++subscriptions)
      subscribers.push({ peer, id, kind: params[0] })
      // The reply goes first.
      setImmediate(() => {
        for (const each of awaited) if (each.times <= subscriptions) each.resolve()
        awaited = awaited.filter(({ times }) => times > subscriptions)
      })
      return id
    }
    return method === 'eth_unsubscribe' ? true : null
  }
  const reaction: Reaction = ({ entries, isBatch, peer }: Message) => {
    const replies = entries.map((entry) => {
      const { id, method, params = [] } = entry
      calls.push(method)
      const { fromBlock, toBlock } = (params[0] ?? {}) as { fromBlock?: string; toBlock?: string }
      const isTooLong = method === 'eth_getLogs' && Number(toBlock) - Number(fromBlock) >= limits.logRange
      if (isTooLong) return failed(entry, -32602, `query exceeds max block range ${limits.logRange}`)
      return { jsonrpc: '2.0', id, result: call(method, params, peer) }
    })
    peer.send(isBatch ? replies : replies[0])
  }
  const server = await serveWebSocket(reaction)
  return {
    server,
    blocks,
    calls,
    limits,
    answers,
    get logs() {
      return blocks.flatMap(({ logs }) => logs)
    },
    mine,
    reorganise(depth, count) {
      const replaced = blocks.splice(blocks.length - depth)
      for (const { logs } of replaced) for (const log of logs) tell('logs', { ...log, removed: true })
      mine(count)
    },
    cut() {
      for (const { peer } of subscribers) peer.socket.destroy()
      for (const { socket } of server.peers) socket.destroy()
      subscribers = []
    },
    subscribed: (times) =>
      new Promise((resolve) => {
        if (subscriptions >= times) resolve()
        else awaited.push({ times, resolve })
      }),
  }
}
