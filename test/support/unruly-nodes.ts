import type { ServerResponse } from 'node:http'
import type { WebSocket } from 'ws'
import { type ForkBlock, ForkingChain, headerOf, notifications } from './forking-chain.ts'
import { hex } from './node.ts'
import { type Entry, failed, type Received } from './server.ts'
import type { VirtualWorld } from './virtual-server.ts'

/** What becomes of a whole request, over HTTP or a WebSocket. */
const WHOLE = ['busy', 'gone', 'throttled', 'cut', 'half', 'silent', 'slow', 'reversed'] as const
/** Wrong results of single calls. */
const SINGLE = ['null', 'empty', 'error', 'other', 'no-receipts', 'no-logs', 'foreign', 'too-high'] as const
type Whole = (typeof WHOLE)[number]
type Single = (typeof SINGLE)[number]

/** What a URL does wrong for a while. */
interface Fault {
  readonly kind: Whole | Single
  /** Index of the URL. */
  readonly at: number
  /** Share of the requests. */
  readonly share: number
  readonly until: number
}

/** The chain after a change, as a node has it once it hears of it. */
interface View {
  readonly blocks: readonly ForkBlock[]
  readonly safe: number
  readonly finalized: number
}

interface Node {
  /** What it has of the chain, as an index of `views`. */
  at: number
  /** All views up to this one have been its own for a moment. */
  newest: number
  /** The hashes of all blocks that it has had. */
  readonly known: Set<string>
  /** Told of each new block. */
  readonly subscribers: Set<(head: object) => void>
}

interface Url {
  readonly nodes: readonly Node[]
  readonly sockets: Set<WebSocket>
  readonly latencyMs: number
  /** Whether its WebSockets can be opened. */
  mayOpen: boolean
}

export interface UnrulyOptions {
  readonly world: VirtualWorld
  readonly random: () => number
  readonly head: number
  /** For each URL, whether it is a WebSocket. */
  readonly urls: readonly boolean[]
  readonly mostLateMs: number
  /** Blocks this far below the head are final once all nodes have them, and are not replaced. */
  readonly finality: number
  /** No fault makes up blocks that link to each other, or heads that seem to be true. */
  readonly isHonest: boolean
}

/**
 * Nodes of one chain behind several URLs. Each node hears of changes late, may be on a branch of
 * its own for a while, and may go back. Each URL does things wrong for a while, over HTTP and over
 * WebSockets alike.
 */
export class UnrulyNodes {
  readonly chain: ForkingChain
  /** The hashes that any node has had, by number. */
  readonly hashesAt: Set<string>[] = []
  readonly byHash = new Map<string, ForkBlock>()
  readonly links: string[]
  /** The highest block that any node has called so. */
  readonly highest: Record<'latest' | 'safe' | 'finalized', number>
  requests = 0
  readonly #views: View[] = []
  readonly #urls: readonly Url[]
  readonly #options: UnrulyOptions
  readonly #foreign: ForkingChain
  readonly #kinds: readonly (Whole | Single)[]
  #faults: Fault[] = []
  #finalized = 0
  #made = 0
  isCalm = false

  static async start(options: UnrulyOptions): Promise<UnrulyNodes> {
    const nodes = new UnrulyNodes(options)
    for (const [at, isWebSocket] of options.urls.entries()) nodes.links.push(await nodes.#serve(at, isWebSocket))
    return nodes
  }

  private constructor(options: UnrulyOptions) {
    this.#options = options
    this.chain = new ForkingChain(options.head)
    this.#foreign = new ForkingChain(options.head + 100, undefined, 'another chain')
    this.#kinds = [...WHOLE, ...SINGLE].filter((kind) => !options.isHonest || (kind !== 'foreign' && kind !== 'too-high'))
    this.links = []
    this.highest = { latest: options.head, safe: Math.min(options.head, 2), finalized: 0 }
    this.#addView()
    this.#urls = options.urls.map(() => ({
      nodes: Array.from({ length: this.#oneOf(1, 1, 2, 3) }, () => ({ at: 0, newest: 0, known: new Set(this.chain.hashes), subscribers: new Set() })),
      sockets: new Set(),
      latencyMs: this.#oneOf(1, 20, 200),
      mayOpen: true,
    }))
  }

  get finalized(): number {
    return this.#finalized
  }

  mine(count: number): void {
    this.#change(() => this.chain.mine(count))
  }

  /** Replaces up to `depth` blocks that are not final. */
  reorganise(depth: number, extra: number): void {
    const most = Math.min(depth, this.chain.head - this.#finalized)
    if (most > 0) this.#change(() => this.chain.reorganise(most, most + extra))
  }

  /** One node is on a branch of its own, until it hears of the next change of the chain. */
  branch(depth: number): void {
    const most = Math.min(depth, this.chain.head - this.#finalized)
    if (most <= 0) return
    const before = [...this.chain.blocks]
    this.chain.reorganise(most, most + this.#below(2))
    const side = this.#addView()
    this.chain.blocks.splice(0, this.chain.blocks.length, ...before)
    this.#addView()
    this.#move(this.#anyNode(), side)
  }

  /**
   * A node loses its newest blocks, until it hears of the next change. It never has another block
   * than the final one.
   */
  goBack(): void {
    const node = this.#anyNode()
    const to = Math.max(0, node.at - 1 - this.#below(5))
    if (this.#sharedWith(this.#views[to] as View) >= this.#finalized) this.#move(node, to)
  }

  cutSockets(mayOpen: boolean): void {
    for (const url of this.#urls) {
      if (this.#options.random() < 0.5) continue
      url.mayOpen = mayOpen
      for (const socket of url.sockets) this.#end(socket)
    }
  }

  misbehave(mostMs: number): void {
    const kind = this.#oneOf(...(this.#kinds as [Whole | Single]))
    const until = this.#options.world.clock.now() + this.#below(mostMs)
    this.#faults.push({ kind, at: this.#below(this.#urls.length), share: this.#oneOf(0.1, 0.5, 1), until })
  }

  /** From now on, all is well, and all nodes have the same chain. */
  calmDown(): void {
    this.isCalm = true
    for (const url of this.#urls) {
      url.mayOpen = true
      for (const node of url.nodes) this.#move(node, this.#views.length - 1)
    }
  }

  #below(count: number): number {
    return Math.floor(this.#options.random() * count)
  }

  #oneOf<V>(...values: [V, ...V[]]): V {
    return values[this.#below(values.length)] as V
  }

  #anyNode(): Node {
    return this.#oneOf(...(this.#urls.flatMap(({ nodes }) => nodes) as [Node]))
  }

  #change(change: () => void): void {
    change()
    const oldest = Math.min(...this.#urls.flatMap(({ nodes }) => nodes.map((node) => node.at)))
    const shared = this.#views.slice(oldest).map((view) => this.#sharedWith(view))
    const deep = this.chain.head - this.#options.finality - this.#below(3)
    this.#finalized = Math.max(this.#finalized, Math.min(deep, ...shared))
    const view = this.#addView()
    for (const { nodes } of this.#urls)
      for (const node of nodes) {
        const lateMs = this.isCalm ? 0 : this.#below(this.#options.mostLateMs + 1)
        void this.#options.world.sleep(lateMs).then(() => view > node.at && this.#move(node, view))
      }
  }

  /** The newest block that the chain and a view share. */
  #sharedWith({ blocks }: View): number {
    let number = Math.min(this.chain.head, blocks.length - 1)
    while (blocks[number] !== this.chain.blocks[number]) number--
    return number
  }

  /** Gives its index. */
  #addView(): number {
    const blocks = [...this.chain.blocks]
    const finalized = this.#finalized
    const head = blocks.length - 1
    for (let number = head; number >= 0; number--) {
      const block = blocks[number] as ForkBlock
      if (this.byHash.has(block.hash)) break
      this.byHash.set(block.hash, block)
      const hashes = this.hashesAt[number] ?? new Set()
      this.hashesAt[number] = hashes.add(block.hash)
    }
    return this.#views.push({ blocks, finalized, safe: Math.min(head, finalized + 2) }) - 1
  }

  #move(node: Node, at: number): void {
    const before = this.#viewOf(node)
    node.at = at
    const after = this.#viewOf(node)
    for (; node.newest < at; node.newest++) for (const { hash } of (this.#views[node.newest + 1] as View).blocks.slice(-900)) node.known.add(hash)
    this.highest.latest = Math.max(this.highest.latest, after.blocks.length - 1)
    this.highest.safe = Math.max(this.highest.safe, after.safe)
    this.highest.finalized = Math.max(this.highest.finalized, after.finalized)
    for (const head of notifications('heads', before.blocks, after.blocks)) for (const tell of node.subscribers) tell(head)
  }

  #viewOf({ at }: Node): View {
    return this.#views[at] as View
  }

  async #serve(at: number, isWebSocket: boolean): Promise<string> {
    const { world } = this.#options
    if (isWebSocket)
      return world.serveWebSocket(
        () => (this.#urls[at] as Url).mayOpen,
        (webSocket) => this.#open(at, webSocket),
      )
    const { url } = await world.serve((request, response) => this.#answer(at, request, response))
    return url
  }

  /** What the URL does wrong with this request. */
  #wrongs(at: number): ReadonlySet<Whole | Single> {
    const now = this.#options.world.clock.now()
    this.#faults = this.#faults.filter(({ until }) => until > now)
    const wrongs = this.isCalm ? [] : this.#faults.filter((fault) => fault.at === at && this.#options.random() < fault.share)
    return new Set(wrongs.map(({ kind }) => kind))
  }

  async #answer(at: number, { entries, isBatch, socket, hungUp }: Received, response: ServerResponse): Promise<void> {
    const { nodes, latencyMs } = this.#urls[at] as Url
    this.requests++
    const wrongs = this.#wrongs(at)
    await this.#options.world.sleep(this.#below(latencyMs) + (wrongs.has('slow') ? this.#below(8_000) : 0))
    if (wrongs.has('silent')) return void (await hungUp)
    if (wrongs.has('busy')) return void response.writeHead(this.#oneOf(500, 502, 503)).end('busy')
    if (wrongs.has('gone')) return void response.writeHead(404, { 'content-type': 'text/html' }).end('<html>no node</html>')
    if (wrongs.has('throttled')) return void response.writeHead(429, this.#oneOf({}, { 'retry-after': '1' })).end('slow down')
    if (wrongs.has('cut')) return void socket.destroy()
    const replies = this.#replies(this.#oneOf(...(nodes as [Node])), entries, wrongs)
    const json = JSON.stringify(isBatch ? replies : replies[0])
    response.writeHead(200, { 'content-type': 'application/json' })
    if (!wrongs.has('half')) return void response.end(json)
    // It stops in the middle, or ends there.
    response.write(json.slice(0, json.length / 2))
    if (this.#options.random() < 0.5) socket.destroy()
  }

  #open(at: number, webSocket: WebSocket): void {
    const { nodes, sockets, latencyMs } = this.#urls[at] as Url
    const node = this.#oneOf(...(nodes as [Node]))
    const send = (value: unknown) => void (webSocket.readyState === webSocket.OPEN && webSocket.send(JSON.stringify(value)))
    const subscriptions = new Map<string, (head: object) => void>()
    sockets.add(webSocket)
    webSocket.on('close', () => {
      sockets.delete(webSocket)
      for (const tell of subscriptions.values()) node.subscribers.delete(tell)
    })
    const subscribed = ({ id }: Entry) => {
      const made = hex(++this.#made)
      const tell = (result: object) => send({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription: made, result } })
      const unruly = (head: object) => {
        const roll = this.isCalm ? 1 : this.#options.random()
        if (roll < 0.1) return
        if (roll < 0.2) tell(head)
        if (roll < 0.3) return void this.#options.world.sleep(this.#below(3_000)).then(() => tell(head))
        tell(roll < 0.35 ? headerOf(this.#oneOf(...(this.chain.blocks.slice(-20) as [ForkBlock]))) : head)
      }
      subscriptions.set(made, unruly)
      node.subscribers.add(unruly)
      return { jsonrpc: '2.0', id, result: made }
    }
    const unsubscribed = ({ id, params }: Entry) => {
      const tell = subscriptions.get(String(params[0]))
      if (tell !== undefined) node.subscribers.delete(tell)
      return { jsonrpc: '2.0', id, result: subscriptions.delete(String(params[0])) }
    }
    webSocket.on('message', async (data) => {
      const body: Entry | Entry[] = JSON.parse(String(data))
      const entries = [body].flat()
      this.requests++
      const wrongs = this.#wrongs(at)
      await this.#options.world.sleep(this.#below(latencyMs) + (wrongs.has('slow') ? this.#below(8_000) : 0))
      if (wrongs.has('silent')) return
      if (wrongs.has('cut') || wrongs.has('gone')) return this.#end(webSocket)
      if (wrongs.has('half') && webSocket.readyState === webSocket.OPEN) {
        // The first bytes of a frame of 4,096.
        const { _socket: below } = webSocket as unknown as { _socket: { write(bytes: Buffer): void } }
        return below.write(Buffer.concat([Buffer.from([0x81, 126, 0x10, 0x00]), Buffer.from('[{"jsonrpc":"2.0",')]))
      }
      if (wrongs.has('busy') || wrongs.has('throttled')) {
        const [code, message] = wrongs.has('busy') ? [-32603, 'internal error'] : [-32005, 'rate limit exceeded']
        const refusals = entries.map((entry) => failed(entry, code as number, message as string))
        return send(Array.isArray(body) ? refusals : refusals[0])
      }
      const replies = this.#replies(node, entries, wrongs, (entry) => {
        if (entry.method === 'eth_subscribe') return subscribed(entry)
        return entry.method === 'eth_unsubscribe' ? unsubscribed(entry) : undefined
      })
      send(Array.isArray(body) ? replies : replies[0])
    })
  }

  #end(webSocket: WebSocket): void {
    if (this.#options.random() < 0.5) webSocket.terminate()
    else webSocket.close(this.#oneOf(1000, 1001, 1008, 1011, 1013, 4000), 'later')
  }

  #replies(node: Node, entries: readonly Entry[], wrongs: ReadonlySet<Whole | Single>, own: (entry: Entry) => object | undefined = () => undefined): object[] {
    const view = this.#viewOf(node)
    const replies = entries.map((entry) => {
      const wrong = own(entry) ?? this.#wrongReply(entry, wrongs, view.blocks)
      if (wrong !== undefined) return wrong
      return this.chain.reply(entry, {
        chain: () => view.blocks,
        tag: (name) => ({ safe: view.safe, finalized: view.finalized })[name],
        answer: () => this.#unknown(entry, node),
      })
    })
    return wrongs.has('reversed') ? replies.reverse() : replies
  }

  /** The reply of a node that has never had the block of this hash. */
  #unknown(entry: Entry, { known }: Node): object | undefined {
    const [first] = entry.params
    const hash = entry.method === 'eth_getLogs' ? (first as { blockHash?: string }).blockHash : /ByHash|Receipts/.test(entry.method) ? String(first) : undefined
    if (hash === undefined || hash.length !== 66 || known.has(hash)) return undefined
    return entry.method === 'eth_getLogs' ? failed(entry, -32000, 'unknown block') : { jsonrpc: '2.0', id: entry.id, result: null }
  }

  #wrongReply(entry: Entry, wrongs: ReadonlySet<Whole | Single>, blocks: readonly ForkBlock[]): object | undefined {
    const { id, method, params } = entry
    const isBlock = method === 'eth_getBlockByNumber'
    const result = (value: unknown) => ({ jsonrpc: '2.0', id, result: value })
    if (!/Block|Logs/.test(method)) return undefined
    if (wrongs.has('error')) return failed(entry, -32000, 'header not found')
    if (wrongs.has('null') && method !== 'eth_getLogs' && method !== 'eth_blockNumber') return result(null)
    if (wrongs.has('empty')) return result({})
    if (wrongs.has('other') && isBlock && /^0x/.test(String(params[0]))) return result(headerOf(this.#oneOf(...(blocks as [ForkBlock]))))
    if (wrongs.has('no-receipts') && method === 'eth_getBlockReceipts') return result([])
    if (wrongs.has('no-logs') && method === 'eth_getLogs') return result([])
    if (wrongs.has('foreign')) return this.#foreign.reply(entry)
    if (!wrongs.has('too-high')) return undefined
    const head = hex(blocks.length + 100_000)
    if (method === 'eth_blockNumber') return result(head)
    return isBlock && params[0] === 'latest' ? result({ ...headerOf(blocks.at(-1) as ForkBlock), number: head, hash: `0x${'ee'.repeat(32)}` }) : undefined
  }
}
