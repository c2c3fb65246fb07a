import type { Client, Request } from '../client.ts'
import { HexlineError, TimeoutError } from '../errors.ts'
import { type Reply, replyOf } from '../rpc/call.ts'
import { parseAt } from '../rpc/scan.ts'

/** A block as it came, and its receipts if they were asked for. */
export interface Fetched {
  readonly number: bigint
  readonly block: Reply
  readonly receipts: Reply | undefined
  /** Size of both. */
  readonly bytes: number
}

export interface FetcherOptions {
  readonly full: boolean
  readonly receipts: boolean
  /** Results parsed, or the node's own bytes of them. */
  readonly as: 'value' | 'bytes'
}

/** Asks for blocks, each as a call of its own: the queue makes the batches. */
export class Fetcher {
  readonly #client: Client
  readonly #options: FetcherOptions
  /** Some nodes do not have `eth_getBlockReceipts`; then receipts are asked for one by one. */
  #hasBlockReceipts = true
  /** Calls that were answered so far. */
  #answered = 0

  constructor(client: Client, options: FetcherOptions) {
    this.#client = client
    this.#options = options
  }

  async fetch(number: bigint): Promise<Fetched> {
    const at = `0x${number.toString(16)}`
    const { full, receipts } = this.#options
    const asked = this.#ask('eth_getBlockByNumber', [at, full])
    if (!receipts) {
      const block = await asked
      return { number, block, receipts: undefined, bytes: block.bytes }
    }
    const [block, theirs] = await Promise.all([asked, this.#blockReceipts(at)])
    if (theirs !== undefined) return { number, block, receipts: theirs, bytes: block.bytes + theirs.bytes }
    const raw = block.take()
    const singly = await this.#singleReceipts(raw)
    return { number, block: replyOf(raw, block.bytes), receipts: singly, bytes: block.bytes + singly.bytes }
  }

  /** Undefined when the node does not have the method. */
  async #blockReceipts(at: string): Promise<Reply | undefined> {
    if (!this.#hasBlockReceipts) return undefined
    try {
      return await this.#ask('eth_getBlockReceipts', [at])
    } catch (error) {
      if (!(error instanceof HexlineError) || error.kind !== 'unsupported') throw error
      this.#hasBlockReceipts = false
      return undefined
    }
  }

  async #singleReceipts(raw: unknown): Promise<Reply> {
    const block = (Buffer.isBuffer(raw) ? parseAt(raw, 0, raw.length) : raw) as { transactions: readonly (string | { hash: string })[] }
    const replies = await Promise.all(
      block.transactions.map((transaction) => this.#ask('eth_getTransactionReceipt', [typeof transaction === 'string' ? transaction : transaction.hash])),
    )
    const receipts = replies.map((reply) => reply.take())
    const bytes = replies.reduce((sum, reply) => sum + reply.bytes, 0)
    return replyOf(this.#options.as === 'bytes' ? arrayOf(receipts as Uint8Array[]) : receipts, bytes)
  }

  /**
   * A call that its deadline ends in line, or in its first POST, says only that the node is slow: as long as others are
   * answered, it is asked again.
   */
  async #ask(method: string, params: readonly unknown[]): Promise<Reply> {
    const request: Request = { method, params, required: true, as: this.#options.as }
    for (;;) {
      const answered = this.#answered
      try {
        const reply = await this.#client.send(request)
        this.#answered++
        return reply
      } catch (error) {
        if (!(error instanceof TimeoutError && error.attempts <= 1 && this.#answered > answered)) throw error
      }
    }
  }
}

/** JSON values as one JSON array. */
function arrayOf(items: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = []
  for (const item of items) parts.push(parts.length === 0 ? OPEN : COMMA, item)
  return Buffer.concat([...(parts.length === 0 ? [OPEN] : parts), CLOSE])
}

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')
