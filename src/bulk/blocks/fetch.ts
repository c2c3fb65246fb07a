import type { Client } from '../../client/client.ts'
import { clockOf } from '../../client/internals.ts'
import { HexlineError } from '../../errors.ts'
import type { Reply } from '../../rpc/call.ts'
import { CallRecord } from '../../rpc/call-record.ts'
import { releaseReply, replyOf } from '../../rpc/reply.ts'
import type { Clock } from '../../wait/clock.ts'
import type { Linked } from '../link.ts'
import { type AskOptions, BlockCalls } from './block-calls.ts'
import { type TraceForm, tracesCall, tracesCallByHash } from './block-traces.ts'
import { ReceiptsFetcher } from './fetch-receipts.ts'
import type { Persistence } from './persistence.ts'

/** A block as the node's own bytes, with its receipts if requested. */
export interface Fetched {
  readonly number: bigint
  /** When the block arrived, on the client's clock. */
  readonly at: number
  readonly block: Reply
  readonly receipts: Reply | undefined
  readonly traces?: Reply
  /** Size of all, in bytes. */
  readonly bytes: number
  /** Where each came from. Receipts requested one by one have no single origin. */
  readonly origins: { readonly block: CallRecord; readonly receipts?: CallRecord; readonly traces?: CallRecord }
}

/** What to fetch with each block. */
export interface FetcherOptions {
  readonly full: boolean
  readonly receipts: boolean
  /** Absent: without traces. */
  readonly traces?: TraceForm | undefined
  /** Default: an urgent block is requested until the deadline. */
  readonly persistence?: Persistence | undefined
}

const NONE: readonly string[] = []
/** Attempts of a request for receipts or traces by their block's hash. */
const ATTEMPTS_BY_HASH = 3

/**
 * Fetches blocks, each with its own calls: for the block, its receipts and its traces. The queue
 * makes the batches.
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
  readonly #calls: BlockCalls
  readonly #receipts: ReceiptsFetcher
  readonly #clock: Clock

  constructor(client: Client, options: FetcherOptions) {
    this.#client = client
    this.#bulk = client.with({ priority: 'bulk' })
    this.#full = options.full
    this.#withReceipts = options.receipts
    this.#traces = options.traces
    this.#urgentAttempts = options.persistence?.attempts ?? Number.POSITIVE_INFINITY
    this.#clock = clockOf(client)
    this.#calls = new BlockCalls(client)
    this.#receipts = new ReceiptsFetcher(client, this.#calls)
  }

  get #urgent(): Client {
    this.#urgentOnly ??= this.#client.with({ priority: 'interactive', attempts: this.#urgentAttempts })
    return this.#urgentOnly
  }

  get #byHash(): Client {
    this.#byHashOnly ??= this.#client.with({ priority: 'interactive', attempts: ATTEMPTS_BY_HASH })
    return this.#byHashOnly
  }

  /** A block, at bulk speed. `avoid` names endpoints to be used only if there is no other. */
  fetch(number: bigint, signal: AbortSignal | undefined, avoid: readonly string[] = NONE): Promise<Fetched> {
    return this.#fetch(number, { client: this.#bulk, signal, avoid })
  }

  /** A block that the consumer waits for: it goes first, and is not given up by default. */
  fetchUrgent(number: bigint, signal: AbortSignal | undefined, avoid: readonly string[] = NONE): Promise<Fetched> {
    return this.#fetch(number, { client: this.#urgent, signal, avoid })
  }

  /** A block, requested at once with the settings of `client`, such as its pin and priority. */
  fetchBy(client: Client, number: bigint): Promise<Fetched> {
    return this.#fetch(number, { client, signal: undefined, atOnce: true })
  }

  #fetch(number: bigint, options: AskOptions): Promise<Fetched> {
    return this.#traces === undefined ? this.#fetchBlock(number, options) : this.#withTraces(this.#traces, number, options)
  }

  #fetchBlock(number: bigint, options: AskOptions): Promise<Fetched> {
    const tag = `0x${number.toString(16)}`
    const origin = new CallRecord()
    const asked = this.#calls.ask('eth_getBlockByNumber', [tag, this.#full], options, origin)
    if (!this.#withReceipts)
      return asked.then((block) => ({ number, at: this.#clock.now(), block, receipts: undefined, bytes: block.bytes, origins: { block: origin } }))
    return this.#receipts.fetch(tag, asked, options).then(({ block, receipts, origin: ofReceipts }) => ({
      number,
      at: this.#clock.now(),
      block,
      receipts,
      bytes: block.bytes + receipts.bytes,
      origins: ofReceipts === undefined ? { block: origin } : { block: origin, receipts: ofReceipts },
    }))
  }

  /**
   * A block and its traces, which are requested together. Nodes do not trace the first block, which
   * has none.
   */
  async #withTraces(form: TraceForm, number: bigint, options: AskOptions): Promise<Fetched> {
    const { method, params } = tracesCall(form, `0x${number.toString(16)}`)
    const origin = new CallRecord()
    const asked = number === 0n ? replyOf(NO_TRACES, NO_TRACES.length) : this.#calls.ask(method, params, options, origin)
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
  ): Promise<{ traces: Reply; origin: CallRecord } | undefined> {
    const { method, params } = tracesCallByHash(form, block)
    const origin = new CallRecord()
    try {
      // Nobody releases this reply.
      return { traces: await this.#calls.ask(method, params, { client: this.#byHash, signal, avoid, isUnread: false }, origin), origin }
    } catch (error) {
      if (error instanceof HexlineError && error.kind === 'lagging') return undefined
      throw error
    }
  }

  /**
   * The receipts of a block, by its hash. Undefined if no endpoint has them. Their origin is not
   * among `avoid` if there is another.
   */
  receiptsByHash(block: Linked, signal: AbortSignal | undefined, avoid: readonly string[]): Promise<{ receipts: Reply; origin: CallRecord } | undefined> {
    return this.#receipts.byHash(block, { client: this.#byHash, signal, avoid })
  }
}

/** Releases the bytes of all replies, which will not be read again. */
export function release({ block, receipts, traces }: Fetched): void {
  releaseReply(block)
  if (traces !== undefined) releaseReply(traces)
  if (receipts !== undefined) releaseReply(receipts)
}

const NO_TRACES = Buffer.from('[]')
