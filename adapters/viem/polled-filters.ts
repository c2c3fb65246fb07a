import { numberToHex } from 'viem'
import type { Client as HexlineClient } from '../../src/client/client.ts'
import { RpcError } from '../../src/errors.ts'
import { LogBackfill, type RawFilter } from './log-backfill.ts'

/** Sends a call, and gives its result. */
export type Ask = (method: string, params: readonly unknown[]) => Promise<unknown>

/** Most filters that are known: beyond, the oldest is polled as the node has it. */
const MOST = 10_000
/**
 * Polls that fetch what may be missing, after a filter was lost. The first may have been answered
 * by a node that lags behind the one with the new filter.
 */
const FILLS = 2

/**
 * Log filters that outlive the node's, for viem's watch actions without a subscription. A node
 * drops a filter after minutes without a poll, or when it restarts. Another node behind the same
 * URL has never heard of it. And the logs in a reply that is lost are gone. In all these cases, the
 * logs since the last poll are fetched, and none is delivered twice.
 */
export class PolledFilters {
  readonly #client: HexlineClient
  readonly #filters = new Map<unknown, PolledFilter>()

  constructor(client: HexlineClient) {
    this.#client = client
  }

  /** Whether calls of this method are to be sent by `send`. */
  static areOf(method: string): boolean {
    return /^eth_(?:newFilter|getFilterChanges|getFilterLogs|uninstallFilter)$/.test(method)
  }

  async send(method: string, params: readonly unknown[], ask: Ask): Promise<unknown> {
    if (method === 'eth_newFilter') return this.#make(params, ask)
    const [id] = params
    const filter = this.#filters.get(id)
    if (filter === undefined) return ask(method, params)
    if (method === 'eth_getFilterChanges') return filter.changes(ask, () => this.#install(filter, ask))
    if (method === 'eth_uninstallFilter') {
      this.#filters.delete(id)
      filter.stop()
    }
    return ask(method, [filter.id])
  }

  /** The id for the caller is the node's, unless that is taken. */
  async #make(params: readonly unknown[], ask: Ask): Promise<unknown> {
    const [given] = params
    if (!isOpen(given)) return ask('eth_newFilter', params)
    const filter = new PolledFilter(this.#client, given)
    const head = await this.#install(filter, ask)
    // Where it is not known from which block on, nothing that is missing can be fetched.
    if (head === undefined) return filter.id
    filter.startAfter(head)
    const id = this.#filters.has(filter.id) ? numberToHex(crypto.getRandomValues(new BigUint64Array(1))[0] as bigint) : filter.id
    this.#filters.set(id, filter)
    if (this.#filters.size > MOST) this.#filters.delete(this.#filters.keys().next().value)
    return id
  }

  /**
   * Gives the newest block before the filter. Both calls are in one POST, which one node answers:
   * of several behind one URL, each has a head of its own.
   */
  async #install(filter: PolledFilter, ask: Ask): Promise<bigint | undefined> {
    const [id, head] = await Promise.all([ask('eth_newFilter', [filter.filter]), ask('eth_blockNumber', []).catch(() => undefined)])
    // A node that has restarted may give an id again.
    for (const each of this.#filters.values()) if (each !== filter && each.id === id) each.isLost = true
    filter.id = id
    return isNumber(head) ? BigInt(head) : undefined
  }
}

/** A filter that ends at no block, as viem's watch actions make it. */
interface OpenFilter extends RawFilter {
  readonly fromBlock?: unknown
}

class PolledFilter {
  readonly filter: OpenFilter
  /** The node's. */
  id: unknown
  /** The node no longer has it. */
  isLost = false
  readonly #backfill: LogBackfill
  /** Logs for the next poll. */
  readonly #logs: unknown[] = []
  #fillsLeft = 0
  /** Why the last fill has failed. */
  #failure: unknown

  constructor(client: HexlineClient, filter: OpenFilter) {
    this.filter = filter
    this.#backfill = new LogBackfill(
      client,
      filter,
      (log) => this.#logs.push(log),
      (error) => {
        this.#failure = error
      },
    )
  }

  startAfter(head: bigint): void {
    const { fromBlock } = this.filter
    const first = isNumber(fromBlock) ? BigInt(fromBlock) : 0n
    this.#backfill.startAt(first > head ? first : head + 1n)
  }

  /** The logs since the last poll. Rejects while what may be missing cannot be fetched. */
  async changes(ask: Ask, install: () => Promise<bigint | undefined>): Promise<unknown[]> {
    this.#failure = undefined
    // Begins before the poll, whose logs come after what is missing.
    let filling = this.#fillsLeft > 0 ? this.#backfill.fill() : undefined
    if (!this.isLost) await this.#poll(ask)
    if (this.isLost) {
      const head = await install()
      this.isLost = false
      this.#fillsLeft = FILLS
      // The new filter has no logs of the blocks up to that one.
      filling = this.#backfill.fill(head)
    }
    if (filling !== undefined) {
      await filling
      if (this.#failure !== undefined) throw this.#failure
      this.#fillsLeft--
    }
    return this.#logs.splice(0)
  }

  stop(): void {
    this.#backfill.stop()
  }

  async #poll(ask: Ask): Promise<void> {
    try {
      const logs = await ask('eth_getFilterChanges', [this.id])
      if (Array.isArray(logs)) for (const log of logs) this.#backfill.notified(log)
    } catch (error) {
      // The node may have sent logs that never came.
      this.#fillsLeft = FILLS
      if (!isGone(error)) throw error
      this.isLost = true
    }
  }
}

function isOpen(filter: unknown): filter is OpenFilter {
  if (typeof filter !== 'object' || filter === null) return false
  const { fromBlock, toBlock, blockHash } = filter as { fromBlock?: unknown; toBlock?: unknown; blockHash?: unknown }
  return blockHash === undefined && isNewest(toBlock) && (isNewest(fromBlock) || isNumber(fromBlock))
}

function isNewest(block: unknown): boolean {
  return block === undefined || block === null || block === 'latest'
}

function isNumber(block: unknown): block is string {
  return typeof block === 'string' && /^0x[0-9a-f]+$/i.test(block)
}

/** Such as "filter not found" or "filter with id: 0x1 does not exist". */
function isGone(error: unknown): boolean {
  return error instanceof RpcError && /filter/i.test(error.message)
}
