import type { Client } from '../client/client.ts'
import { backoffOf, clockOf, connectionsOf, deadlineOf, napOf } from '../client/internals.ts'

/** Waits before a question is given up: with the default of `retry`, 2.25 s in all. */
const MOST_WAITS = 4

/**
 * The wrong replies to one question, and when to ask it again: at once while there is an endpoint
 * that was not asked, and once more after that; then after the waits of the client's `retry`. Nodes
 * behind one URL may differ for some seconds, and one that has just started, or just received a
 * block, may not have all of it yet.
 */
export class WrongReplies {
  readonly #client: Client
  readonly #mostWaits: number
  readonly #endpoints = new Set<string>()
  #count = 0
  /** Times that all endpoints had been asked. */
  #rounds = 0
  /** When it is no longer asked, on the client's clock. */
  #deadline: number | undefined

  constructor(client: Client, mostWaits = MOST_WAITS) {
    this.#client = client
    this.#mostWaits = Math.min(MOST_WAITS, mostWaits)
  }

  get count(): number {
    return this.#count
  }

  /** The endpoints that gave them, which are to be asked again only if there is no other. */
  get endpoints(): readonly string[] {
    return [...this.#endpoints]
  }

  /**
   * Adds a reply, and waits until the question, a call of `method`, may be asked again. False if it
   * was asked often enough.
   */
  async mayAskAgain(method: string, endpoint: string | undefined, signal: AbortSignal | undefined): Promise<boolean> {
    this.#count++
    const isOfAnother = endpoint !== undefined && !this.#endpoints.has(endpoint)
    if (isOfAnother) this.#endpoints.add(endpoint)
    const all = connectionsOf(this.#client)?.length ?? 1
    if (isOfAnother && this.#endpoints.size < all) return true
    const waits = this.#rounds++
    if (waits === 0) return true
    const { baseDelayMs, maxDelayMs } = backoffOf(this.#client)
    const now = clockOf(this.#client).now()
    const next = now + Math.min(maxDelayMs, baseDelayMs * 2 ** (waits - 1))
    this.#deadline ??= now + deadlineOf(this.#client)
    if (waits > this.#mostWaits || next >= this.#deadline) return false
    await napOf(this.#client)(method, next, signal).over
    return true
  }
}
