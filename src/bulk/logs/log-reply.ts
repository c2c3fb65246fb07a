import type { Client, Request } from '../../client/client.ts'
import { ALONE, AVOID, clockOf, connectionsOf, ONLY, RECORD, type RequestMarks, UNREAD } from '../../client/internals.ts'
import { scrubError } from '../../client/scrub-error.ts'
import { CodecError, type HexlineError, IntegrityError, MalformedReplyError } from '../../errors.ts'
import { moved } from '../../eth/codec/codec-path.ts'
import type { Hash } from '../../eth/codec/hex.ts'
import type { Log } from '../../eth/objects.ts'
import { BodyPool } from '../../rpc/body-pool.ts'
import type { Reply } from '../../rpc/call.ts'
import { CallRecord } from '../../rpc/call-record.ts'
import { mayBeReadInParts, wasRead } from '../../rpc/post/unread.ts'
import { takeBytes, takeRelease } from '../../rpc/reply.ts'
import { PatientCalls } from '../patient-calls.ts'
import { WrongReplies } from '../wrong-replies.ts'
import { checkLogs } from './check-logs.ts'
import type { CheckedFilter, FilterParams } from './log-filter.ts'
import type { LogSpan } from './log-span.ts'
import { type ScannedLogs, scanLogs } from './scan-logs.ts'

/** A log of a block: decoded, or in another form that holds one. */
export interface LogReader<T> {
  /** The logs of an `eth_getLogs` result. Throws `SyntaxError` and `CodecError`. */
  logs(bytes: Buffer): T[]
  logOf(item: T): Log
  /** Items of `logs` refer to the bytes that they were read from. */
  readonly keepsBytes: boolean
}

/** One `eth_getLogs`. */
export interface LogQuestion {
  readonly group: FilterParams
  readonly span: LogSpan
}

/** How it is asked. */
export interface LogAskOptions {
  readonly signal: AbortSignal
  readonly urgent: boolean
  /** Endpoints to ask only if there is no other. */
  readonly avoid: readonly string[]
  /** The endpoint to ask, and no other. Default: any. */
  readonly only?: string | undefined
  /** Attempts until the call fails. Default: the client's. */
  readonly attempts?: number | undefined
  /** It shares a POST with no other call. Default: not once it has failed. */
  readonly isAlone?: boolean | undefined
  /** Its logs are decoded when it arrives, whatever it holds. */
  readonly isRead?: boolean | undefined
}

/** The reply to a question. */
export type LogReply<T> = DecodedReply<T> | HeldReply

interface ReplyFigures extends LogQuestion {
  /** Number of logs: exact for decoded ones, else as `scanLogs` finds it. */
  readonly count: number
  /** Size of the reply, and of the memory that it holds, in bytes. */
  readonly received: number
  readonly bytes: number
  readonly record: CallRecord
}

/** A reply whose logs are decoded. */
export interface DecodedReply<T> extends ReplyFigures {
  readonly type: 'decoded'
  readonly items: T[]
}

/** A reply whose logs are in the bytes that they came in. */
interface HeldReply extends ReplyFigures {
  readonly type: 'held'
  readonly held: HeldBytes
}

interface HeldBytes extends ScannedLogs {
  /** Returns the memory; undefined where others may have the bytes, too. Then there are no cuts. */
  readonly release: (() => void) | undefined
  readonly bytes: Buffer
}

/** Some logs of a reply, of these blocks. */
export interface LogPiece<T> extends LogSpan {
  readonly items: T[]
}

/** A reply that is invalid JSON, or holds anything but the logs that were requested. */
export type Unusable = SyntaxError | IntegrityError | CodecError

/** Whether a reply caused this error, so that another reply may be right. */
export function isUnusable(error: unknown): error is Unusable {
  return error instanceof SyntaxError || error instanceof IntegrityError || error instanceof CodecError
}

const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/**
 * Asks for logs, and checks that they are those that were asked for.
 *
 * A reply is kept as bytes until its logs are wanted, and then decoded piece by piece: objects that
 * wait grow old, and old ones cost the garbage collector more than all other work on them. Until
 * then the logs are counted. An endpoint is trusted with this once one of its replies could be
 * used, and no longer once one could not: its later ones are decoded at once, and asked for
 * elsewhere while others are under way. A large first reply is decoded as far as its first piece:
 * thousands of logs that live at the same time make V8 allocate all later ones among old objects.
 */
export class LogAsker<T> {
  readonly #client: Client
  readonly #bulk: Client
  readonly #urgent: Client
  readonly #filter: CheckedFilter
  readonly #reader: LogReader<T>
  /** The only block, in place of a range. */
  readonly #blockHash: Hash | undefined
  /** Whether this number of logs, from this endpoint, is decoded at once. */
  readonly #isSuspect: (endpoint: string | undefined, logs: number) => boolean
  readonly #bodies = new BodyPool()
  readonly #patient: PatientCalls
  /** Whether the endpoints' replies could be used, as far as they were read. */
  readonly #areUsable = new Map<string | undefined, boolean>()
  /** Calls of `eth_getLogs`. */
  calls = 0

  constructor(
    client: Client,
    filter: CheckedFilter,
    reader: LogReader<T>,
    isSuspect: (endpoint: string | undefined, logs: number) => boolean,
    blockHash?: Hash,
  ) {
    this.#client = client
    this.#bulk = client.with({ priority: 'bulk' })
    this.#urgent = client.with({ priority: 'interactive', attempts: Number.POSITIVE_INFINITY })
    this.#patient = PatientCalls.of(client)
    this.#filter = filter
    this.#reader = reader
    this.#blockHash = blockHash
    this.#isSuspect = isSuspect
  }

  /** One `eth_getLogs`, sent again while its reply is not one to this request. */
  async ask(question: LogQuestion, { signal, urgent, avoid, only, attempts, isAlone = false, isRead }: LogAskOptions): Promise<LogReply<T>> {
    const { group, span } = question
    const where = this.#blockHash === undefined ? { fromBlock: hexOf(span.from), toBlock: hexOf(span.to) } : { blockHash: this.#blockHash }
    const params = [{ ...group, ...where }]
    const record = new CallRecord(clockOf(this.#client))
    let wrong: WrongReplies | undefined
    for (;;) {
      const request: Request & RequestMarks = {
        method: 'eth_getLogs',
        params,
        required: true,
        as: 'bytes',
        [UNREAD]: this.#bodies,
        [RECORD]: record,
        [AVOID]: wrong === undefined ? avoid : [...avoid, ...wrong.endpoints],
        [ONLY]: only,
        [ALONE]: isAlone ? 'always' : 'once-failed',
        signal,
        ...(attempts !== undefined && { attempts }),
      }
      this.calls++
      const mayBeTooMuch = span.to > span.from
      const reply = await this.#patient.send(urgent ? this.#urgent : this.#bulk, request, { mayBeTooMuch })
      const arrived = this.#arrived(question, reply, record)
      const { endpoint } = record
      const mayWait = isRead !== true && arrived.count > 0 && !this.#isSuspect(endpoint, arrived.count)
      try {
        if (mayWait && this.#isTrusted(arrived)) return arrived
        return this.read(arrived)
      } catch (error) {
        if (!isUnusable(error)) throw error
        // Ranges that cannot be read are asked for in parts, and again: see `FailedRanges`.
        wrong ??= new WrongReplies(this.#client, error instanceof IntegrityError ? undefined : attempts && attempts - 1)
        if (!(await wrong.mayAskAgain('eth_getLogs', endpoint, signal))) throw this.#failureOf(arrived, error, wrong.count)
      }
    }
  }

  /**
   * Whether the endpoint's replies could be used, as far as they were read: of its first one that
   * has pieces, the first piece.
   */
  #isTrusted(reply: HeldReply): boolean {
    const { endpoint } = reply.record
    if (!this.#areUsable.has(endpoint) && reply.held.cuts.length > 0) {
      try {
        this.pieces(reply).next()
        this.#areUsable.set(endpoint, true)
      } catch (error) {
        // As a whole, it may be usable: some nodes send a log twice.
        if (!isUnusable(error)) throw error
      }
    }
    return this.#areUsable.get(endpoint) === true
  }

  #arrived(question: LogQuestion, reply: Reply, record: CallRecord): HeldReply {
    const bytes = takeBytes(reply)
    const { count, cuts } = scanLogs(bytes) ?? NOT_SCANNED
    const release = takeRelease(reply)
    // The bytes are changed while a piece is decoded, so nobody else may have them. What has logs
    // of later blocks is refused as a whole.
    const mayBeCut = release !== undefined && (cuts.at(-1)?.block ?? 0) <= question.span.to
    // Its memory may have room to spare.
    const room = record.post === undefined ? 1 : Math.max(1, bytes.buffer.byteLength / record.post.bytes)
    return {
      ...question,
      type: 'held',
      count,
      received: reply.bytes,
      bytes: Math.ceil(reply.bytes * room),
      record,
      held: { release, bytes, count, cuts: mayBeCut ? cuts : [] },
    }
  }

  /** The reply with its logs decoded. Throws what `isUnusable` tells. */
  read({ held, ...reply }: HeldReply): DecodedReply<T> {
    const { received, span, record } = reply
    try {
      const items = this.#read(held.bytes, span)
      this.#release(held)
      if (items.length > 0 && !this.#areUsable.has(record.endpoint)) this.#areUsable.set(record.endpoint, true)
      return { ...reply, type: 'decoded', items, count: items.length, bytes: received }
    } catch (error) {
      if (isUnusable(error)) this.#areUsable.set(record.endpoint, false)
      throw error
    }
  }

  /** The same of any reply; undefined where its logs cannot be used. */
  readIfUsable(reply: LogReply<T>): DecodedReply<T> | undefined {
    if (reply.type === 'decoded') return reply
    try {
      return this.read(reply)
    } catch (error) {
      if (!isUnusable(error)) throw error
      return undefined
    }
  }

  /**
   * The logs of a reply in pieces that tile its blocks, each decoded when it is its turn. Throws
   * what `isUnusable` tells, also where the reply holds other logs than were counted.
   */
  *pieces(reply: LogReply<T>): Generator<LogPiece<T>, void, undefined> {
    const { span, record } = reply
    if (reply.type === 'decoded') return yield { ...span, items: reply.items }
    const { bytes, count, cuts } = reply.held
    const all = mayBeReadInParts(bytes) ? cuts : []
    for (let i = 0; i <= all.length; i++) {
      const [start, end] = [all[i - 1], all[i]]
      const piece = { from: start?.block ?? span.from, to: end === undefined ? span.to : end.block - 1 }
      const expected = (end?.count ?? count) - (start?.count ?? 0)
      yield { ...piece, items: this.#piece(bytes, start?.at, end?.at, piece, expected, record) }
    }
    if (all.length > 0) wasRead(bytes)
    this.#release(reply.held)
  }

  #piece(bytes: Buffer, start: number | undefined, end: number | undefined, span: LogSpan, expected: number, { endpoint }: CallRecord): T[] {
    // The commas at both ends are the brackets of an array while it is decoded.
    if (start !== undefined) bytes[start] = OPEN_BRACKET
    if (end !== undefined) bytes[end] = CLOSE_BRACKET
    const isPart = start !== undefined || end !== undefined
    try {
      const items = this.#read(isPart ? bytes.subarray(start ?? 0, end === undefined ? bytes.length : end + 1) : bytes, span)
      if (items.length === expected) return items
      throw new IntegrityError(`blocks ${span.from} to ${span.to}: ${expected} logs were counted, and ${items.length} decoded`)
    } catch (error) {
      if (isUnusable(error)) this.#areUsable.set(endpoint, false)
      throw error
    } finally {
      // The piece may be read again, as part of the whole reply.
      if (start !== undefined) bytes[start] = COMMA
      if (end !== undefined) bytes[end] = COMMA
    }
  }

  #read(bytes: Buffer, span: LogSpan): T[] {
    return checkLogs(this.#reader.logs(bytes), span, this.#filter, this.#reader.logOf)
  }

  #release({ release }: HeldBytes): void {
    if (!this.#reader.keepsBytes) release?.()
  }

  /** The error of a job after this many unusable replies to one question. */
  #failureOf({ span: { from, to }, record }: LogReply<T>, error: Unusable, replies: number): HexlineError {
    const { endpoint } = record
    if (error instanceof SyntaxError) return new MalformedReplyError(`logs of blocks ${from} to ${to}: received invalid JSON ${replies} times`, { endpoint })
    const connections = connectionsOf(this.#client)
    if (error instanceof IntegrityError) return scrubError(Object.assign(error, { endpoint }), connections) as HexlineError
    const path = `logs${error.path === '' || error.path.startsWith('[') ? '' : '.'}${error.path}`
    return scrubError(moved(error, path, { method: 'eth_getLogs', kind: 'malformed' }), connections, record) as HexlineError
  }
}

const NOT_SCANNED: ScannedLogs = { count: 0, cuts: [] }

/** A reply that is put together of logs that are decoded, and came in this many bytes. */
export function replyWith<T>({ group, span }: LogQuestion, items: T[], received: number): DecodedReply<T> {
  return { type: 'decoded', group, span, items, count: items.length, received, bytes: received, record: new CallRecord() }
}

function hexOf(number: number): string {
  return `0x${number.toString(16)}`
}
