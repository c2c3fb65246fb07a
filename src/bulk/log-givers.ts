import type { Client, Request } from '../client/client.ts'
import { connectionsOf, deadlineOf, ONLY, type RequestMarks } from '../client/internals.ts'
import { HexlineError, IntegrityError } from '../errors.ts'
import type { Hash } from '../eth/codec/hex.ts'
import { decodeQuantity } from '../eth/codec/quantity.ts'
import type { Reply } from '../rpc/call.ts'
import { shown } from './link.ts'
import type { LogSpan } from './log-reply.ts'

/** Attempts at an endpoint: a few seconds for one that cannot be reached, or that lags. */
const ATTEMPTS = 6
/** Time for one question, in ms: the last page waits for it, also where an endpoint is silent. */
const DEADLINE_MS = 10_000

/**
 * The endpoints that gave logs which no audit proves, each with the last block of what it gave. The
 * node behind an endpoint may be replaced by one that has fewer blocks, which gives no logs for the
 * others. So each is asked at the end whether it still has what it gave. Nothing for a single
 * endpoint, which is asked for the last block anyway.
 */
export class LogGivers {
  readonly #client: Client
  readonly #last = new Map<string, number>()

  constructor(client: Client) {
    this.#client = client
  }

  /** They gave the logs of these blocks. */
  gave({ to, endpoints }: Pick<LogSpan, 'to'> & { readonly endpoints: ReadonlySet<string> }): void {
    for (const name of endpoints) this.#last.set(name, Math.max(to, this.#last.get(name) ?? to))
  }

  /**
   * Rejects with `IntegrityError` if one of them has another block `to` than this, or no longer has
   * the last block that it gave logs of. One that does not answer is passed over.
   */
  async check(to: number, hash: Hash, signal: AbortSignal): Promise<void> {
    if ((connectionsOf(this.#client)?.length ?? 0) < 2) return
    const faults = await Promise.all([...this.#last].map(([name, last]) => this.#faultOf(name, last, to, hash, signal)))
    const fault = faults.find((each) => each !== undefined)
    if (fault !== undefined) throw fault
  }

  async #faultOf(name: string, last: number, to: number, hash: Hash, signal: AbortSignal): Promise<IntegrityError | undefined> {
    let found: unknown
    try {
      // Some nodes answer with an error for a block that they do not have yet.
      found = await this.#hashOf(name, to, false, signal).catch(undefinedIfLagging)
      if (found === undefined) await this.#hashOf(name, last, true, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof HexlineError) || error.kind === 'closed') throw error
      const isMissing = isLagging(error) || (error.kind === 'pruned' && (await this.#isBelow(name, last, signal)))
      return isMissing ? new IntegrityError(`${name} gave the logs up to block ${last}, which it does not have at the end: ${OTHER_NODE}`) : undefined
    }
    if (found === undefined || found === hash) return undefined
    return new IntegrityError(`block ${to} came as ${hash}, and at the end as ${shown(found)} from ${name}, which gave logs: ${OTHER_NODE}`)
  }

  /**
   * Whether its newest block is below this one. What is old and missing counts as dropped, though
   * the node may never have had it. False if it does not answer.
   */
  async #isBelow(name: string, number: number, signal: AbortSignal): Promise<boolean> {
    try {
      return decodeQuantity((await this.#ask(name, { method: 'eth_blockNumber', params: [], signal })).take()) < number
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof HexlineError) || error.kind === 'closed') throw error
      return false
    }
  }

  /** As the endpoint has it; undefined if it does not have the block. */
  async #hashOf(name: string, number: number, required: boolean, signal: AbortSignal): Promise<unknown> {
    const params = [`0x${number.toString(16)}`, false]
    const reply = await this.#ask(name, { method: 'eth_getBlockByNumber', params, required, signal })
    return (reply.take() as { hash?: unknown } | null)?.hash
  }

  #ask(name: string, asked: Request): Promise<Reply> {
    const deadlineMs = Math.min(DEADLINE_MS, deadlineOf(this.#client))
    const request: Request & RequestMarks = { ...asked, attempts: ATTEMPTS, deadlineMs, whilePaused: 'fail', [ONLY]: name }
    return this.#client.send(request)
  }
}

function isLagging(error: unknown): boolean {
  return error instanceof HexlineError && error.kind === 'lagging'
}

function undefinedIfLagging(error: unknown): undefined {
  if (!isLagging(error)) throw error
}

const OTHER_NODE = "another node may have taken its place, so that logs are missing; start again, or add an audit: 'bloom' finds them"
