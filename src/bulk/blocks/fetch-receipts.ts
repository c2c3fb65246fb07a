import type { Client } from '../../client/client.ts'
import { clockOf, connectionsOf } from '../../client/internals.ts'
import { HexlineError } from '../../errors.ts'
import { parseResult } from '../../eth/codec/reader.ts'
import { billed, costsAt } from '../../eth/costs.ts'
import { hashOfTransaction } from '../../eth/transaction-hash.ts'
import type { Reply } from '../../rpc/call.ts'
import { CallRecord } from '../../rpc/call-record.ts'
import { movedReply, replyOf, takeBytes } from '../../rpc/reply.ts'
import type { Clock } from '../../wait/clock.ts'
import { type Linked, linkedFields } from '../link.ts'
import { type AskOptions, type BlockCalls, RECEIPTS } from './block-calls.ts'

/** The receipts of a block, and the block, whose reply may have been read for them. */
interface WithReceipts {
  readonly block: Reply
  readonly receipts: Reply
  /** Where the receipts came from; undefined for those requested one by one. */
  readonly origin: CallRecord | undefined
}

/** What an endpoint charges for receipts. */
interface Price {
  readonly endpoint: string
  readonly ofBlock: number
  readonly single: number
}

/**
 * How long receipts are requested one by one before `eth_getBlockReceipts` is tried again, in ms:
 * an endpoint that has it may be back.
 */
const SINGLE_MS = 60_000
/** Kinds of failures after which the receipts of a block are requested one by one. */
const NOT_AS_A_WHOLE = ['unsupported', 'response-too-large']

/**
 * Fetches the receipts of blocks, by `eth_getBlockReceipts` from endpoints that have it. They come
 * one by one where none has it, where those of a block are too large for one reply, and where the
 * providers of all endpoints charge less for that.
 */
export class ReceiptsFetcher {
  readonly #calls: BlockCalls
  readonly #clock: Clock
  /** Of the endpoints where single receipts may be cheaper. */
  readonly #prices: readonly Price[]
  readonly #endpoints: number
  /** When `eth_getBlockReceipts` is tried again, if no endpoint supports it; else 0. */
  #singleUntil = 0

  constructor(client: Client, calls: BlockCalls) {
    this.#calls = calls
    this.#clock = clockOf(client)
    const connections = connectionsOf(client) ?? []
    this.#prices = connections.flatMap(({ name, origin }) => pricesAt(name, origin))
    this.#endpoints = connections.length
  }

  /**
   * The receipts of the block `tag`, which `asked` brings: requested together with it, or after it
   * where its transactions decide what costs less.
   */
  fetch(tag: string, asked: Promise<Reply>, options: AskOptions): Promise<WithReceipts> {
    return this.#prices.length === 0 ? this.#together(tag, asked, options) : this.#byPrice(tag, asked, options)
  }

  /** The receipts of a block, by its hash. Undefined if no endpoint has them. */
  async byHash({ hash, transactions }: Linked, options: AskOptions): Promise<{ receipts: Reply; origin: CallRecord } | undefined> {
    const origin = new CallRecord()
    try {
      const receipts = await this.#ofBlock(hash as string, options, origin).catch((error) => {
        // Some nodes take only the number of a block.
        if (error instanceof HexlineError && error.kind === 'invalid') return undefined
        throw error
      })
      return { receipts: receipts ?? (await this.#single(transactions, options)), origin }
    } catch (error) {
      if (!(error instanceof HexlineError) || error.kind === 'closed' || options.signal?.aborted) throw error
      return undefined
    }
  }

  async #together(tag: string, asked: Promise<Reply>, options: AskOptions): Promise<WithReceipts> {
    const origin = new CallRecord()
    const [block, receipts] = await Promise.all([asked, this.#ofBlock(tag, options, origin)])
    return receipts === undefined ? this.#oneByOne(listTransactions(block), options) : { block, receipts, origin }
  }

  async #byPrice(tag: string, asked: Promise<Reply>, options: AskOptions): Promise<WithReceipts> {
    const read = listTransactions(await asked)
    const { block, transactions } = read
    const dear = this.#prices.filter(({ ofBlock, single }) => ofBlock > transactions.length * single)
    if (dear.length < this.#endpoints) {
      const origin = new CallRecord()
      const avoid = [...dear.map(({ endpoint }) => endpoint), ...(options.avoid ?? [])]
      const receipts = await this.#ofBlock(tag, { ...options, avoid }, origin)
      if (receipts !== undefined) return { block, receipts, origin }
    }
    return this.#oneByOne(read, options)
  }

  async #oneByOne({ block, transactions }: ListedBlock, options: AskOptions): Promise<WithReceipts> {
    return { block, receipts: await this.#single(transactions, { ...options, mayBeNull: true }), origin: undefined }
  }

  /**
   * The receipts of a block in one reply. Undefined if no endpoint supports the method, or if the
   * reply would be too large.
   */
  async #ofBlock(block: string, options: AskOptions, origin: CallRecord): Promise<Reply | undefined> {
    if (this.#singleUntil !== 0) {
      const now = this.#clock.now()
      if (now < this.#singleUntil) return undefined
      // One call tries it.
      this.#singleUntil = now + SINGLE_MS
    }
    try {
      const receipts = await this.#calls.ask(RECEIPTS, [block], options, origin)
      this.#singleUntil = 0
      return receipts
    } catch (error) {
      if (!(error instanceof HexlineError) || !NOT_AS_A_WHOLE.includes(error.kind)) throw error
      this.#singleUntil = error.kind === 'unsupported' ? this.#clock.now() + SINGLE_MS : 0
      return undefined
    }
  }

  /**
   * The receipts of these transactions, one by one, as a JSON array. With `mayBeNull`, those that
   * the node lacks are left out, since after a reorganisation it will never have them. The rest
   * then does not fit the block, and the receipts are requested again by the block's hash.
   */
  async #single(transactions: Linked['transactions'], options: AskOptions): Promise<Reply> {
    const joined = { ...options, isUnread: false }
    const replies = await Promise.all(
      transactions.map((each) => this.#calls.ask('eth_getTransactionReceipt', [hashOfTransaction(each)], joined, new CallRecord())),
    )
    const receipts = jsonArray(replies.map(takeBytes).filter((bytes) => !NULL.equals(bytes)))
    return replyOf(receipts, receipts.length)
  }
}

/** What the endpoint charges for receipts, if it may charge less for single ones. */
function pricesAt(endpoint: string, origin: string): Price[] {
  const costs = costsAt(origin)
  if (costs === undefined) return []
  const ofBlock = billed(costs, RECEIPTS)
  const single = billed(costs, 'eth_getTransactionReceipt')
  return ofBlock > single ? [{ endpoint, ofBlock, single }] : []
}

/** A block, read for the list of its transactions. */
interface ListedBlock {
  /** To be read once more. */
  readonly block: Reply
  /** Empty for an invalid block, which the decoder reports. */
  readonly transactions: Linked['transactions']
}

function listTransactions(reply: Reply): ListedBlock {
  const bytes = takeBytes(reply)
  const block = movedReply(reply, bytes)
  try {
    return { block, transactions: linkedFields(parseResult(bytes)).transactions }
  } catch {
    return { block, transactions: [] }
  }
}

/** Joins JSON values into one JSON array. */
function jsonArray(items: readonly Buffer[]): Buffer {
  const parts: Buffer[] = []
  for (const item of items) parts.push(parts.length === 0 ? OPEN : COMMA, item)
  return Buffer.concat([...(parts.length === 0 ? [OPEN] : parts), CLOSE])
}

const NULL = Buffer.from('null')
const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')
