import type { Client, Request } from '../../client/client.ts'
import { ONLY, type RequestMarks } from '../../client/internals.ts'
import { HexlineError } from '../../errors.ts'
import { decodeQuantity } from '../../eth/codec/quantity.ts'
import type { LogSpan } from './log-span.ts'

/** Attempts to learn the newest block of the endpoint. */
const ATTEMPTS = 4
/** Most spans in a row that an endpoint which does not answer is not asked for. */
const MOST_PASSED = 64

/** An endpoint, as far as it was asked. */
interface Known {
  /** The newest block that it has, or -1. */
  head: number
  /** Spans that it is not asked for, since it did not answer; and how many the next time. */
  passes: number
  nextPasses: number
}

/**
 * Asks a given endpoint for what another one has given already, as far as it has these blocks. It
 * may have dropped the old ones, not have the newest ones yet, or be out: nobody waits for it then
 * again and again.
 */
export class SecondEndpoint {
  readonly #client: Client
  readonly #known = new Map<string, Known>()

  constructor(client: Client) {
    this.#client = client
  }

  /**
   * What `fetch` gives of this span, or of the part that the endpoint has; undefined if it has
   * none, or does not answer. `fetch` asks this endpoint only.
   */
  async ask<V>(name: string, { from, to }: LogSpan, signal: AbortSignal, fetch: (span: LogSpan) => Promise<V>): Promise<V | undefined> {
    const known = this.#of(name)
    if (known.passes > 0) {
      known.passes--
      return undefined
    }
    try {
      // Where it does not say that it lags, what it lacks would be taken for proven to be empty.
      if (known.head < to) known.head = await this.#headOf(name, signal)
      const last = Math.min(to, known.head)
      const found = from > last ? undefined : await newest({ from, to: last }, fetch)
      known.nextPasses = 1
      return found
    } catch (error) {
      if (!(error instanceof HexlineError) || error.kind === 'closed') throw error
      signal.throwIfAborted()
      known.passes = known.nextPasses
      known.nextPasses = Math.min(MOST_PASSED, known.nextPasses * 2)
      return undefined
    }
  }

  async #headOf(name: string, signal: AbortSignal): Promise<number> {
    const request: Request & RequestMarks = { method: 'eth_blockNumber', params: [], signal, attempts: ATTEMPTS, [ONLY]: name }
    return Number(decodeQuantity((await this.#client.send(request)).take()))
  }

  #of(name: string): Known {
    let known = this.#known.get(name)
    if (known === undefined) {
      known = { head: -1, passes: 0, nextPasses: 1 }
      this.#known.set(name, known)
    }
    return known
  }
}

/** The span, or its last blocks if the endpoint has dropped the first ones. */
async function newest<V>({ from, to }: LogSpan, fetch: (span: LogSpan) => Promise<V>): Promise<V | undefined> {
  let found: V | undefined
  // The first block that it has lies between the two, or is `has`. All blocks are tried first, then
  // the last one: mostly, it has all or none.
  let [lacks, has] = [from - 1, to + 1]
  for (let next = from; next < has; next = has > to && lacks < to ? to : Math.ceil((lacks + has) / 2)) {
    try {
      found = await fetch({ from: next, to })
      has = next
    } catch (error) {
      if (!(error instanceof HexlineError) || error.kind !== 'pruned') throw error
      lacks = next
    }
  }
  return found
}
