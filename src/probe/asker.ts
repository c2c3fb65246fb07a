import { setTimeout as sleep } from 'node:timers/promises'
import { type ErrorKind, HexlineError } from '../errors.ts'
import { type Outcome, ownRead, type Post } from '../rpc/call.ts'
import { CallFailure } from '../rpc/call-failure.ts'
import { isThrottled } from '../rpc/failure-kinds.ts'
import { type Repeatable, repeat } from '../rpc/retry.ts'
import { serverMessage } from '../rpc/server-message.ts'
import { excerpt } from '../text.ts'
import { systemClock } from '../wait/clock.ts'

/** A call to be made. */
export interface Ask {
  readonly method: string
  readonly params?: readonly unknown[]
  readonly as?: 'value' | 'bytes'
}

interface Answer {
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
/**
 * After this many single calls of a method in a row without a reply, it is not called again; after
 * as many of any methods, the endpoint is asked whether it is still there.
 */
const LOST = 3
const ARE_YOU_THERE: Ask = { method: 'eth_chainId' }

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
  /** Single calls in a row without a reply: of each method, and of all of them. */
  readonly #lostOf = new Map<string, number>()
  #lost = 0
  #isGone = false

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
  batch(asks: readonly Ask[]): Promise<readonly Heard[]> {
    let heard: readonly Heard[] = []
    let isRepeated = false
    const attempt = async () => {
      heard = await this.#attempt(asks)
      const error = throttlingIn(heard)
      if (error !== undefined) throw new CallFailure(error, 1, error.endpoint)
      return heard
    }
    const task: Repeatable<readonly Heard[]> = {
      method: 'probe',
      signal: this.#options.signal,
      deadline: Number.POSITIVE_INFINITY,
      attempts: Number.POSITIVE_INFINITY,
      mayRepeat: ({ error }) => !isRepeated && pauseAfter(error) <= this.#patience,
      again: ({ error }) => {
        isRepeated = true
        this.#patience -= pauseAfter(error)
        return attempt()
      },
      giveUp: () => heard,
    }
    const waiting = { clock: systemClock, sleep: (_: unknown, until: number) => this.#sleep(until - systemClock.now()) }
    return attempt().catch((reason) => repeat(reason, task, (error, _, now) => now + pauseAfter(error), waiting))
  }

  /** One POST of identical calls. If they are more than `maxCalls`, no array is made. */
  async same(ask: Ask, calls: number): Promise<readonly Heard[]> {
    return calls > this.#options.maxCalls ? [this.#spent()] : this.batch(Array.from({ length: calls }, () => ask))
  }

  /** The calls of `batch`, once. Notes what it means for the calls after it. */
  async #attempt(asks: readonly Ask[]): Promise<readonly Heard[]> {
    const isAsking = this.#lost >= LOST
    if (this.calls + this.#reserved + asks.length + (isAsking ? 1 : 0) > this.#options.maxCalls) return asks.map(() => this.#spent())
    if (isAsking) {
      this.#isGone = areLost(await this.#post([ARE_YOU_THERE]))
      this.#lost = 0
    }
    const [{ method }] = asks as [Ask]
    const lostOf = this.#lostOf.get(method) ?? 0
    if (this.#isGone || lostOf >= LOST) return asks.map(() => unasked(this.#isGone ? 'the endpoint' : `\`${method}\``))
    await this.#sleep(this.#notBefore - systemClock.now())
    const heard = await this.#post(asks)
    // A batch may be cut for its length; only a single call shows that nothing is there.
    if (!areLost(heard)) {
      this.#lost = 0
      this.#lostOf.delete(method)
    } else if (asks.length === 1) {
      this.#lost++
      this.#lostOf.set(method, lostOf + 1)
    }
    if (throttlingIn(heard) !== undefined) this.#gap = Math.min(LONGEST_GAP, Math.max(GAP, 2 * this.#gap))
    this.#notBefore = systemClock.now() + Math.min(LONGEST_GAP, this.#gap * asks.length)
    return heard
  }

  /**
   * Makes the reserved calls, `parallel` at a time, until one is throttled. Returns their results
   * and the time that they took, in ms.
   */
  async burst(ask: Ask, parallel: number): Promise<{ readonly heard: readonly Heard[]; readonly ms: number }> {
    // A second without calls, so that earlier ones do not count.
    await this.#sleep(PAUSE)
    const heard: Heard[] = []
    const begun = systemClock.now()
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
    return { heard, ms: systemClock.now() - begun }
  }

  async #post(asks: readonly Ask[]): Promise<readonly Heard[]> {
    const { post, signal, timeoutMs, onPost } = this.#options
    signal?.throwIfAborted()
    this.calls += asks.length
    this.posts++
    const timer = AbortSignal.timeout(timeoutMs)
    const begun = systemClock.now()
    const calls = asks.map(({ method, params = [], as = 'value' }) => ownRead({ method, params, as, deadline: begun + timeoutMs }))
    let outcomes: readonly Outcome[]
    try {
      outcomes = await post(calls, signal === undefined ? timer : AbortSignal.any([signal, timer]))
    } catch (error) {
      outcomes = calls.map(() => new HexlineError(`the POST failed: ${excerpt(error instanceof Error ? error.message : String(error))}`, 'malformed'))
    }
    signal?.throwIfAborted()
    const ms = systemClock.now() - begun
    onPost(this.calls)
    if (timer.aborted) return asks.map(() => ({ kind: 'timeout', why: `no whole reply within ${timeoutMs} ms` }))
    return calls.map((_, i) => heardOf(outcomes[i], ms))
  }

  #spent(): Refusal {
    return { kind: 'spent', why: `it would exceed the limit of ${this.#options.maxCalls} calls` }
  }

  async #sleep(ms: number): Promise<void> {
    const { signal } = this.#options
    if (ms > 0) await sleep(ms, undefined, { ...(signal && { signal }) }).catch(() => {})
    signal?.throwIfAborted()
  }
}

function areLost(heard: readonly Heard[]): boolean {
  return heard.every((each) => isRefusal(each) && (each.kind === 'network' || each.kind === 'timeout'))
}

function unasked(what: string): Refusal {
  return { kind: 'timeout', why: `not asked: ${what} did not answer ${LOST} calls in a row` }
}

function throttlingIn(heard: readonly Heard[]): HexlineError | undefined {
  for (const each of heard) if (isRefusal(each) && each.error !== undefined && isThrottled(each.error)) return each.error
  return undefined
}

/** How long the endpoint is left alone after it has throttled, in ms. */
function pauseAfter({ retryAfterMs = 0 }: HexlineError): number {
  return Math.max(PAUSE, retryAfterMs)
}

function heardOf(outcome: Outcome | undefined, ms: number): Heard {
  if (outcome === undefined) return { kind: 'malformed', why: 'no outcome' }
  if (!(outcome instanceof Error)) return { value: outcome.take(), bytes: outcome.bytes, ms }
  return { kind: outcome.kind, why: excerpt(serverMessage(outcome)), error: outcome }
}
