import { type Client, type Request, TALLY, UNREAD } from '../client/client.ts'
import { HexlineError, TimeoutError } from '../errors.ts'
import { parseAt } from '../json/scan.ts'
import { asBuffer, type Reply, replyOf } from '../rpc/call.ts'
import { Tally } from '../rpc/call-events.ts'
import { readUnread } from '../rpc/post/unread.ts'
import { type Linked, linkedFields } from './link.ts'

/** A block in the node's own bytes, and its receipts if they were asked for. */
export interface Fetched {
  readonly number: bigint
  readonly block: Reply
  readonly receipts: Reply | undefined
  /** Size of both. */
  readonly bytes: number
  /** Where each came from; receipts that were asked for one by one have no one origin. */
  readonly origins: { readonly block: Tally; readonly receipts?: Tally }
}

export interface FetcherOptions {
  readonly full: boolean
  readonly receipts: boolean
}

/** How a block is asked for, beside what is asked. */
interface Way {
  readonly signal: AbortSignal
  /** Before what else is asked for: the reader waits for it. */
  readonly first: boolean
}

/** Asks for blocks, each as a call of its own: the queue makes the batches. */
export class Fetcher {
  readonly #bulk: Client
  readonly #first: Client
  readonly #options: FetcherOptions
  /** Some nodes do not have `eth_getBlockReceipts`; then receipts are asked for one by one. */
  #hasBlockReceipts = true
  /** Calls that were answered so far. */
  #answered = 0

  readonly #onReply = (reply: Reply) => {
    this.#answered++
    return reply
  }

  constructor(client: Client, options: FetcherOptions) {
    this.#bulk = client.with({ priority: 'bulk' })
    this.#first = client.with({ priority: 'interactive', attempts: Number.POSITIVE_INFINITY })
    this.#options = options
  }

  fetch(number: bigint, signal: AbortSignal, first = false): Promise<Fetched> {
    const at = `0x${number.toString(16)}`
    const way: Way = { signal, first }
    const origin = new Tally()
    const block = this.#ask('eth_getBlockByNumber', [at, this.#options.full], way, origin)
    if (this.#options.receipts) return this.#withReceipts(number, at, block, way, origin)
    return block.then((reply) => ({ number, block: reply, receipts: undefined, bytes: reply.bytes, origins: { block: origin } }))
  }

  async #withReceipts(number: bigint, at: string, asked: Promise<Reply>, way: Way, origin: Tally): Promise<Fetched> {
    const receiptsOrigin = new Tally()
    const [block, theirs] = await Promise.all([asked, this.#blockReceipts(at, way, receiptsOrigin)])
    if (theirs !== undefined) {
      return { number, block, receipts: theirs, bytes: block.bytes + theirs.bytes, origins: { block: origin, receipts: receiptsOrigin } }
    }
    const bytes = bytesOf(block)
    const singly = await this.#singleReceipts(bytes, way)
    return { number, block: replyOf(bytes, block.bytes), receipts: singly, bytes: block.bytes + singly.bytes, origins: { block: origin } }
  }

  /** Undefined when the node does not have the method. */
  async #blockReceipts(at: string, way: Way, origin: Tally): Promise<Reply | undefined> {
    if (!this.#hasBlockReceipts) return undefined
    try {
      return await this.#ask('eth_getBlockReceipts', [at], way, origin)
    } catch (error) {
      if (!(error instanceof HexlineError) || error.kind !== 'unsupported') throw error
      this.#hasBlockReceipts = false
      return undefined
    }
  }

  async #singleReceipts(block: Buffer, way: Way): Promise<Reply> {
    const transactions = transactionsOf(block)
    const replies = await Promise.all(
      transactions.map((each) => this.#ask('eth_getTransactionReceipt', [typeof each === 'string' ? each : each.hash], way, new Tally(), false)),
    )
    const receipts = arrayOf(replies.map(bytesOf))
    return replyOf(receipts, receipts.length)
  }

  /**
   * A call that its deadline ends in line, or in its first POST, says only that the node is slow: as long as others are
   * answered, it is asked again.
   */
  #ask(method: string, params: readonly unknown[], way: Way, origin: Tally, isUnread = true): Promise<Reply> {
    const request: Request = { method, params, required: true, as: 'bytes', [UNREAD]: isUnread, [TALLY]: origin, signal: way.signal }
    const answered = this.#answered
    return (way.first ? this.#first : this.#bulk).send(request).then(this.#onReply, (error) => {
      if (error instanceof TimeoutError && error.attempts <= 1 && this.#answered > answered) return this.#ask(method, params, way, origin, isUnread)
      throw error
    })
  }
}

/** What a reply holds, for `readUnread`, which empties the reply. */
export function bytesOf(reply: Reply): Buffer {
  return asBuffer(reply.take() as Uint8Array)
}

/** None of what is no block: whoever reads it says so. */
function transactionsOf(block: Buffer): Linked['transactions'] {
  try {
    return readUnread(block, (bytes) => linkedFields(parseAt(bytes, 0, bytes.length))).transactions
  } catch {
    return []
  }
}

/** JSON values as one JSON array. */
function arrayOf(items: readonly Buffer[]): Buffer {
  const parts: Buffer[] = []
  for (const item of items) parts.push(parts.length === 0 ? OPEN : COMMA, item)
  return Buffer.concat([...(parts.length === 0 ? [OPEN] : parts), CLOSE])
}

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')
