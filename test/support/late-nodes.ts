import { type ForkBlock, ForkingChain, notifications } from './forking-chain.ts'
import { hex } from './node.ts'
import { type Entry, failed } from './server.ts'

type View = readonly ForkBlock[]

interface LateNode {
  /** What it has of the chain, as an index of `views`. */
  at: number
  /** Those of its filters, by id, with what they will tell next. */
  readonly filters: Map<string, object[]>
  /** Told of each new block. */
  readonly subscribers: Set<(head: object) => void>
}

/**
 * Nodes of one chain, as behind one URL. Each of them hears of a change a little late, has filters
 * of its own, and tells subscribers of new blocks. Transactions wait for a block, and for another
 * one when theirs is replaced. Not all nodes tell filters of removed logs.
 */
export class LateNodes {
  readonly chain: ForkingChain
  /** The chain after each change. */
  readonly views: View[]
  readonly #nodes: readonly LateNode[]
  readonly #mostLateMs: number
  readonly #tellsRemoved: boolean
  readonly #sleep: (ms: number) => Promise<void>
  readonly #random: () => number
  /** Each transaction by its block's hash. */
  readonly #mined = new Map<string, string>()
  readonly #waiting: string[] = []
  #made = 0

  constructor(options: { head: number; count: number; mostLateMs: number; tellsRemoved: boolean; random: () => number; sleep: (ms: number) => Promise<void> }) {
    this.chain = new ForkingChain(options.head)
    this.views = [[...this.chain.blocks]]
    this.#nodes = Array.from({ length: options.count }, () => ({ at: 0, filters: new Map(), subscribers: new Set() }))
    this.#mostLateMs = options.mostLateMs
    this.#tellsRemoved = options.tellsRemoved
    this.#random = options.random
    this.#sleep = options.sleep
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** Which node a request goes to: the one that has its filter, or any. */
  nodeFor(entries: readonly Entry[]): number {
    const owner = this.#nodes.findIndex(({ filters }) => entries.some(({ params }) => filters.has(String(params[0]))))
    return owner < 0 ? Math.floor(this.#random() * this.#nodes.length) : owner
  }

  mine(count: number): void {
    for (let i = 0; i < count; i++) this.#change(() => this.chain.mine())
  }

  /** Replaces the last `depth` blocks by `count` others. */
  reorganise(depth: number, count: number): void {
    this.#change(() => this.chain.reorganise(depth, count))
  }

  /** A new transaction; gives its hash. */
  submit(): string {
    const hash = `0x${(0x7000_0000 + ++this.#made).toString(16).padStart(64, '0')}`
    this.#waiting.push(hash)
    return hash
  }

  /** Whether the transaction was in this block while the block had this many confirmations. */
  wasConfirmed(transaction: string, blockHash: string, confirmations: number): boolean {
    const confirmationsIn = (view: View) => view.length - view.findIndex(({ hash }) => hash === blockHash)
    const had = this.views.filter((view) => view.some(({ hash }) => hash === blockHash)).map(confirmationsIn)
    return this.#mined.get(blockHash) === transaction && Math.max(...had) >= confirmations
  }

  dropFilters(): void {
    for (const { filters } of this.#nodes) filters.clear()
  }

  /** What a node answers; `told` hears of new blocks once it has subscribed. */
  reply(which: number, entry: Entry, told?: (subscription: string, head: object) => void): object {
    const node = this.#nodes[which] as LateNode
    return this.chain.reply(entry, { chain: () => this.#viewOf(node), answer: () => this.#answer(node, entry, told) })
  }

  #viewOf({ at }: LateNode): View {
    return this.views[at] as View
  }

  #answer(node: LateNode, entry: Entry, told?: (subscription: string, head: object) => void): object | undefined {
    const { id, method, params } = entry
    const result = (value: unknown) => ({ jsonrpc: '2.0', id, result: value })
    const name = String(params[0])
    if (method === 'eth_getTransactionByHash') return result(null)
    if (method === 'eth_getTransactionReceipt') return result(this.#receiptOf(name, this.#viewOf(node)))
    if (method === 'eth_newFilter') {
      const made = hex(++this.#made)
      node.filters.set(made, [])
      return result(made)
    }
    if (method === 'eth_getFilterChanges') {
      const changes = node.filters.get(name)?.splice(0)
      return changes === undefined ? failed(entry, -32000, 'filter not found') : result(changes)
    }
    if (method === 'eth_uninstallFilter') return result(node.filters.delete(name))
    if (method !== 'eth_subscribe' || told === undefined) return undefined
    const made = hex(++this.#made)
    // The reply goes first.
    void this.#sleep(50).then(() => node.subscribers.add((head) => told(made, head)))
    return result(made)
  }

  #receiptOf(transaction: string, view: View): object | null {
    const block = view.find(({ hash }) => this.#mined.get(hash) === transaction)
    if (block === undefined) return null
    const address = `0x${'11'.repeat(20)}`
    return {
      ...{ transactionHash: transaction, transactionIndex: '0x0', blockNumber: hex(block.number), blockHash: block.hash, from: address, to: address },
      ...{ contractAddress: null, gasUsed: '0x1', cumulativeGasUsed: '0x1', effectiveGasPrice: '0x1', status: '0x1', type: '0x0', logs: [], logsBloom: '0x' },
    }
  }

  #change(change: () => void): void {
    const before = this.views.at(-1) as View
    change()
    const { blocks } = this.chain
    const replaced = before.filter(({ number, hash }) => blocks[number]?.hash !== hash)
    this.#waiting.unshift(...replaced.flatMap(({ hash }) => this.#mined.get(hash) ?? []))
    for (const { hash } of blocks.filter((block) => before[block.number] !== block)) {
      const next = this.#random() < 0.5 ? this.#waiting.shift() : undefined
      if (next !== undefined) this.#mined.set(hash, next)
    }
    const view = this.views.push([...blocks]) - 1
    for (const node of this.#nodes) void this.#sleep(Math.floor(this.#random() * (this.#mostLateMs + 1))).then(() => this.#move(node, view))
  }

  #move(node: LateNode, view: number): void {
    if (view <= node.at) return
    const before = this.#viewOf(node)
    node.at = view
    const after = this.#viewOf(node)
    const news = notifications('logs', before, after).filter(({ removed }) => this.#tellsRemoved || removed !== true)
    for (const changes of node.filters.values()) changes.push(...news)
    for (const head of notifications('heads', before, after)) for (const tell of node.subscribers) tell(head)
  }
}
