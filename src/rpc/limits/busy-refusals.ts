import type { HexlineError } from '../../errors.ts'
import { Cusum } from './cusum.ts'

/**
 * The part of the POSTs that a busy endpoint may refuse, and the least that it refuses where the
 * rate is the reason and goes on growing.
 */
const WHERE_BUSY = 0.2
const BY_RATE = 0.5
/** How much likelier the rate must be as the reason, as a natural logarithm: 400 times. */
const LIKELIER = 6
/**
 * Once it is, it stays the reason for this many POSTs that are answered: as soon as the rate is
 * right, few POSTs are refused, and the test would take them for a busy endpoint's.
 */
const ASSUMED = 600

/**
 * Refusals by an endpoint that says it is busy (HTTP 503). Some say so of their rate limit. But one
 * that calls its rate limit by name (HTTP 429, or an error code) means something else: a node
 * behind it restarts, or has too much to do. No rate is low enough for that. Only where many POSTs
 * are refused, or where it says when to come back, there is a second limit after all.
 */
export class BusyRefusals {
  /** It has called its rate limit by name. */
  #namesLimit = false
  readonly #test = new Cusum()
  /** POSTs that are still to be answered while the rate is taken for the reason. */
  #assumed = 0

  /** A POST was answered, and nothing in it was throttled. */
  answered(): void {
    if (this.#assumed > 0) this.#assumed--
    else if (this.#namesLimit) this.#test.add(0, WHERE_BUSY, BY_RATE)
  }

  /** Of a POST, this part of its calls was throttled. */
  throttled({ kind }: HexlineError, part: number): void {
    if (kind === 'rate-limit') this.#namesLimit = true
    else if (this.#namesLimit && this.#assumed === 0) this.#test.add(part, WHERE_BUSY, BY_RATE)
    if (this.#test.score < LIKELIER) return
    this.#test.clear()
    this.#assumed = ASSUMED
  }

  /** The rate is not the reason of this failure. */
  explain({ kind, retryAfterMs = 0 }: HexlineError): boolean {
    return kind === 'overloaded' && retryAfterMs === 0 && this.#namesLimit && this.#assumed === 0
  }
}
