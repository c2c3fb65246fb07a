import type { Client as HexlineClient } from '../../../src/client/client.ts'
import { clockOf, napOf, timeoutOf } from '../../../src/client/internals.ts'
import { RpcError, TimeoutError } from '../../../src/errors.ts'
import { isFilterGone } from '../../filter-gone.ts'
import { LogBackfill } from './log-backfill.ts'
import type { RawFilter } from './synced-logs.ts'

/** Sends a call, and gives its result. */
export type Ask = (method: string, params: readonly unknown[]) => Promise<unknown>

/** How long the caller of a poll waits. Default: the timeout of the client. */
export interface Limits {
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Most filters that are known: beyond, the one that was not polled for longest is left to the node.
 */
const MOST = 10_000

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

  /** Whether `send` is for calls of this method. */
  static takes(method: string): boolean {
    return /^eth_(?:newFilter|getFilterChanges|getFilterLogs|uninstallFilter)$/.test(method)
  }

  async send(method: string, params: readonly unknown[], ask: Ask, limits: Limits = {}): Promise<unknown> {
    if (method === 'eth_newFilter') return this.#make(params, ask)
    const [id] = params
    const filter = this.#filters.get(id)
    if (filter === undefined) return ask(method, params)
    this.#filters.delete(id)
    if (method === 'eth_uninstallFilter') {
      filter.stop()
      // The node drops what is not polled by itself. viem would poll for ever after an error.
      return ask(method, [filter.id]).catch(() => true)
    }
    // The one that was polled last is forgotten last.
    this.#filters.set(id, filter)
    if (method !== 'eth_getFilterChanges') return ask(method, [filter.id])
    const install = async () => {
      await this.#install(filter, ask)
      return headOf(ask)
    }
    return filter.changes(ask, install, limits).catch((error: unknown) => {
      throw keepsFilter(error)
    })
  }

  /** The id for the caller is the node's, unless that is taken. */
  async #make(params: readonly unknown[], ask: Ask): Promise<unknown> {
    const [given] = params
    if (!isOpen(given)) return ask('eth_newFilter', params)
    const filter = new PolledFilter(this.#client, given)
    // Before the filter: its first reply may be lost.
    const head = await headOf(ask)
    await this.#install(filter, ask)
    // Where it is not known from which block on, nothing that is missing can be fetched.
    if (head === undefined) return filter.id
    filter.startAfter(head)
    const id = this.#filters.has(filter.id) ? `0x${crypto.randomUUID().replaceAll('-', '')}` : filter.id
    this.#filters.set(id, filter)
    if (this.#filters.size > MOST) this.#filters.delete(this.#filters.keys().next().value)
    return id
  }

  async #install(filter: PolledFilter, ask: Ask): Promise<void> {
    const id = await ask('eth_newFilter', [filter.filter])
    // A node that has restarted may give an id again.
    for (const each of this.#filters.values()) if (each !== filter && each.id === id) each.isLost = true
    filter.id = id
  }
}

async function headOf(ask: Ask): Promise<bigint | undefined> {
  const head = await ask('eth_blockNumber', []).catch(() => undefined)
  return isNumber(head) ? BigInt(head) : undefined
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
  readonly #client: HexlineClient
  readonly #backfill: LogBackfill
  /** Logs for the next poll. */
  readonly #logs: unknown[] = []
  #isStopped = false
  /** Why the last fill has failed. */
  #failure: unknown

  constructor(client: HexlineClient, filter: OpenFilter) {
    this.#client = client
    this.filter = filter
    this.#backfill = new LogBackfill(
      client,
      filter,
      (log) => this.#logs.push(log),
      (error) => {
        this.#failure = error
      },
      'owner',
    )
  }

  startAfter(head: bigint): void {
    const { fromBlock } = this.filter
    const first = isNumber(fromBlock) ? BigInt(fromBlock) : 0n
    this.#backfill.startAt(Number(first > head ? first : head + 1n))
  }

  /** The logs since the last poll. Rejects while what may be missing cannot be fetched. */
  async changes(ask: Ask, install: () => Promise<bigint | undefined>, limits: Limits): Promise<unknown[]> {
    this.#failure = undefined
    // Begins before the poll, whose logs come after what is missing.
    let filling = this.#backfill.isSettled ? undefined : this.#backfill.refill()
    const polled = this.isLost ? [] : await this.#poll(ask)
    if (this.isLost) {
      const head = await install()
      if (this.#isStopped) {
        await ask('eth_uninstallFilter', [this.id]).catch(() => {})
        return []
      }
      this.isLost = false
      // The new filter has no logs of the blocks up to that one.
      filling = this.#backfill.fill(head === undefined ? 0 : Number(head))
    }
    if (filling !== undefined) {
      await within(limits, filling, this.#client)
      if (this.#failure !== undefined) {
        // What has come, and what comes from now on, is delivered.
        if (this.#cannotFill) {
          this.#backfill.giveUp()
          for (const log of polled) this.#backfill.notified(log)
        }
        throw this.#failure
      }
    }
    return this.#logs.splice(0)
  }

  stop(): void {
    this.#isStopped = true
    this.#backfill.stop()
  }

  /** The last fill has failed because the node has no `eth_getLogs`. */
  get #cannotFill(): boolean {
    return this.#failure instanceof RpcError && this.#failure.kind === 'unsupported'
  }

  /** Gives the logs of the reply, which are also delivered, unless a fill fetches them. */
  async #poll(ask: Ask): Promise<readonly unknown[]> {
    try {
      const logs = await ask('eth_getFilterChanges', [this.id])
      // Another filter has the id at this node.
      if (!Array.isArray(logs)) return []
      if (logs.some((log) => !isOf(this.filter, log))) {
        this.isLost = true
        return []
      }
      // After a failed fill, the next one fetches these logs, too. If they were delivered now, the
      // missing ones before them would count as delivered.
      if (this.#failure === undefined || this.#cannotFill) for (const log of logs) this.#backfill.notified(log)
      return logs
    } catch (error) {
      // The node may have sent logs that never came.
      this.#backfill.missed()
      if (!isGone(error)) throw error
      this.isLost = true
      return []
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

/** At code -32000, viem would make another filter, without what this one still has to deliver. */
function keepsFilter(error: unknown): unknown {
  if (!(error instanceof RpcError) || error.code !== -32000) return error
  const { said, method, endpoint, kind } = error
  return new RpcError({ code: -32603, message: said }, { method, endpoint, kind, cause: error })
}

function isGone(error: unknown): boolean {
  return error instanceof RpcError && isFilterGone(error)
}

function isOf({ address, topics }: OpenFilter, log: { readonly address?: unknown; readonly topics?: readonly unknown[] } | null): boolean {
  const is = (wanted: unknown, has: unknown) => [wanted].flat().some((each) => String(each).toLowerCase() === String(has).toLowerCase())
  if (address !== undefined && address !== null && [address].flat().length > 0 && !is(address, log?.address)) return false
  return (topics ?? []).every(
    (wanted, i) => wanted === null || wanted === undefined || (Array.isArray(wanted) && wanted.length === 0) || is(wanted, log?.topics?.[i]),
  )
}

/**
 * Rejects when the caller does not wait any longer. The fill goes on: the next poll has its logs.
 */
async function within({ timeoutMs, signal }: Limits, filling: Promise<void>, client: HexlineClient): Promise<void> {
  const nap = napOf(client)('eth_getFilterChanges', clockOf(client).now() + (timeoutMs ?? timeoutOf(client)), signal)
  const late = nap.over.then(() => {
    throw new TimeoutError('logs that were missed are still being fetched')
  })
  await Promise.race([filling, late]).finally(() => nap.wake())
}
