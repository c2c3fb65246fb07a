import type { HexlineError } from '../../errors.ts'
import { Cusum } from './cusum.ts'

/**
 * The part of the POSTs that a busy endpoint refuses, and the least that it refuses where its rate
 * limit is the reason.
 */
const WHERE_BUSY = 0.05
const BY_RATE = 0.2
/** How much likelier the rate must be as the reason, as a natural logarithm: 90 times. */
const LIKELIER = 4.5
/** The score goes no higher, so that a long outage is forgotten after some 30 answered POSTs. */
const MOST = 10

/**
 * Refusals by an endpoint that says it is busy (HTTP 503). Some say so of their rate limit. But one
 * that calls its rate limit by name (HTTP 429, or an error code) means something else: a node
 * behind it restarts, or has too much to do. No rate is low enough for that. Only where many POSTs
 * are refused, there is a second limit after all.
 */
export class BusyRefusals {
  /** It has called its rate limit by name. */
  #namesLimit = false
  readonly #test = new Cusum()

  /** A POST was answered, and nothing in it was throttled. */
  answered(): void {
    if (this.#namesLimit) this.#test.add(0, WHERE_BUSY, BY_RATE)
  }

  /** Of a POST, this part of its calls was throttled. */
  throttled({ kind }: HexlineError, part: number): void {
    if (kind === 'rate-limit') this.#namesLimit = true
    else if (this.#namesLimit && this.#test.score < MOST) this.#test.add(part, WHERE_BUSY, BY_RATE)
  }

  /** The rate is not the reason of this failure. */
  explain({ kind }: HexlineError): boolean {
    return kind === 'overloaded' && this.#namesLimit && this.#test.score < LIKELIER
  }
}
