import type { Client, Request } from '../client/client.ts'
import { type RequestMarks, TALLY, UNREAD } from '../client/internals.ts'
import { HexlineError, TimeoutError } from '../errors.ts'
import { parseResult } from '../eth/codec/reader.ts'
import { BodyPool } from '../rpc/body-pool.ts'
import { asBuffer, movedReply, type Reply, releaseReply, replyOf } from '../rpc/call.ts'
import { Tally } from '../rpc/tally.ts'
import { type Linked, linkedFields } from './link.ts'

/** A block as the node's own bytes, with its receipts if requested. */
export interface Fetched {
  readonly number: bigint
  readonly block: Reply
  readonly receipts: Reply | undefined
  /** Size of both, in bytes. */
  readonly bytes: number
  /** Where each came from. Receipts requested one by one have no single origin. */
  readonly origins: { readonly block: Tally; readonly receipts?: Tally }
}

export interface FetcherOptions {
  readonly full: boolean
  readonly receipts: boolean
}

/** How the calls for a block are made. */
interface AskOptions {
  readonly signal: AbortSignal
  /** Ahead of all other blocks, because the consumer waits for this one. */
  readonly urgent: boolean
}

/**
 * Fetches blocks, each with its own calls; the queue makes the batches. It repeats calls above the
 * retry layer, but only reads, and only those whose deadline passed while they waited in the queue
 * or in their first POST.
 */
export class Fetcher {
  readonly #bulk: Client
  readonly #urgent: Client
  readonly #full: boolean
  readonly #withReceipts: boolean
  readonly #bodies = new BodyPool()
  /**
   * False once the node has proved not to support `eth_getBlockReceipts`; receipts are then
   * requested one by one.
   */
  #hasBlockReceipts = true
  /** Number of calls answered so far. */
  #answered = 0

  readonly #onReply = (reply: Reply) => {
    this.#answered++
    return reply
  }

  constructor(client: Client, options: FetcherOptions) {
    this.#bulk = client.with({ priority: 'bulk' })
    this.#urgent = client.with({ priority: 'interactive', attempts: Number.POSITIVE_INFINITY })
    this.#full = options.full
    this.#withReceipts = options.receipts
  }

  fetch(number: bigint, signal: AbortSignal, urgent = false): Promise<Fetched> {
    const tag = `0x${number.toString(16)}`
    const options: AskOptions = { signal, urgent }
    const origin = new Tally()
    const asked = this.#ask('eth_getBlockByNumber', [tag, this.#full], options, origin)
    if (this.#withReceipts) return this.#addReceipts(number, tag, asked, options, origin)
    return asked.then((block) => ({ number, block, receipts: undefined, bytes: block.bytes, origins: { block: origin } }))
  }

  async #addReceipts(number: bigint, tag: string, asked: Promise<Reply>, options: AskOptions, origin: Tally): Promise<Fetched> {
    const receiptsOrigin = new Tally()
    const [block, receipts] = await Promise.all([asked, this.#blockReceipts(tag, options, receiptsOrigin)])
    if (receipts !== undefined) {
      return { number, block, receipts, bytes: block.bytes + receipts.bytes, origins: { block: origin, receipts: receiptsOrigin } }
    }
    const bytes = bytesOf(block)
    const single = await this.#singleReceipts(bytes, options)
    return { number, block: movedReply(block, bytes), receipts: single, bytes: block.bytes + single.bytes, origins: { block: origin } }
  }

  /** Undefined if the node does not support the method. */
  async #blockReceipts(tag: string, options: AskOptions, origin: Tally): Promise<Reply | undefined> {
    if (!this.#hasBlockReceipts) return undefined
    try {
      return await this.#ask('eth_getBlockReceipts', [tag], options, origin)
    } catch (error) {
      if (!(error instanceof HexlineError) || error.kind !== 'unsupported') throw error
      this.#hasBlockReceipts = false
      return undefined
    }
  }

  async #singleReceipts(block: Buffer, options: AskOptions): Promise<Reply> {
    const transactions = transactionsOf(block)
    const replies = await Promise.all(
      transactions.map((each) => this.#ask('eth_getTransactionReceipt', [typeof each === 'string' ? each : each.hash], options, new Tally(), false)),
    )
    const receipts = jsonArray(replies.map(bytesOf))
    return replyOf(receipts, receipts.length)
  }

  /**
   * A deadline that passes in the queue, or in the first POST, only shows that the node is slow.
   * While other calls are being answered, this one is sent again.
   */
  #ask(method: string, params: readonly unknown[], options: AskOptions, origin: Tally, isUnread = true): Promise<Reply> {
    const bodies = isUnread ? this.#bodies : undefined
    const request: Request & RequestMarks = { method, params, required: true, as: 'bytes', [UNREAD]: bodies, [TALLY]: origin, signal: options.signal }
    const answered = this.#answered
    return (options.urgent ? this.#urgent : this.#bulk).send(request).then(this.#onReply, (error) => {
      if (error instanceof TimeoutError && error.attempts <= 1 && this.#answered > answered) return this.#ask(method, params, options, origin, isUnread)
      throw error
    })
  }
}

/** Takes the bytes of a reply, for `readUnread`. */
export function bytesOf(reply: Reply): Buffer {
  return asBuffer(reply.take() as Uint8Array)
}

/** Releases the bytes of both replies, which will not be read again. */
export function release({ block, receipts }: Fetched): void {
  releaseReply(block)
  if (receipts !== undefined) releaseReply(receipts)
}

/** Empty for an invalid block, which the decoder reports. */
function transactionsOf(block: Buffer): Linked['transactions'] {
  try {
    return linkedFields(parseResult(block)).transactions
  } catch {
    return []
  }
}

/** Joins JSON values into one JSON array. */
function jsonArray(items: readonly Buffer[]): Buffer {
  const parts: Buffer[] = []
  for (const item of items) parts.push(parts.length === 0 ? OPEN : COMMA, item)
  return Buffer.concat([...(parts.length === 0 ? [OPEN] : parts), CLOSE])
}

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')
