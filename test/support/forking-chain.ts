import { createHash } from 'node:crypto'
import { BloomBuilder } from '../../src/eth/bloom.ts'
import { hex } from './node.ts'
import { type Answer, type Entry, each, failed } from './server.ts'

/** The contract whose logs the chain has. */
export const CONTRACT: `0x${string}` = `0x${'c0'.repeat(20)}`
export const TOPIC: `0x${string}` = `0x${'70'.repeat(32)}`

/** A block, of which one chain may have another one of the same number. */
export interface ForkBlock {
  readonly number: number
  readonly hash: `0x${string}`
  readonly parentHash: `0x${string}`
  /** Number of logs. */
  readonly logs: number
}

/** How a node of the chain differs from a right one. */
export interface NodeFaults {
  /** Its own chain in place of the one that all share. */
  readonly chain?: () => readonly ForkBlock[]
  /** The block of a tag. Default: 2 below the head for `safe`, 4 for `finalized`. */
  readonly tag?: (name: string) => number | undefined
  /** The reply object to send in place of the right one; undefined for the right one. */
  readonly answer?: (entry: Entry) => object | undefined
  /** Whether it knows blocks that have been replaced, by their hashes. Default true. */
  readonly knowsReplaced?: boolean
}

const blooms = new BloomBuilder()
const EMPTY_BLOOM = `0x${'0'.repeat(512)}`
const BLOOM = blooms.of([{ address: CONTRACT, topics: [TOPIC] }])

/** A chain that grows and is reorganised on demand, and nodes of it. */
export class ForkingChain {
  /** The blocks of the chain, by number. */
  readonly blocks: ForkBlock[] = []
  readonly #known = new Map<string, ForkBlock>()
  readonly #logs: (number: number) => number
  readonly #name: string
  #made = 0

  /** `logs` is the number of logs of a block; `name` tells chains apart. */
  constructor(head: number, logs: (number: number) => number = (number) => number % 3, name = 'chain') {
    this.#logs = logs
    this.#name = name
    this.mine(head + 1)
  }

  get head(): number {
    return this.blocks.length - 1
  }

  get hashes(): string[] {
    return this.blocks.map(({ hash }) => hash)
  }

  mine(count = 1): void {
    for (let i = 0; i < count; i++) {
      const number = this.blocks.length
      const digest = createHash('sha256')
        .update(`${this.#name} ${number} ${this.#made++}`)
        .digest('hex')
      const block: ForkBlock = {
        number,
        hash: `0x${digest}`,
        parentHash: this.blocks.at(-1)?.hash ?? `0x${'0'.repeat(64)}`,
        // A block that replaces another one has other logs.
        logs: (this.#logs(number) + this.#made) % 4,
      }
      this.blocks.push(block)
      this.#known.set(block.hash, block)
    }
  }

  /** Replaces the last `depth` blocks by `count` others. */
  reorganise(depth: number, count = depth + 1): void {
    this.blocks.length -= depth
    this.mine(count)
  }

  /** What a node of the chain answers. */
  node(faults: NodeFaults = {}): Answer {
    return each((entry) => this.reply(entry, faults))
  }

  reply(entry: Entry, faults: NodeFaults = {}): object {
    const own = faults.answer?.(entry)
    if (own !== undefined) return own
    const { id, method, params } = entry
    const blocks = faults.chain?.() ?? this.blocks
    const head = blocks.length - 1
    const tags: Record<string, number | undefined> = { latest: head, safe: head - 2, finalized: head - 4 }
    const result = (value: unknown) => ({ jsonrpc: '2.0', id, result: value })
    const byName = (which: string): ForkBlock | undefined => {
      if (which.length === 66) {
        const block = this.#known.get(which)
        return block !== undefined && (faults.knowsReplaced !== false || blocks[block.number] === block) ? block : undefined
      }
      const number = which in tags ? (faults.tag?.(which) ?? tags[which]) : Number(which)
      return number === undefined ? undefined : blocks[number]
    }
    if (method === 'eth_chainId') return result('0x1')
    if (method === 'eth_blockNumber') return result(hex(head))
    if (method === 'eth_getBlockByNumber' || method === 'eth_getBlockByHash') {
      const block = byName(params[0] as string)
      return result(block === undefined ? null : headerOf(block))
    }
    if (method === 'eth_getBlockReceipts') {
      const block = byName(params[0] as string)
      return result(block === undefined ? null : [receiptOf(block)])
    }
    if (method === 'eth_getLogs') {
      const { blockHash, fromBlock, toBlock } = params[0] as Record<string, string | undefined>
      if (blockHash === undefined) return result(blocks.slice(Number(fromBlock), Number(toBlock) + 1).flatMap(logsOf))
      const block = byName(blockHash)
      return block === undefined ? failed(entry, -32000, 'unknown block') : result(logsOf(block))
    }
    return failed(entry, -32601, `the method ${method} does not exist/is not available`)
  }
}

/** A block as the node sends it, with one transaction. */
export function headerOf(block: ForkBlock): Record<string, unknown> {
  const { number, hash, parentHash, logs } = block
  return {
    number: hex(number),
    hash,
    parentHash,
    timestamp: hex(1_700_000_000 + number),
    logsBloom: logs === 0 ? EMPTY_BLOOM : BLOOM,
    transactions: [transactionOf(block)],
  }
}

function transactionOf({ hash }: ForkBlock): string {
  return `0x7a${hash.slice(4)}`
}

/** Its logs as the node sends them. */
export function logsOf(block: ForkBlock): Record<string, unknown>[] {
  return Array.from({ length: block.logs }, (_, i) => ({
    address: CONTRACT,
    topics: [TOPIC],
    data: `0x0${i}`,
    blockNumber: hex(block.number),
    blockHash: block.hash,
    transactionHash: transactionOf(block),
    transactionIndex: '0x0',
    logIndex: hex(i),
    removed: false,
  }))
}

/** What a node sends to the subscribers of blocks or logs when its chain changes. */
export function notifications(kind: 'heads' | 'logs', before: readonly ForkBlock[], after: readonly ForkBlock[]): Record<string, unknown>[] {
  const from = before.findIndex((block, number) => after[number] !== block)
  const common = from < 0 ? before.length : from
  const added = after.slice(common)
  if (kind === 'heads') return added.map(headerOf)
  const gone = before.slice(common).flatMap(logsOf).reverse()
  return [...gone.map((log) => ({ ...log, removed: true })), ...added.flatMap(logsOf)]
}

function receiptOf(block: ForkBlock): Record<string, unknown> {
  return {
    transactionHash: transactionOf(block),
    transactionIndex: '0x0',
    blockHash: block.hash,
    blockNumber: hex(block.number),
    status: '0x1',
    gasUsed: '0x5208',
    logsBloom: block.logs === 0 ? EMPTY_BLOOM : BLOOM,
    logs: logsOf(block),
  }
}
