import type { Client } from '../client/client.ts'
import { clockOf, deadlineOf } from '../client/internals.ts'
import { IntegrityError, TimeoutError, TransactionLostError } from '../errors.ts'
import type { Address, Hash } from '../eth/codec/hex.ts'
import type { Receipt } from '../eth/objects.ts'
import { isFailure, mayRepeat } from '../rpc/failure-kinds.ts'
import { counted } from '../text.ts'
import { type Bell, startBell } from './bell.ts'
import { findReplacement } from './find-replacement.ts'
import { Pace } from './pace.ts'

/** Options of `waitForReceipt`, with their defaults. */
export interface ReceiptOptions {
  readonly confirmations: number
  readonly deadlineMs: number
  readonly signal: AbortSignal | undefined
}

/**
 * A transaction counts as lost when no node has had it for this long, in ms, and this many looks.
 */
const UNKNOWN_MS = 10_000
const UNKNOWN_LOOKS = 5

/** See `waitForReceipt`. Its arguments are checked. */
export async function awaitReceipt(client: Client, hash: Hash, options: ReceiptOptions): Promise<Receipt> {
  const { signal } = options
  signal?.throwIfAborted()
  const bell = startBell(client, signal)
  try {
    return await new ReceiptWait(signal ? client.with({ signal }) : client, hash, options, bell).result()
  } finally {
    bell.stop()
  }
}

class ReceiptWait {
  readonly #client: Client
  readonly #hash: Hash
  readonly #confirmations: number
  readonly #deadlineMs: number
  readonly #deadline: number
  readonly #bell: Bell
  readonly #pace: Pace
  /** Sender and nonce, once a node has given them. */
  #sent: { readonly from: Address; readonly nonce: number } | undefined
  #head = -1
  /** Since when no node has had it in its pool or in a block, and in how many looks. */
  #unknown: { readonly since: number; readonly looks: number } | undefined

  constructor(client: Client, hash: Hash, { confirmations, deadlineMs }: ReceiptOptions, bell: Bell) {
    this.#client = client
    this.#hash = hash
    this.#confirmations = confirmations
    this.#bell = bell
    this.#deadlineMs = deadlineMs
    this.#deadline = clockOf(client).now() + deadlineMs
    this.#pace = new Pace(this.#now())
  }

  async result(): Promise<Receipt> {
    for (let isFirst = true; ; isFirst = false) {
      this.#bell.take()
      try {
        const receipt = await this.#look()
        if (receipt !== undefined) return receipt
      } catch (error) {
        const isFinal = !isFailure(error) || mayRepeat(error) !== true
        if (isFinal || (isFirst && this.#now() < this.#deadline)) throw error
        if (this.#now() >= this.#deadline) throw this.#late()
        this.#pace.failed()
      }
      const left = this.#deadline - this.#now()
      if (left <= 0) throw this.#late()
      await this.#bell.wait(Math.min(left, this.#pace.waitMs(this.#now(), this.#bell.isLive, Math.random())))
    }
  }

  /** The receipt, if it has its confirmations by now. */
  async #look(): Promise<Receipt | undefined> {
    // What belongs together comes from one endpoint.
    const left = Math.max(1, this.#deadline - this.#now())
    const node = (left < deadlineOf(this.#client) ? this.#client.with({ deadlineMs: left }) : this.#client).pinned()
    const [receipt, transaction, newest] = await Promise.all([
      node.call('eth_getTransactionReceipt', this.#hash),
      node.call('eth_getTransactionByHash', this.#hash),
      node.call('eth_blockNumber'),
    ])
    const head = Number(newest)
    if (head > this.#head && this.#head >= 0) this.#pace.found(head - this.#head, this.#now())
    else this.#pace.missed()
    this.#head = Math.max(this.#head, head)
    if (transaction !== null) this.#sent = { from: transaction.from, nonce: transaction.nonce }
    if (receipt !== null) {
      const { transactionHash } = receipt
      if (transactionHash.toLowerCase() !== this.#hash.toLowerCase())
        throw new IntegrityError(`requested the receipt of ${this.#hash}, but received that of ${transactionHash}`, { method: 'eth_getTransactionReceipt' })
      this.#unknown = undefined
      const isDeep = head - Number(receipt.blockNumber) + 1 >= this.#confirmations
      return isDeep && (await this.#isInChain(node, receipt)) ? receipt : undefined
    }
    const isNonceUsed = await this.#checkReplaced(node, head)
    if (transaction !== null && !isNonceUsed) this.#unknown = undefined
    else this.#checkLost(isNonceUsed ? 'replaced' : 'dropped')
    return undefined
  }

  async #isInChain(node: Client, { blockNumber, blockHash }: Receipt): Promise<boolean> {
    return (await node.call('eth_getBlockByNumber', blockNumber, false))?.hash === blockHash
  }

  /**
   * Throws where another transaction has the nonce; true where something has, and it is not found.
   */
  async #checkReplaced(node: Client, head: number): Promise<boolean> {
    const confirmed = head - this.#confirmations + 1
    if (this.#sent === undefined || confirmed < 0) return false
    const { from, nonce } = this.#sent
    if ((await node.call('eth_getTransactionCount', from, confirmed)) <= nonce) return false
    const replacedBy = await findReplacement(node, this.#sent, confirmed)
    if (replacedBy === undefined) return true
    // A node may know the block and not yet the receipt.
    if (replacedBy.toLowerCase() === this.#hash.toLowerCase()) return false
    throw new TransactionLostError('replaced', this.#hash, replacedBy)
  }

  /** Throws when it has been so for long enough: one of several nodes may lag, or know less. */
  #checkLost(reason: TransactionLostError['reason']): void {
    const { since, looks } = this.#unknown ?? { since: this.#now(), looks: 0 }
    this.#unknown = { since, looks: looks + 1 }
    if (looks + 1 >= UNKNOWN_LOOKS && this.#now() - since >= UNKNOWN_MS) throw new TransactionLostError(reason, this.#hash)
  }

  #late(): TimeoutError {
    return new TimeoutError(`waitForReceipt: ${this.#hash} has no receipt with ${counted(this.#confirmations, 'confirmation')} within ${this.#deadlineMs} ms`, {
      method: 'eth_getTransactionReceipt',
    })
  }

  #now(): number {
    return clockOf(this.#client).now()
  }
}
