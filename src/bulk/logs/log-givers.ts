import type { Client, Request } from '../../client/client.ts'
import { clockOf, connectionsOf, deadlineOf, napOf, ONLY, type RequestMarks } from '../../client/internals.ts'
import { HexlineError, IntegrityError } from '../../errors.ts'
import type { Hash } from '../../eth/codec/hex.ts'
import { decodeQuantity } from '../../eth/codec/quantity.ts'
import { shown } from '../link.ts'
import type { LogSpan } from './log-span.ts'

/** A block, as far as it matters here, and as the node sent it. */
interface HashedBlock {
  readonly number?: unknown
  readonly hash?: unknown
}

/** Attempts at an endpoint that cannot be reached. */
const ATTEMPTS = 4
/** How long the last page waits for an endpoint that is silent, or behind, in ms. */
const WAIT_MS = 10_000
/** How often one that is behind is asked for its newest block, in ms. */
const LOOK_EVERY_MS = 500

/**
 * The endpoints that gave logs that no header proves, each with the last block of what it gave. The
 * node behind an endpoint may be replaced by one that has fewer blocks, which gives no logs for the
 * others. So each is asked at the end whether it still has what it gave. A single endpoint is not:
 * it is asked for the last block anyway.
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
    const [head, found] = await Promise.all([this.#headOf(name, last, signal), this.#hashOf(name, to, signal)])
    if (head !== undefined && head < last)
      return new IntegrityError(`${name} gave the logs up to block ${last}, and is at block ${head} at the end: ${OTHER_NODE}`)
    if (found === undefined || found === hash) return undefined
    return new IntegrityError(`block ${to} came as ${hash}, and at the end as ${shown(found)} from ${name}, which gave logs: ${OTHER_NODE}`)
  }

  /**
   * Its newest block, as it told last; undefined if it never answers. One that is below `least`
   * gets some time: it may be one of several nodes behind one URL, the others of which have the
   * block.
   */
  async #headOf(name: string, least: number, signal: AbortSignal): Promise<number | undefined> {
    const clock = clockOf(this.#client)
    const until = clock.now() + this.#waitMs
    for (let told: number | undefined; ; ) {
      const head = await this.#ask(name, 'eth_blockNumber', [], (result) => Number(decodeQuantity(result)), signal, until)
      told = head ?? told
      if (head === undefined || head >= least || clock.now() >= until) return told
      await napOf(this.#client)('eth_blockNumber', clock.now() + LOOK_EVERY_MS, signal).over
    }
  }

  /**
   * A block's hash, as the endpoint has it; undefined without the block, or without an answer. One
   * that gives another block is asked again.
   */
  async #hashOf(name: string, number: number, signal: AbortSignal): Promise<unknown> {
    const clock = clockOf(this.#client)
    const until = clock.now() + this.#waitMs
    const params = [`0x${number.toString(16)}`, false]
    for (let other: unknown; ; ) {
      const block = await this.#ask(name, 'eth_getBlockByNumber', params, (result) => (result ?? {}) as HashedBlock, signal, until)
      if (block?.number === undefined) return block?.hash ?? other
      if (Number(block.number) === number) return block.hash
      other = block.hash
      if (clock.now() >= until) return other
      await napOf(this.#client)('eth_getBlockByNumber', clock.now() + LOOK_EVERY_MS, signal).over
    }
  }

  /** What `read` makes of its answer; undefined without one. */
  async #ask<V>(
    name: string,
    method: string,
    params: readonly unknown[],
    read: (result: unknown) => V,
    signal: AbortSignal,
    until: number,
  ): Promise<V | undefined> {
    const deadlineMs = Math.max(1, until - clockOf(this.#client).now())
    const request: Request & RequestMarks = { method, params, signal, attempts: ATTEMPTS, deadlineMs, [ONLY]: name }
    try {
      return read((await this.#client.send(request)).take())
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof HexlineError) || error.kind === 'closed') throw error
      return undefined
    }
  }

  get #waitMs(): number {
    return Math.min(WAIT_MS, deadlineOf(this.#client))
  }
}

const OTHER_NODE = "another node may have taken its place, so that logs are missing; start again, or add an audit: 'bloom' finds them"
