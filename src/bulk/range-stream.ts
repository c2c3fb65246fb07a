import type { Client } from '../client/client.ts'
import { clockOf, connectionsOf } from '../client/internals.ts'
import { scrubError } from '../client/scrub-error.ts'
import { CodecError, IntegrityError, MalformedReplyError } from '../errors.ts'
import { moved, under } from '../eth/codec/codec-path.ts'
import { type Reply, releaseReply } from '../rpc/call.ts'
import type { Tally } from '../rpc/tally.ts'
import type { BlockJson, WholeBlock } from '../verify/bytes-verifier.ts'
import { bytesOf, type Fetched, Fetcher, release } from './fetch.ts'
import { learnHistory } from './learn-history.ts'
import { Link, type Linked, type LinkedReceipt, receiptsFault } from './link.ts'
import { ordered } from './ordered.ts'
import { type CheckedRange, resolveRange } from './range.ts'
import type { Bounds } from './read-ahead.ts'
import { receiptsByHash } from './receipts-by-hash.ts'
import { verifiedAhead } from './verify-ahead.ts'
import { type Proof, startVerifying, type VerifyOptions, type VerifyReport } from './verifying.ts'

/*
 * The stream of blocks that all jobs over a range share:
 *
 *     fetch ahead ──▶ put in order ──▶ read ──▶ verify, if asked ──▶ link to the parent ──▶ item
 *
 * What an item is, a decoded block or the node's own bytes, is up to its `BlockReader`.
 */

/** Which blocks to stream, and how. Already checked. */
export interface StreamOptions {
  readonly range: CheckedRange
  readonly full: boolean
  readonly receipts: boolean
  readonly signal: AbortSignal | undefined
  readonly onProgress: ((progress: Progress) => void) | undefined
  readonly bounds: Bounds
  /** Absent: only that blocks and receipts belong together. */
  readonly verify?: VerifyOptions | undefined
  /** Called with what was proven of each block, before it is delivered. */
  readonly onVerified?: ((proof: Proof) => void) | undefined
}

/** Progress of a bulk job. */
export interface Progress {
  /** Number of the last block delivered. */
  readonly number: bigint
  /** Number of blocks so far. */
  readonly done: number
  /** Number of blocks in total. */
  readonly total: number
  /** Size of all replies so far, in bytes. */
  readonly bytes: number
  /** What was proven of the blocks so far, with `verify: 'header'` or `'full'`. */
  readonly verified?: VerifyReport
}

/**
 * Makes the items of a stream. `block` and `receipts` get the bytes of a whole result, and read
 * them with `readUnread`, as `createReader`, `createCopier` and `parseResult` do: they throw
 * `SyntaxError` for invalid JSON, and `CodecError` for an invalid block.
 */
export interface BlockReader<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }, T> {
  block(bytes: Buffer): B
  receipts(bytes: Buffer): R
  /**
   * Makes the item of a block that follows the previous one, with its own receipts. The item may
   * refer to the bytes of both, which stay valid until the next item is requested.
   */
  item(block: B, receipts: R | undefined): T
  /** The whole objects, where `block` and `receipts` have decoded all of their fields. */
  whole?: ((block: B, receipts: R | undefined) => WholeBlock) | undefined
}

/** Number of attempts for a block whose bytes are invalid JSON. */
const ATTEMPTS = 4

/**
 * The items of a range of blocks, in order. Each block has the requested number, names the previous
 * one as its parent, and comes with one receipt for each of its transactions: receipts of another
 * block are requested again by hash. With `verify`, each is also verified; a wrong one is requested
 * again from another endpoint. Otherwise the iteration rejects with `IntegrityError`.
 */
export async function* rangeStream<B extends { readonly linked: Linked }, R extends { readonly linked: readonly LinkedReceipt[] }, T>(
  client: Client,
  options: StreamOptions,
  reader: BlockReader<B, R, T>,
): AsyncGenerator<T, void, undefined> {
  const { signal, onProgress, onVerified, bounds } = options
  const asked = client.with(signal ? { signal } : {})
  const { from, to } = await resolveRange(asked, options.range)
  const total = Number(to - from) + 1
  // Aborts the requests in flight when the consumer stops or anything fails.
  const stop = new AbortController()
  const onAbort = () => stop.abort(signal?.reason)
  signal?.addEventListener('abort', onAbort)
  const fetcher = new Fetcher(client, options)
  const verifying = options.verify === undefined ? undefined : await startVerifying(asked, options.full, options.verify)
  const link = new Link()
  let done = 0
  let bytes = 0
  try {
    await learnHistory(client, from, stop.signal)
    const stream =
      verifying === undefined
        ? arrivals()
        : verifiedAhead(arrivals(), {
            verify,
            replace,
            get most() {
              return verifying.most
            },
          })
    for await (const arrived of stream) {
      signal?.throwIfAborted()
      const { fetched, receiptsByHash: byHash, proof } = arrived
      // A block that was verified has its own hash, which one that was replaced had not.
      if (verifying !== undefined) withOrigin(arrived.fetched, () => link.follow(fetched.number, arrived.block.linked))
      const item = withOrigin(fetched, () => reader.item(arrived.block, arrived.receipts))
      bytes += fetched.bytes + (byHash?.bytes ?? 0)
      if (proof !== undefined) {
        verifying?.add(proof)
        onVerified?.(proof)
      }
      yield item
      // The consumer is done with the item, unless it was stopped in its middle.
      if (!stop.signal.aborted) releaseAll(arrived)
      onProgress?.({ number: fetched.number, done: ++done, total, bytes, ...(verifying && { verified: verifying.report }) })
    }
  } catch (error) {
    // Receipts may be requested by the hashes that the node gave for its transactions.
    throw error instanceof IntegrityError ? scrubError(error, connectionsOf(client)) : error
  } finally {
    signal?.removeEventListener('abort', onAbort)
    stop.abort()
    verifying?.end()
  }

  async function* arrivals(): AsyncGenerator<Arrived<B, R>, void, undefined> {
    for await (const fetched of ordered(numbers(from, to), (...args) => fetcher.fetch(...args), bounds, stop.signal, clockOf(client))) {
      signal?.throwIfAborted()
      yield await arrive(fetched)
    }
  }

  /** Reads a block, again if its bytes are invalid JSON. */
  async function arrive(first: Fetched): Promise<Arrived<B, R>> {
    let fetched = first
    let read = linkedRead(fetched)
    for (let attempt = 1; read === undefined; attempt++) {
      if (attempt === ATTEMPTS) throw noJson(fetched)
      fetched = await fetcher.fetch(first.number, stop.signal, true)
      read = linkedRead(fetched)
    }
    const { fault } = read
    if (fault === undefined) return { ...read, fetched, receiptsByHash: undefined }
    const wrong = { block: read.block.linked, fault, origin: fetched.origins.receipts }
    try {
      let bytes: Buffer | undefined
      const readReceipts = (last: Buffer) => {
        bytes = last
        return reader.receipts(last)
      }
      const { reply, receipts } = await receiptsByHash(fetcher, wrong, readReceipts, stop.signal)
      return { block: read.block, receipts, json: { block: read.json.block, receipts: bytes }, fetched, receiptsByHash: reply, fault: undefined }
    } catch (error) {
      // The block may be the one that is wrong, which is found when it is verified.
      if (verifying === undefined || error !== fault) throw error
      return { ...read, fetched, receiptsByHash: undefined }
    }
  }

  /** Undefined if the bytes are invalid JSON. */
  function linkedRead(fetched: Fetched): Read<B, R> | undefined {
    return withOrigin(fetched, () => {
      const read = readBlock(fetched, reader)
      if (read === undefined) return undefined
      const { block, receipts } = read
      if (verifying === undefined) link.follow(fetched.number, block.linked)
      const fault = receipts && receiptsFault(block.linked, receipts.linked)
      return { ...read, fault: fault && (scrubError(fault, connectionsOf(client), fetched.origins.block) as IntegrityError) }
    })
  }

  function withOrigin<V>(fetched: Fetched, make: () => V): V {
    try {
      return make()
    } catch (error) {
      throw scrubError(error, connectionsOf(client), originOf(error, fetched))
    }
  }

  function verify(arrived: Arrived<B, R>): Promise<void> | void {
    const { fetched, block, receipts, json, fault } = arrived
    return withOrigin(fetched, () => {
      // The requested block, or none.
      new Link().follow(fetched.number, block.linked)
      if (fault !== undefined) throw fault
      const proof = verifying?.verify(json, reader.whole?.(block, receipts))
      if (proof instanceof Promise) return proof.then((proven) => void Object.assign(arrived, { proof: proven }))
      arrived.proof = proof
    })
  }

  /** The same block from another endpoint; from the only one, once more. */
  async function replace(wrong: Arrived<B, R>, fault: IntegrityError): Promise<Arrived<B, R>> {
    const endpoints = connectionsOf(client)?.length ?? 1
    const avoid = new Set<string | undefined>()
    let last = { arrived: wrong, fault }
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const suspect = suspectOf(last.arrived.fetched, last.fault)
      const isNew = suspect !== undefined && !avoid.has(suspect)
      avoid.add(suspect)
      // Those that were asked agree, and no other is left.
      if (attempt > 1 && (!isNew || avoid.size >= endpoints)) break
      releaseAll(last.arrived)
      const arrived = await arrive(await fetcher.fetch(wrong.fetched.number, stop.signal, true, [...avoid].filter(isName)))
      try {
        await verify(arrived)
        return arrived
      } catch (error) {
        if (!(error instanceof IntegrityError)) throw error
        last = { arrived, fault: error }
      }
    }
    throw fault
  }
}

/** The endpoint that gave what is wrong. Receipts requested one by one have no single origin. */
function suspectOf({ origins }: Fetched, { field = '' }: IntegrityError): string | undefined {
  const isOfReceipts = field.startsWith('receipts') || field === 'logsBloom'
  return (isOfReceipts && origins.receipts?.endpoint) || origins.block.endpoint
}

function isName(name: string | undefined): name is string {
  return name !== undefined
}

/** A block that was read, with the receipts that came with it. */
interface Read<B, R> {
  readonly block: B
  readonly receipts: R | undefined
  /** What both were read from. */
  readonly json: BlockJson
  /** What is wrong with the receipts. */
  readonly fault: IntegrityError | undefined
}

/** A block with its receipts, and the replies that they were read from. */
interface Arrived<B, R> extends Read<B, R> {
  readonly fetched: Fetched
  readonly receiptsByHash: Reply | undefined
  /** What was proven of it, once that is done. */
  proof?: Proof | undefined
}

function releaseAll({ fetched, receiptsByHash: byHash }: Arrived<unknown, unknown>): void {
  release(fetched)
  if (byHash !== undefined) releaseReply(byHash)
}

function* numbers(from: bigint, to: bigint): Generator<bigint> {
  for (let number = from; number <= to; number++) yield number
}

/** Undefined if the bytes are invalid JSON. */
function readBlock<B, R>({ number, block, receipts }: Fetched, reader: { block(bytes: Buffer): B; receipts(bytes: Buffer): R }) {
  const json: BlockJson = { block: bytesOf(block), receipts: receipts && bytesOf(receipts) }
  try {
    return {
      json,
      block: inBlock(number, 'eth_getBlockByNumber', () => reader.block(json.block)),
      receipts: json.receipts && inBlock(number, 'eth_getBlockReceipts', () => reader.receipts(json.receipts as Buffer), 'receipts'),
    }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/**
 * Adds the method and the block to a `CodecError` of `read`, as in the path `blocks[42].gasUsed`.
 */
function inBlock<T>(number: bigint, method: string, read: () => T, field?: string): T {
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

/**
 * Has no cause, since the message of a `SyntaxError` quotes the text, which may hold part of a key.
 */
function noJson({ number, origins }: Fetched): MalformedReplyError {
  return new MalformedReplyError(`block ${number}: received invalid JSON ${ATTEMPTS} times`, { endpoint: origins.block.endpoint })
}
