import type { Client } from '../client/client.ts'
import { connectionsOf } from '../client/internals.ts'
import { scrubError } from '../client/scrub-error.ts'
import { CodecError, IntegrityError, MalformedReplyError } from '../errors.ts'
import { moved, under } from '../eth/codec/codec-path.ts'
import { type Reply, releaseReply } from '../rpc/call.ts'
import type { Tally } from '../rpc/tally.ts'
import type { BlockJson, WholeBlock } from '../verify/bytes-verifier.ts'
import { type TraceForm, tracesFault } from './block-traces.ts'
import { bytesOf, type Fetched, type Fetcher, release } from './fetch.ts'
import { type Link, type Linked, type LinkedReceipt, receiptsFault } from './link.ts'
import { receiptsByHash } from './receipts-by-hash.ts'
import type { Proof } from './verifying.ts'

/**
 * Makes the items of a stream. `block` and `receipts` get the bytes of a whole result, and read
 * them with `readUnread`, as `createReader`, `createCopier` and `parseResult` do: they throw
 * `SyntaxError` for invalid JSON, and `CodecError` for an invalid block.
 */
export interface BlockReader<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }, T> {
  block(bytes: Buffer): B
  receipts(bytes: Buffer): R
  /** For a stream with traces. */
  readonly traces?: TracesReader | undefined
  /**
   * Makes the item of a block that follows the previous one, with its own receipts. The item may
   * refer to the bytes of both, which stay valid until the next item is requested.
   */
  item(block: B, receipts: R | undefined, traces?: ReadTraces): T
  /** The whole objects, where `block` and `receipts` have decoded all of their fields. */
  whole?: ((block: B, receipts: R | undefined) => WholeBlock) | undefined
}

/** How traces are read. */
interface TracesReader {
  readonly form: TraceForm
  read(bytes: Buffer): ReadTraces
}

/** The traces of a block. */
export interface ReadTraces {
  readonly linked: readonly unknown[]
  /** Their JSON, where the item is made of it. */
  readonly json?: Buffer
}

/** A block that was read, with the receipts that came with it. */
interface Read<B, R> {
  readonly block: B
  readonly receipts: R | undefined
  /** What both were read from. */
  readonly json: BlockJson
  /** What is wrong with the receipts, or with the traces. */
  readonly fault: IntegrityError | undefined
}

/**
 * A reply that does not count: the bytes of the block, or of its receipts, are invalid JSON or
 * something else, or the block has no place in the chain.
 */
interface Unusable {
  readonly isUnusable: true
  readonly why: SyntaxError | CodecError | IntegrityError
  readonly origin: Tally | undefined
}

/** Whether both replies contradict others in the same way, as after a reorganisation. */
function isRepeated({ why }: Unusable, last: Unusable | undefined): boolean {
  return why instanceof IntegrityError && why.message === last?.why.message
}

function unusable(why: Unusable['why'], origin: Tally | undefined): Unusable {
  return { isUnusable: true, why, origin }
}

/** A block with its receipts, and the replies that they were read from. */
export interface Arrived<B, R> extends Read<B, R> {
  readonly fetched: Fetched
  readonly receiptsByHash: Reply | undefined
  readonly traces: ReadTraces | undefined
  /** What was proven of it, once that is done. */
  proof?: Proof | undefined
}

/** Number of replies for a block, or for its traces, until the fault of the last one is thrown. */
const ATTEMPTS = 4

/** Reads blocks as they arrive, with their receipts, and makes items of them. */
export class Arrivals<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }, T> {
  readonly #client: Client
  readonly #fetcher: Fetcher
  readonly #reader: BlockReader<B, R, T>

  constructor(client: Client, fetcher: Fetcher, reader: BlockReader<B, R, T>) {
    this.#client = client
    this.#fetcher = fetcher
    this.#reader = reader
  }

  /**
   * Reads a block, with receipts that are requested by its hash if those that came are not its own.
   * The block is requested again, from another endpoint if there is one, if its bytes are invalid
   * JSON or no block, if it does not follow `link`, or if no receipts or traces fit it. Throws what
   * is wrong with it after four replies, or as soon as all endpoints have been asked and two in a
   * row are wrong in the same way. Without a link, a wrong block is left to verification. `avoided`
   * names endpoints that were to be used only if there is no other.
   */
  async arrive(first: Fetched, signal: AbortSignal | undefined, link?: Link, avoided: readonly string[] = []): Promise<Arrived<B, R>> {
    const asked = new Set<string>()
    let fetched = first
    let last: Unusable | undefined
    for (let attempt = 1; ; attempt++) {
      const arriving = this.#arrive(fetched, signal, link)
      const arrived = arriving instanceof Promise ? await arriving : arriving
      if (!('isUnusable' in arrived)) {
        link?.follow(first.number, arrived.block.linked)
        return arrived
      }
      const { origin } = arrived
      if (origin?.endpoint !== undefined) asked.add(origin.endpoint)
      const isAgreed = isRepeated(arrived, last) && asked.size >= (connectionsOf(this.#client)?.length ?? 1)
      if (attempt === ATTEMPTS || isAgreed) throw neverUsable(this.#client, first.number, arrived)
      last = arrived
      fetched = await this.#fetcher.fetch(first.number, signal, true, [...avoided, ...asked])
    }
  }

  /** At once where nothing has to be requested: a block at the head is waited for. */
  #arrive(fetched: Fetched, signal: AbortSignal | undefined, link: Link | undefined): Arrived<B, R> | Unusable | Promise<Arrived<B, R> | Unusable> {
    const read = this.#read(fetched, link)
    if ('isUnusable' in read) return read
    if (read.fault !== undefined || this.#reader.traces !== undefined) return this.#complete(read, fetched, signal, link)
    return { ...read, fetched, receiptsByHash: undefined, traces: undefined }
  }

  /** Adds the traces, and the block's own receipts in place of others. */
  async #complete(read: Read<B, R>, fetched: Fetched, signal: AbortSignal | undefined, link: Link | undefined): Promise<Arrived<B, R> | Unusable> {
    const { block, fault } = read
    let traces: ReadTraces | undefined
    try {
      traces = await this.#traces(block.linked, fetched, signal)
      if (fault === undefined) return { ...read, fetched, receiptsByHash: undefined, traces }
      const wrong = { block: block.linked, fault, origin: fetched.origins.receipts }
      let bytes: Buffer | undefined
      const readReceipts = (last: Buffer) => {
        bytes = last
        return this.#reader.receipts(last)
      }
      const { reply, receipts } = await receiptsByHash(this.#fetcher, wrong, readReceipts, signal)
      return { block, receipts, json: { block: read.json.block, receipts: bytes }, fetched, receiptsByHash: reply, traces, fault: undefined }
    } catch (error) {
      if (!(error instanceof IntegrityError) || error.kind !== 'integrity') throw error
      // What fits no other reply may be the block.
      if (link !== undefined) return unusable(error, fetched.origins.block)
      return { ...read, fault: error, fetched, receiptsByHash: undefined, traces }
    }
  }

  /**
   * The traces of a block: requested again, from another endpoint if there is one, if those that
   * came are not its own. Throws `IntegrityError`.
   */
  async #traces(block: Linked, { number, traces: first, origins }: Fetched, signal: AbortSignal | undefined): Promise<ReadTraces | undefined> {
    const { traces: reader } = this.#reader
    if (reader === undefined || first === undefined) return undefined
    const avoid: string[] = []
    let reply = first
    let origin = origins.traces
    for (let attempt = 1; ; attempt++) {
      const traces = readTraces(number, reader, block, bytesOf(reply))
      if (!(traces instanceof Error)) return traces
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

  #read(fetched: Fetched, link: Link | undefined): Read<B, R> | Unusable {
    return this.withOrigin(fetched, () => {
      const read = readBlock(fetched, this.#reader)
      if ('isUnusable' in read) return read
      const { block, receipts } = read
      const outside = link?.faultOf(fetched.number, block.linked)
      if (outside !== undefined) return unusable(outside, fetched.origins.block)
      const fault = receipts && receiptsFault(block.linked, receipts.linked)
      return { ...read, fault: fault && (scrubError(fault, connectionsOf(this.#client), fetched.origins.block) as IntegrityError) }
    })
  }
}

/** The replies will not be read again. */
export function releaseArrived({ fetched, receiptsByHash: byHash }: Arrived<unknown, unknown>): void {
  release(fetched)
  if (byHash !== undefined) releaseReply(byHash)
}

function readBlock<B, R>(
  { number, block, receipts, origins }: Fetched,
  reader: { block(bytes: Buffer): B; receipts(bytes: Buffer): R },
): Omit<Read<B, R>, 'fault'> | Unusable {
  const json: BlockJson = { block: bytesOf(block), receipts: receipts && bytesOf(receipts) }
  let origin: Tally | undefined = origins.block
  try {
    const read = inBlock(number, 'eth_getBlockByNumber', () => reader.block(json.block))
    origin = origins.receipts
    return {
      json,
      block: read,
      receipts: json.receipts && inBlock(number, 'eth_getBlockReceipts', () => reader.receipts(json.receipts as Buffer), 'receipts'),
    }
  } catch (error) {
    if (isUnreadable(error)) return unusable(error, origin)
    throw error
  }
}

/** Another attempt, or another endpoint, may give what can be read. */
function isUnreadable(error: unknown): error is SyntaxError | CodecError {
  return error instanceof SyntaxError || (error instanceof CodecError && error.kind === 'malformed')
}

/** The traces of a block, or why others are needed. */
function readTraces(number: bigint, { form, read }: TracesReader, block: Linked, bytes: Buffer): ReadTraces | IntegrityError | CodecError {
  try {
    const traces = inBlock(number, form === 'parity' ? 'trace_block' : 'debug_traceBlockByNumber', () => read(bytes), 'traces')
    return tracesFault(form, block, traces.linked) ?? traces
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return error instanceof CodecError ? error : new IntegrityError(`block ${number}: the traces are invalid JSON`)
  }
}

/**
 * Adds the method and the block to a `CodecError` of `read`, as in the path `blocks[42].gasUsed`.
 */
export function inBlock<T>(number: bigint | number, method: string, read: () => T, field?: string): T {
  try {
    return read()
  } catch (caught) {
    if (!(caught instanceof CodecError)) throw caught
    const malformed = moved(caught, caught.path, { method, kind: 'malformed' })
    throw under(under(field === undefined ? malformed : under(malformed, field), Number(number)), 'blocks')
  }
}

/** The origin of the value that could not be read. */
function originOf(error: unknown, { origins }: Fetched): Tally | undefined {
  return error instanceof CodecError && error.method === 'eth_getBlockReceipts' ? origins.receipts : origins.block
}

/** The error for a block of which each reply was unusable, and this the last one. */
function neverUsable(client: Client, number: bigint | number, { why, origin }: Unusable): unknown {
  if (!(why instanceof SyntaxError)) return scrubError(why, connectionsOf(client), origin)
  // Has no cause, since the message of a `SyntaxError` quotes the text, which may hold part of a
  // key.
  return new MalformedReplyError(`block ${number}: received invalid JSON ${ATTEMPTS} times`, { endpoint: origin?.endpoint })
}
