import { ClosedError, TimeoutError } from '../errors.ts'
import { messagePrefix } from '../text.ts'
import { type Alarm, Alarms } from './alarms.ts'
import type { Clock } from './clock.ts'
import { append, type Listed, Listeners, remove } from './listeners.ts'
import { TurnClock } from './turn-clock.ts'

/**
 * What a wait belongs to: its caller's signal, the time at which the caller stops waiting, and the
 * method's name for errors.
 */
export interface Waiter {
  readonly signal?: AbortSignal | undefined
  /** On the clock. */
  readonly deadline: number
  readonly method: string
}

/**
 * Anything that waits: a call in line or in flight, a hedged read, a back-off. From `hold` to
 * `release`, the registry ends it when its signal is aborted, its deadline passes or the client is
 * closed.
 */
export interface Wait extends Alarm, Listed {
  readonly call: Waiter
  /** Ends the waiting with the reason. The wait has been released by then. */
  cancel(reason: unknown): void
}

/** A sleep that can be ended early. Waking it costs less than aborting a signal. */
export interface Nap {
  /** Resolves at its time, or when it is woken. */
  readonly over: Promise<void>
  wake(): void
}

/**
 * Everything of one client that waits. Nothing else ends a call at its signal, its deadline or
 * `close`. There is one timer.
 */
export class Waiting {
  readonly clock: Clock
  readonly alarms: Alarms
  /** The time at which calls end. */
  readonly turn: TurnClock
  readonly #withSignal = new Listeners<Wait>((wait, reason) => this.#cancel(wait, reason))
  readonly #withoutSignal: Wait[] = []
  #isClosed = false

  constructor(clock: Clock) {
    this.clock = clock
    this.alarms = new Alarms(clock)
    this.turn = new TurnClock(clock)
  }

  /**
   * Registers `wait`; or, when there is no reason to wait any more, cancels it at once and returns
   * false.
   */
  hold(wait: Wait): boolean {
    const { signal, deadline } = wait.call
    if (this.#isClosed || signal?.aborted || deadline <= this.clock.now()) {
      wait.cancel(this.#isClosed ? closed(wait, 'is') : signal?.aborted ? signal.reason : pastDeadline(wait.call))
      return false
    }
    if (signal === undefined) append(this.#withoutSignal, wait)
    else this.#withSignal.add(signal, wait)
    this.alarms.set(wait)
    return true
  }

  release(wait: Wait): void {
    if (wait.index < 0) return
    const { signal } = wait.call
    if (signal === undefined) remove(this.#withoutSignal, wait)
    else this.#withSignal.remove(signal, wait)
    this.alarms.unset(wait)
  }

  /** Makes a wait that is held ring at another time. */
  setAlarm(wait: Wait, at: number): void {
    this.alarms.unset(wait)
    wait.at = at
    this.alarms.set(wait)
  }

  /**
   * Waits until the time `until`. Rejects if the waiter's signal, its deadline or `close` ends the
   * wait before that.
   */
  sleep(call: Waiter, until: number): Promise<void> {
    return this.nap(call, until).over
  }

  /** The same as `sleep`, for a wait that may be woken early. */
  nap(call: Waiter, until: number): Nap {
    let wake = () => {}
    const over = new Promise<void>((resolve, reject) => {
      const wait: Wait = {
        call,
        at: Math.min(until, call.deadline),
        place: -1,
        index: -1,
        ring: () => {
          this.release(wait)
          if (wait.at >= call.deadline) reject(pastDeadline(call))
          else resolve()
        },
        cancel: reject,
      }
      wake = () => {
        this.release(wait)
        resolve()
      }
      this.hold(wait)
    })
    return { over, wake }
  }

  /** Ends everything that waits, now and from now on. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const wait of [...this.#withoutSignal, ...this.#withSignal.all()]) if (wait.index >= 0) this.#cancel(wait, closed(wait, 'was'))
    this.alarms.end()
  }

  #cancel(wait: Wait, reason: unknown): void {
    this.release(wait)
    wait.cancel(reason)
  }
}

function closed({ call: { method } }: Wait, tense: 'is' | 'was'): ClosedError {
  return new ClosedError(`the client ${tense} closed`, { method })
}

/**
 * The error of a call whose deadline has passed while it waited: for this endpoint, which had got
 * it, or for its turn.
 */
export function pastDeadline({ method }: Waiter, endpoint?: string): TimeoutError {
  return new TimeoutError(`${messagePrefix({ endpoint, method })}no answer before its deadline (deadlineMs)`, {
    method,
    endpoint,
    unsent: endpoint === undefined,
  })
}
