import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorKind, HexlineError } from '../errors.ts'
import type { Call, Outcome, Post } from '../rpc/call.ts'
import { isThrottled } from '../rpc/failure-kinds.ts'
import { serverMessage } from '../rpc/server-message.ts'
import { excerpt } from '../text.ts'

/** A call to be made. */
export interface Ask {
  readonly method: string
  readonly params?: readonly unknown[]
  readonly as?: 'value' | 'bytes'
}

export interface Answer {
  readonly value: unknown
  /** Size of the result, in bytes. */
  readonly bytes: number
  /** From the start of its POST to the end of the reply, in ms. */
  readonly ms: number
}

/** No answer, with the reason. `spent`: no calls were left for this one. */
export interface Refusal {
  readonly kind: ErrorKind | 'spent'
  /** In one line, without secrets. */
  readonly why: string
  readonly error?: HexlineError
}

export type Heard = Answer | Refusal

export function isRefusal(heard: Heard): heard is Refusal {
  return 'why' in heard
}

export interface AskerOptions {
  readonly post: Post
  /** Most calls in total, counting each call of a batch. */
  readonly maxCalls: number
  /** How many of them are reserved for `burst`. */
  readonly reserved: number
  /** Longest wait for one POST, in ms. */
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
  /** After every POST. */
  readonly onPost: (calls: number) => void
}

/** After throttling: the pause, and the interval between calls from then on, in ms. */
const PAUSE = 1000
const GAP = 100
const LONGEST_GAP = 1500
/** Most time spent waiting for throttling to end, in ms. */
const PATIENCE = 20_000
/** After this many single calls in a row without a reply, no more are made. */
const LOST = 3

/**
 * Makes POSTs of exactly the calls that it is given, one after the other, and never more calls than
 * allowed. A throttled POST is repeated once, after the time that the endpoint asked for; from then
 * on, calls are spaced.
 */
export class Asker {
  calls = 0
  posts = 0
  readonly #options: AskerOptions
  #reserved: number
  #patience = PATIENCE
  #gap = 0
  #notBefore = 0
  #lost: Refusal[] = []

  constructor(options: AskerOptions) {
    this.#options = options
    this.#reserved = options.reserved
  }

  async one(method: string, params: readonly unknown[] = [], as: 'value' | 'bytes' = 'value'): Promise<Heard> {
    return (await this.batch([{ method, params, as }]))[0] as Heard
  }

  /**
   * One POST of these calls, with the result of each. Rejects only with the reason of the signal.
   */
  async batch(asks: readonly Ask[]): Promise<readonly Heard[]> {
    for (let isRepeated = false; ; isRepeated = true) {
      const lost = this.#lost[LOST - 1]
      if (lost !== undefined) return asks.map(() => lost)
      if (this.calls + this.#reserved + asks.length > this.#options.maxCalls) return asks.map(() => this.#spent())
      await this.#sleep(this.#notBefore - performance.now())
      const heard = await this.#post(asks)
      const throttled = heard.find((each) => isRefusal(each) && each.error !== undefined && isThrottled(each.error)) as Refusal | undefined
      // A batch may be cut off because of its length; only a single call shows that the endpoint is
      // gone.
      const isLost = heard.every((each) => isRefusal(each) && (each.kind === 'network' || each.kind === 'timeout'))
      if (!isLost) this.#lost = []
      else if (asks.length === 1) this.#lost.push(heard[0] as Refusal)
      if (throttled !== undefined) this.#gap = Math.min(LONGEST_GAP, Math.max(GAP, 2 * this.#gap))
      this.#notBefore = performance.now() + Math.min(LONGEST_GAP, this.#gap * asks.length)
      const wait = Math.max(PAUSE, throttled?.error?.retryAfterMs ?? 0)
      if (throttled === undefined || isRepeated || wait > this.#patience) return heard
      this.#patience -= wait
      await this.#sleep(wait)
    }
  }

  /**
   * Makes the reserved calls, `parallel` at a time, until one is throttled. Returns their results
   * and the time that they took, in ms.
   */
  async burst(ask: Ask, parallel: number): Promise<{ readonly heard: readonly Heard[]; readonly ms: number }> {
    // A second without calls, so that earlier ones do not count.
    await this.#sleep(PAUSE)
    const heard: Heard[] = []
    const begun = performance.now()
    let left = Math.min(this.#reserved, this.#options.maxCalls - this.calls)
    this.#reserved = 0
    const one = async () => {
      while (left > 0) {
        left--
        const [each] = await this.#post([ask])
        heard.push(each as Heard)
        if (isRefusal(each as Heard)) left = 0
      }
    }
    await Promise.all(Array.from({ length: parallel }, one))
    return { heard, ms: performance.now() - begun }
  }

  async #post(asks: readonly Ask[]): Promise<readonly Heard[]> {
    const { post, signal, timeoutMs, onPost } = this.#options
    signal?.throwIfAborted()
    this.calls += asks.length
    this.posts++
    const timer = AbortSignal.timeout(timeoutMs)
    const begun = performance.now()
    const calls = asks.map(({ method, params = [], as = 'value' }): Call => {
      return { method, params, as, deadline: begun + timeoutMs, attempts: 1, priority: 'interactive', required: false, safe: true, tried: [] }
    })
    let outcomes: readonly Outcome[]
    try {
      outcomes = await post(calls, signal === undefined ? timer : AbortSignal.any([signal, timer]))
    } catch (error) {
      outcomes = calls.map(() => new HexlineError(`the POST failed: ${excerpt(error instanceof Error ? error.message : String(error))}`, 'malformed'))
    }
    signal?.throwIfAborted()
    const ms = performance.now() - begun
    onPost(this.calls)
    if (timer.aborted) return asks.map(() => ({ kind: 'timeout', why: `no whole reply within ${timeoutMs} ms` }))
    return calls.map((_, i) => heardOf(outcomes[i], ms))
  }

  #spent(): Refusal {
    return { kind: 'spent', why: `the limit of ${this.#options.maxCalls} calls was used up` }
  }

  async #sleep(ms: number): Promise<void> {
    const { signal } = this.#options
    if (ms > 0) await sleep(ms, undefined, { ...(signal && { signal }) }).catch(() => {})
    signal?.throwIfAborted()
  }
}

function heardOf(outcome: Outcome | undefined, ms: number): Heard {
  if (outcome === undefined) return { kind: 'malformed', why: 'no outcome' }
  if (!(outcome instanceof Error)) return { value: outcome.take(), bytes: outcome.bytes, ms }
  return { kind: outcome.kind, why: excerpt(serverMessage(outcome)), error: outcome }
}
