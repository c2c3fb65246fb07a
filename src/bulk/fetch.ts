import type { Client, Request } from '../client/client.ts'
import { AT_ONCE, AVOID, clockOf, connectionsOf, HAS_SUBSTITUTE, type RequestMarks, TALLY, UNREAD } from '../client/internals.ts'
import { HexlineError } from '../errors.ts'
import { parseResult } from '../eth/codec/reader.ts'
import { billed, costsAt } from '../eth/costs.ts'
import { BodyPool } from '../rpc/body-pool.ts'
import { asBuffer, movedReply, type Reply, releaseReply, replyOf } from '../rpc/call.ts'
import { Tally } from '../rpc/tally.ts'
import type { Clock } from '../wait/clock.ts'
import { type TraceForm, tracesCall, tracesCallByHash } from './block-traces.ts'
import { type Linked, linkedFields } from './link.ts'
import { PatientCalls } from './patient-calls.ts'

/** A block as the node's own bytes, with its receipts if requested. */
export interface Fetched {
  readonly number: bigint
  readonly block: Reply
  readonly receipts: Reply | undefined
  readonly traces?: Reply
  /** Size of all, in bytes. */
  readonly bytes: number
  /** Where each came from. Receipts requested one by one have no single origin. */
  readonly origins: { readonly block: Tally; readonly receipts?: Tally; readonly traces?: Tally }
}

export interface FetcherOptions {
  readonly full: boolean
  readonly receipts: boolean
  /** Absent: without traces. */
  readonly traces?: TraceForm | undefined
  /** Attempts of an urgent call. Default: until its deadline. */
  readonly urgentAttempts?: number | undefined
}

/** How the calls for a block are made. */
interface AskOptions {
  readonly client: Client
  readonly signal: AbortSignal | undefined
  /** Endpoints to be used only if there is no other. */
  readonly avoid?: readonly string[]
  /** The result may be null: the endpoint is not asked again for it. */
  readonly mayBeNull?: boolean
  /** Calls do not wait for the end of the turn of the event loop. */
  readonly atOnce?: boolean
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
const NONE: readonly string[] = []
/** Kinds of failures after which the receipts of a block are requested one by one. */
const NOT_AS_A_WHOLE = ['unsupported', 'response-too-large']
/** The method for all receipts of a block. Where it is missing, they come one by one. */
const RECEIPTS = 'eth_getBlockReceipts'
/** Attempts of a request for receipts by their block's hash. */
const ATTEMPTS_BY_HASH = 3

/**
 * Fetches blocks, each with its own calls; the queue makes the batches.
 *
 * Receipts come by `eth_getBlockReceipts` from endpoints that have it. They come one by one where
 * none has it, where those of a block are too large for one reply, and where the providers of all
 * endpoints charge less for that.
 */
export class Fetcher {
  readonly #client: Client
  readonly #bulk: Client
  /** Made when they are needed, which is seldom. */
  #urgentOnly: Client | undefined
  #byHashOnly: Client | undefined
  readonly #full: boolean
  readonly #withReceipts: boolean
  readonly #traces: TraceForm | undefined
  readonly #urgentAttempts: number
  readonly #bodies = new BodyPool()
  readonly #clock: Clock
  readonly #patient: PatientCalls
  /** Of the endpoints where single receipts may be cheaper. */
  readonly #prices: readonly Price[]
  readonly #endpoints: number
  /** When `eth_getBlockReceipts` is tried again, if no endpoint supports it; else 0. */
  #singleUntil = 0

  constructor(client: Client, options: FetcherOptions) {
    this.#client = client
    this.#bulk = client.with({ priority: 'bulk' })
    this.#full = options.full
    this.#withReceipts = options.receipts
    this.#traces = options.traces
    this.#urgentAttempts = options.urgentAttempts ?? Number.POSITIVE_INFINITY
    this.#clock = clockOf(client)
    this.#patient = PatientCalls.of(client)
    const connections = connectionsOf(client) ?? []
    this.#prices = connections.flatMap(({ name, origin }) => pricesAt(name, origin))
    this.#endpoints = connections.length
  }

  get #urgent(): Client {
    this.#urgentOnly ??= this.#client.with({ priority: 'interactive', attempts: this.#urgentAttempts })
    return this.#urgentOnly
  }

  get #byHash(): Client {
    this.#byHashOnly ??= this.#client.with({ priority: 'interactive', attempts: ATTEMPTS_BY_HASH })
    return this.#byHashOnly
  }

  /**
   * A block, at bulk speed; `urgent` for one that the consumer waits for, which goes first and is
   * not given up by default. `avoid` names endpoints to be used only if there is no other.
   */
  fetch(number: bigint, signal: AbortSignal | undefined, urgent = false, avoid: readonly string[] = NONE): Promise<Fetched> {
    return this.#fetch(number, { client: urgent ? this.#urgent : this.#bulk, signal, avoid })
  }

  /** A block, requested at once with the settings of `client`, such as its pin and priority. */
  fetchBy(client: Client, number: bigint): Promise<Fetched> {
    return this.#fetch(number, { client, signal: undefined, atOnce: true })
  }

  #fetch(number: bigint, options: AskOptions): Promise<Fetched> {
    return this.#traces === undefined ? this.#fetchBlock(number, options) : this.#withTraces(this.#traces, number, options)
  }

  /**
   * A block and its traces, which are requested together. Nodes do not trace the first block, which
   * has none.
   */
  async #withTraces(form: TraceForm, number: bigint, options: AskOptions): Promise<Fetched> {
    const { method, params } = tracesCall(form, `0x${number.toString(16)}`)
    const origin = new Tally()
    const asked = number === 0n ? replyOf(NO_TRACES, NO_TRACES.length) : this.#ask(method, params, options, origin)
    const [fetched, traces] = await Promise.all([this.#fetchBlock(number, options), asked])
    return { ...fetched, traces, bytes: fetched.bytes + traces.bytes, origins: { ...fetched.origins, traces: origin } }
  }

  /**
   * The traces of a block once more, from an endpoint that is not among `avoid` if there is
   * another. Undefined if no endpoint has the block.
   */
  async tracesAgain(
    form: TraceForm,
    block: Linked,
    signal: AbortSignal | undefined,
    avoid: readonly string[],
  ): Promise<{ traces: Reply; origin: Tally } | undefined> {
    const { method, params } = tracesCallByHash(form, block)
    const origin = new Tally()
    try {
      // Not `isUnread`: nobody releases this reply.
      return { traces: await this.#ask(method, params, { client: this.#byHash, signal, avoid }, origin, false), origin }
    } catch (error) {
      if (error instanceof HexlineError && error.kind === 'lagging') return undefined
      throw error
    }
  }

  #fetchBlock(number: bigint, options: AskOptions): Promise<Fetched> {
    const tag = `0x${number.toString(16)}`
    const origin = new Tally()
    const asked = this.#ask('eth_getBlockByNumber', [tag, this.#full], options, origin)
    if (!this.#withReceipts) return asked.then((block) => ({ number, block, receipts: undefined, bytes: block.bytes, origins: { block: origin } }))
    return this.#prices.length === 0 ? this.#fetchTogether(number, tag, asked, options, origin) : this.#fetchByPrice(number, tag, asked, options, origin)
  }

  /**
   * The receipts of a block, by its hash. Undefined if no endpoint has them. Their origin is not
   * among `avoid` if there is another.
   */
  async receiptsByHash(
    { hash, transactions }: Linked,
    signal: AbortSignal | undefined,
    avoid: readonly string[],
  ): Promise<{ receipts: Reply; origin: Tally } | undefined> {
    const options: AskOptions = { client: this.#byHash, signal, avoid }
    const origin = new Tally()
    try {
      const receipts = await this.#blockReceipts(hash as string, options, origin).catch((error) => {
        // Some nodes take only the number of a block.
        if (error instanceof HexlineError && error.kind === 'invalid') return undefined
        throw error
      })
      return { receipts: receipts ?? (await this.#singleReceipts(transactions, options)), origin }
    } catch (error) {
      if (!(error instanceof HexlineError) || error.kind === 'closed' || signal?.aborted) throw error
      return undefined
    }
  }

  /** Receipts that are requested together with their block. */
  async #fetchTogether(number: bigint, tag: string, asked: Promise<Reply>, options: AskOptions, origin: Tally): Promise<Fetched> {
    const receiptsOrigin = new Tally()
    const [block, receipts] = await Promise.all([asked, this.#blockReceipts(tag, options, receiptsOrigin)])
    if (receipts !== undefined) return withReceipts(number, block, receipts, { block: origin, receipts: receiptsOrigin })
    const bytes = bytesOf(block)
    const single = await this.#singleReceipts(transactionsOf(bytes), { ...options, mayBeNull: true })
    return withReceipts(number, movedReply(block, bytes), single, { block: origin })
  }

  /** Receipts that are requested after their block, by what costs less for its transactions. */
  async #fetchByPrice(number: bigint, tag: string, asked: Promise<Reply>, options: AskOptions, origin: Tally): Promise<Fetched> {
    const taken = await asked
    const bytes = bytesOf(taken)
    const block = movedReply(taken, bytes)
    const transactions = transactionsOf(bytes)
    const dear = this.#prices.filter(({ ofBlock, single }) => ofBlock > transactions.length * single)
    if (dear.length < this.#endpoints) {
      const receiptsOrigin = new Tally()
      const receipts = await this.#blockReceipts(
        tag,
        { ...options, avoid: [...dear.map(({ endpoint }) => endpoint), ...(options.avoid ?? NONE)] },
        receiptsOrigin,
      )
      if (receipts !== undefined) return withReceipts(number, block, receipts, { block: origin, receipts: receiptsOrigin })
    }
    return withReceipts(number, block, await this.#singleReceipts(transactions, { ...options, mayBeNull: true }), { block: origin })
  }

  /**
   * The receipts of a block in one reply. Undefined if no endpoint supports the method, or if the
   * reply would be too large.
   */
  async #blockReceipts(block: string, options: AskOptions, origin: Tally): Promise<Reply | undefined> {
    if (this.#singleUntil !== 0) {
      const now = this.#clock.now()
      if (now < this.#singleUntil) return undefined
      // One call tries it.
      this.#singleUntil = now + SINGLE_MS
    }
    try {
      const receipts = await this.#ask(RECEIPTS, [block], options, origin)
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
  async #singleReceipts(transactions: Linked['transactions'], options: AskOptions): Promise<Reply> {
    const replies = await Promise.all(
      transactions.map((each) => this.#ask('eth_getTransactionReceipt', [typeof each === 'string' ? each : each.hash], options, new Tally(), false)),
    )
    const receipts = jsonArray(replies.map(bytesOf).filter((bytes) => !NULL.equals(bytes)))
    return replyOf(receipts, receipts.length)
  }

  /** `isUnread` where a reader gets the reply's bytes as they came, and releases them. */
  #ask(method: string, params: readonly unknown[], options: AskOptions, origin: Tally, isUnread = true): Promise<Reply> {
    const { client, signal, avoid, mayBeNull = false, atOnce } = options
    const request = {
      method,
      params,
      required: !mayBeNull,
      as: 'bytes',
      [UNREAD]: isUnread ? this.#bodies : undefined,
      [TALLY]: origin,
      [AVOID]: avoid,
      [AT_ONCE]: atOnce,
      [HAS_SUBSTITUTE]: method === RECEIPTS,
      signal,
    }
    // Without a signal, it is the client's.
    return this.#patient.send(client, request as Request & RequestMarks)
  }
}

function withReceipts(number: bigint, block: Reply, receipts: Reply, origins: Fetched['origins']): Fetched {
  return { number, block, receipts, bytes: block.bytes + receipts.bytes, origins }
}

/** What the endpoint charges for receipts, if it may charge less for single ones. */
function pricesAt(endpoint: string, origin: string): Price[] {
  const costs = costsAt(origin)
  if (costs === undefined) return []
  const ofBlock = billed(costs, 'eth_getBlockReceipts')
  const single = billed(costs, 'eth_getTransactionReceipt')
  return ofBlock > single ? [{ endpoint, ofBlock, single }] : []
}

/** Takes the bytes of a reply, for `readUnread`. */
export function bytesOf(reply: Reply): Buffer {
  return asBuffer(reply.take() as Uint8Array)
}

/** Releases the bytes of all replies, which will not be read again. */
export function release({ block, receipts, traces }: Fetched): void {
  releaseReply(block)
  if (traces !== undefined) releaseReply(traces)
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

const NO_TRACES = Buffer.from('[]')
const NULL = Buffer.from('null')
const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')
