import type { Client, Request } from '../../client/client.ts'
import { AVOID, RECORD, type RequestMarks } from '../../client/internals.ts'
import { IntegrityError, OptionError } from '../../errors.ts'
import { type Hash, isHash } from '../../eth/codec/hex.ts'
import type { Log } from '../../eth/objects.ts'
import { CallRecord } from '../../rpc/call-record.ts'
import { isFinal } from '../chain.ts'
import { chainReplaced, shown } from '../link.ts'
import { type CheckedRange, resolveRange } from '../range.ts'
import { WrongReplies } from '../wrong-replies.ts'
import type { AuditLevel } from './audit.ts'
import { checkSameBlock } from './block-logs.ts'
import type { LogSpan } from './log-span.ts'

/** Which blocks a stream of logs covers. Already checked. */
export interface LogTargetOptions {
  /** Undefined for the logs of one block by its hash. */
  readonly range: CheckedRange | undefined
  readonly blockHash: Hash | undefined
  /** Hash of the last block of the range. Default: the one it has at the beginning. */
  readonly toHash?: Hash | undefined
  /** Default: `bloom` if the range is final. */
  readonly audit: AuditLevel | undefined
  readonly signal: AbortSignal | undefined
}

/** The blocks of a stream of logs. */
export interface LogTarget {
  readonly span: LogSpan
  readonly tail: Tail
  /** Where no audit was asked for, whether one is possible: no block will be replaced. */
  readonly isFinal: boolean
}

/** Resolves the range, and notes the hash of its last block. */
export async function findTarget(client: Client, options: LogTargetOptions): Promise<LogTarget> {
  const { range, blockHash, toHash } = options
  if (blockHash !== undefined) {
    const block = await client.call('eth_getBlockByHash', blockHash, false)
    if (block === null) throw new OptionError('blockHash', 'the hash of a block that the node has', blockHash)
    const number = Number(block.number)
    const tail = new Tail(client, number, blockHash, options)
    return { span: { from: number, to: number }, tail, isFinal: await mayBeAudited(client, block.number, options) }
  }
  const resolved = resolveRange(client, range as CheckedRange)
  const known = range?.to
  const look = async (number: bigint) => Promise.all([toHash ?? hashOf(client, number, options), mayBeAudited(client, number, options)])
  // Requested together with the head where it can be: whether it is there at all is found there.
  const early = typeof known === 'bigint' ? look(known) : undefined
  early?.catch(() => {})
  const { from, to } = await resolved
  const [hash, isFinal] = await (early ?? look(to))
  if (!isHash(hash)) throw new IntegrityError(`block ${to} has no hash: the node treats it as pending`)
  return { span: { from: Number(from), to: Number(to) }, tail: new Tail(client, Number(to), hash, options), isFinal }
}

/**
 * The last block of a stream of logs. While it has the hash that it had at the beginning, no block
 * before it has been replaced.
 */
export class Tail {
  readonly #client: Client
  readonly #number: number
  readonly #options: LogTargetOptions
  readonly hash: Hash

  constructor(client: Client, number: number, hash: Hash, options: LogTargetOptions) {
    this.#client = client
    this.#number = number
    this.#options = options
    this.hash = hash
  }

  /** Its hash as it is now; undefined where the block was chosen by its hash. */
  hashNow(): Promise<unknown> | undefined {
    return this.#options.blockHash === undefined ? hashOf(this.#client, BigInt(this.#number), this.#options) : undefined
  }

  /** Throws unless the chain still ends in this block, and so do the last logs of the stream. */
  async check<T>(hashNow: Promise<unknown> | undefined, items: readonly T[], logOf: (item: T) => Log): Promise<void> {
    const number = this.#number
    // If the logs are wrong already, the stream ends, and with it this request.
    hashNow?.catch(() => {})
    for (let i = items.length - 1; i >= 0; i--) {
      const log = logOf(items[i] as T)
      if (Number(log.blockNumber) !== number) break
      checkSameBlock(log, { number: BigInt(number), hash: this.hash })
    }
    if (hashNow === undefined) return
    const again = await hashNow
    if (again === this.hash) return
    throw chainReplaced(`block ${number} came as ${this.hash}, and at the end as ${shown(again)}`)
  }
}

/**
 * The hash of a block. A node that does not have the block is behind, and asked again until the
 * deadline; one that gives another block, or one without a hash, as often as for any wrong reply.
 * For a range that is known, the caller asks again itself.
 */
async function hashOf(client: Client, number: bigint, { range, signal }: LogTargetOptions): Promise<unknown> {
  const method = 'eth_getBlockByNumber'
  const wrong = new WrongReplies(client)
  for (;;) {
    const record = new CallRecord()
    const request: Request & RequestMarks = { method, params: [`0x${number.toString(16)}`, false], required: true, [RECORD]: record, [AVOID]: wrong.endpoints }
    const reply = await client.send(range?.isKnown ? request : { ...request, attempts: Number.POSITIVE_INFINITY })
    const { hash, number: given } = (reply.take() ?? {}) as { readonly hash?: unknown; readonly number?: unknown }
    const isOther = given !== undefined && Number(given) !== Number(number)
    if (isHash(hash) && !isOther) return hash
    if (!range?.isKnown && (await wrong.mayAskAgain(method, record.endpoint, signal))) continue
    if (isOther) throw new IntegrityError(`requested block ${number}, but received ${given === null ? 'a pending one' : `block ${Number(given)}`}`)
    return hash
  }
}

/** Whether this block is final. Not asked where an audit was chosen. */
async function mayBeAudited(client: Client, number: bigint, { audit, range }: LogTargetOptions): Promise<boolean> {
  if (audit !== undefined) return false
  return range?.to === 'finalized' || (await isFinal(client, number))
}
