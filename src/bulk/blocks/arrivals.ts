import type { Client } from '../../client/client.ts'
import { connectionsOf } from '../../client/internals.ts'
import { scrubError } from '../../client/scrub-error.ts'
import { CodecError, IntegrityError, MalformedReplyError } from '../../errors.ts'
import type { Reply } from '../../rpc/call.ts'
import type { CallRecord } from '../../rpc/call-record.ts'
import { releaseReply, takeBytes } from '../../rpc/reply.ts'
import { type Link, type Linked, type LinkedReceipt, receiptsFault } from '../link.ts'
import { WrongReplies } from '../wrong-replies.ts'
import { type Fetched, type Fetcher, release } from './fetch.ts'
import type { Persistence } from './persistence.ts'
import { type BlockReader, type ReadBlock, type ReadTraces, readBlock, readTraces, type UnusableBlock, unusableBlock } from './read-block.ts'
import { receiptsByHash } from './receipts-by-hash.ts'
import type { Suspects } from './suspects.ts'
import type { Proof } from './verifying.ts'

/** A block that was read, and may have receipts or traces of another one. */
interface Read<B, R> extends ReadBlock<B, R> {
  /** What is wrong with the receipts, or with the traces. */
  readonly fault: IntegrityError | undefined
}

/** A block with its receipts, and the replies that they were read from. */
export interface Arrived<B, R> extends Read<B, R> {
  readonly fetched: Fetched
  readonly receiptsByHash: Reply | undefined
  readonly traces: ReadTraces | undefined
  /** What was proven of it, once that is done. */
  proof?: Proof | undefined
  /** It, its receipts or its traces came in place of wrong ones. */
  isReplacement?: boolean | undefined
}

/** The traces of a block, if there are any. */
type Traced = Pick<Arrived<unknown, unknown>, 'traces' | 'isReplacement'>

/** What `Arrivals` may be told. */
export interface ArrivalsOptions {
  /** Learn which endpoints give wrong blocks. */
  readonly suspects?: Suspects | undefined
  /** For wrong blocks. */
  readonly persistence?: Pick<Persistence, 'waits'> | undefined
}

/** Number of replies for the traces of a block, until the fault of the last one is thrown. */
const ATTEMPTS = 4

/** Reads blocks as they arrive, with their receipts, and makes items of them. */
export class Arrivals<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }, T> {
  readonly #client: Client
  readonly #fetcher: Fetcher
  readonly #reader: BlockReader<B, R, T>
  readonly #suspects: Suspects | undefined
  readonly #mostWaits: number | undefined

  constructor(client: Client, fetcher: Fetcher, reader: BlockReader<B, R, T>, { suspects, persistence }: ArrivalsOptions = {}) {
    this.#client = client
    this.#fetcher = fetcher
    this.#reader = reader
    this.#suspects = suspects
    this.#mostWaits = persistence?.waits
  }

  /**
   * Reads a block, with receipts that are requested by its hash if those that came are not its own.
   * The block is requested again, from another endpoint if there is one, if its bytes are invalid
   * JSON or no block, if it does not follow `link`, or if no receipts or traces fit it. Throws what
   * is wrong with it once it was requested often enough (`WrongReplies`). Without a link, a wrong
   * block is left to verification. `avoided` names endpoints that were to be used only if there is
   * no other. `before` has the replies in place of which this one comes: its owner judges the
   * endpoints.
   */
  async arrive(first: Fetched, signal: AbortSignal | undefined, link?: Link, avoided: readonly string[] = [], before?: WrongReplies): Promise<Arrived<B, R>> {
    let wrong = before
    let fetched = first
    for (;;) {
      const arriving = this.#arrive(fetched, signal, link)
      const arrived = arriving instanceof Promise ? await arriving : arriving
      if (!('isUnusable' in arrived)) {
        link?.follow(first.number, arrived.block.linked)
        if (wrong !== undefined && before === undefined) this.replaced(arrived, wrong)
        else if (link !== undefined && !arrived.isReplacement) this.#suspects?.right(arrived.fetched.origins.block.endpoint)
        return arrived
      }
      wrong ??= new WrongReplies(this.#client, this.#mostWaits)
      const mayAskAgain = await wrong.mayAskAgain('eth_getBlockByNumber', arrived.origin?.endpoint, signal)
      if (!mayAskAgain) throw neverUsable(this.#client, first.number, arrived, wrong.count)
      fetched = await this.#fetcher.fetchUrgent(first.number, signal, [...avoided, ...wrong.endpoints])
    }
  }

  /** The block came in place of wrong ones. */
  replaced(arrived: Arrived<B, R>, wrong: WrongReplies): void {
    arrived.isReplacement = true
    this.#suspects?.replaced(arrived.fetched.origins.block.endpoint, wrong.endpoints)
  }

  /** Receipts of a block, requested by its hash, came from `right` in place of wrong ones. */
  #receiptsReplaced(right: CallRecord, wrong: CallRecord | undefined): void {
    if (wrong?.endpoint === undefined) return
    // Receipts requested one by one have no single origin.
    this.#suspects?.replaced(right.endpoint ?? wrong.endpoint, [wrong.endpoint])
  }

  /** At once where nothing has to be requested: a block at the head is waited for. */
  #arrive(fetched: Fetched, signal: AbortSignal | undefined, link: Link | undefined): Arrived<B, R> | UnusableBlock | Promise<Arrived<B, R> | UnusableBlock> {
    const read = this.#read(fetched, link)
    if ('isUnusable' in read) return read
    if (read.fault !== undefined || this.#reader.traces !== undefined) return this.#complete(read, fetched, signal, link)
    return { ...read, fetched, receiptsByHash: undefined, traces: undefined }
  }

  #read(fetched: Fetched, link: Link | undefined): Read<B, R> | UnusableBlock {
    return this.withOrigin(fetched, () => {
      const read = readBlock(fetched, this.#reader)
      if ('isUnusable' in read) return read
      const { block, receipts } = read
      const outside = link?.faultOf(fetched.number, block.linked)
      if (outside !== undefined) return unusableBlock(outside, fetched.origins.block)
      const fault = receipts && receiptsFault(block.linked, receipts.linked)
      return { ...read, fault: fault && (scrubError(fault, connectionsOf(this.#client), fetched.origins.block) as IntegrityError) }
    })
  }

  /** Adds the traces, and the block's own receipts in place of others. */
  async #complete(read: Read<B, R>, fetched: Fetched, signal: AbortSignal | undefined, link: Link | undefined): Promise<Arrived<B, R> | UnusableBlock> {
    const { block, fault } = read
    let traced: Traced = { traces: undefined }
    try {
      traced = await this.#traces(block.linked, fetched, signal)
      if (fault === undefined) return { ...read, fetched, receiptsByHash: undefined, ...traced }
      const wrong = { block: block.linked, fault, origin: fetched.origins.receipts }
      let bytes: Buffer | undefined
      const readReceipts = (last: Buffer) => {
        bytes = last
        return this.#reader.receipts(last)
      }
      const { reply, receipts, origin } = await receiptsByHash(this.#fetcher, wrong, readReceipts, signal)
      this.#receiptsReplaced(origin, wrong.origin)
      const json = { block: read.json.block, receipts: bytes }
      return { block, receipts, json, fetched, receiptsByHash: reply, traces: traced.traces, fault: undefined, isReplacement: true }
    } catch (error) {
      if (error instanceof CodecError && error.kind === 'malformed') return unusableBlock(error, fetched.origins.traces)
      if (!(error instanceof IntegrityError) || error.kind !== 'integrity') throw error
      // What fits no other reply may be the block.
      if (link !== undefined) return unusableBlock(error, fetched.origins.block)
      return { ...read, fault: error, fetched, receiptsByHash: undefined, ...traced }
    }
  }

  /**
   * The traces of a block: requested again, from another endpoint if there is one, if those that
   * came are not its own. Throws `IntegrityError`.
   */
  async #traces(block: Linked, { number, traces: first, origins }: Fetched, signal: AbortSignal | undefined): Promise<Traced> {
    const { traces: reader } = this.#reader
    if (reader === undefined || first === undefined) return { traces: undefined }
    const avoid: string[] = []
    let reply = first
    let origin = origins.traces
    for (let attempt = 1; ; attempt++) {
      const traces = readTraces(number, reader, block, takeBytes(reply))
      if (!(traces instanceof Error)) {
        if (attempt > 1) this.#suspects?.replaced(origin?.endpoint, avoid)
        return { traces, isReplacement: attempt > 1 }
      }
      if (origin?.endpoint !== undefined) avoid.push(origin.endpoint)
      const again = attempt < ATTEMPTS ? await this.#fetcher.tracesAgain(reader.form, block, signal, avoid) : undefined
      if (again === undefined) throw scrubError(traces, connectionsOf(this.#client), origin)
      ;({ traces: reply, origin } = again)
    }
  }

  /** The item refers to bytes of `arrived`, which may be released when it is no longer used. */
  item({ fetched, block, receipts, traces }: Arrived<B, R>): T {
    return this.withOrigin(fetched, () => this.#reader.item(block, receipts, traces))
  }

  /** Hides secrets of the block's endpoint in what `make` throws. */
  withOrigin<V>(fetched: Fetched, make: () => V): V {
    try {
      return make()
    } catch (error) {
      throw scrubError(error, connectionsOf(this.#client), originOf(error, fetched))
    }
  }
}

/** The replies will not be read again. */
export function releaseArrived({ fetched, receiptsByHash: byHash }: Arrived<unknown, unknown>): void {
  release(fetched)
  if (byHash !== undefined) releaseReply(byHash)
}

/** The origin of the value that could not be read. */
function originOf(error: unknown, { origins }: Fetched): CallRecord | undefined {
  return error instanceof CodecError && error.method === 'eth_getBlockReceipts' ? origins.receipts : origins.block
}

/** The error for a block after this many unusable replies. `last` is the last of them. */
function neverUsable(client: Client, number: bigint | number, last: UnusableBlock, replies: number): unknown {
  const { why, origin } = last
  if (!(why instanceof SyntaxError)) return scrubError(why, connectionsOf(client), origin)
  // Has no cause, since the message of a `SyntaxError` quotes the text, which may hold part of a
  // key.
  return new MalformedReplyError(`block ${number}: received invalid JSON ${replies} times`, { endpoint: origin?.endpoint })
}
