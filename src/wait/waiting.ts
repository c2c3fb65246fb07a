import { ClosedError, TimeoutError } from '../errors.ts'
import { type Alarm, Alarms } from './alarms.ts'
import type { Clock } from './clock.ts'

/** What a wait belongs to: its caller's signal, the time its caller stops waiting, and its name for errors. */
export interface Waiter {
  readonly signal?: AbortSignal | undefined
  /** On the clock. */
  readonly deadline: number
  readonly method: string
}

/**
 * Something that waits for a call's sake: in line, in flight, in back-off. From `hold` to `release` the registry sees to
 * it that it ends when the call's signal, the call's deadline or the client does.
 */
export interface Wait extends Alarm {
  readonly call: Waiter
  /** Place in the list of its signal, or -1. Kept by the registry. */
  seat: number
  /** Ends the waiting with the reason. The wait is released already. */
  cancel(reason: unknown): void
}

/** All that listens to one signal, through one listener: a signal gets slow and warns when it has many. */
class Audience {
  readonly waits: Wait[] = []
  readonly signal: AbortSignal
  readonly listener: () => void

  constructor(signal: AbortSignal, listener: () => void) {
    this.signal = signal
    this.listener = listener
    signal.addEventListener('abort', listener)
  }
}

/** Everything of one client that waits. It alone enforces signals, deadlines and `close`, with one timer. */
export class Waiting {
  readonly clock: Clock
  readonly alarms: Alarms
  readonly #unsignalled: Wait[] = []
  readonly #audiences = new Map<AbortSignal, Audience>()
  #isClosed = false

  constructor(clock: Clock) {
    this.clock = clock
    this.alarms = new Alarms(clock)
  }

  /** Registers `wait`, or cancels it at once when there is nothing to wait for any more; true when it is registered. */
  hold(wait: Wait): boolean {
    const { signal, deadline } = wait.call
    if (this.#isClosed || signal?.aborted || deadline <= this.clock.now()) {
      wait.cancel(
        this.#isClosed
          ? new ClosedError('the client is closed', { method: wait.call.method })
          : signal?.aborted
            ? signal.reason
            : pastDeadline(wait.call, true),
      )
      return false
    }
    const seats = signal === undefined ? this.#unsignalled : this.#audienceOf(signal).waits
    wait.seat = seats.push(wait) - 1
    this.alarms.set(wait)
    return true
  }

  release(wait: Wait): void {
    if (wait.seat < 0) return
    const { signal } = wait.call
    const audience = signal === undefined ? undefined : (this.#audiences.get(signal) as Audience)
    const seats = audience?.waits ?? this.#unsignalled
    const last = seats.pop() as Wait
    if (last !== wait) {
      seats[wait.seat] = last
      last.seat = wait.seat
    }
    wait.seat = -1
    this.alarms.unset(wait)
    if (audience !== undefined && seats.length === 0) {
      audience.signal.removeEventListener('abort', audience.listener)
      this.#audiences.delete(audience.signal)
    }
  }

  /** Has a wait that is held ring at another time. */
  setAlarm(wait: Wait, at: number): void {
    this.alarms.unset(wait)
    wait.at = at
    this.alarms.set(wait)
  }

  /** Waits until a time on the clock, or rejects when the call has to end before. */
  sleep(call: Waiter, until: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const wait: Wait = {
        call,
        at: Math.min(until, call.deadline),
        place: -1,
        seat: -1,
        ring: () => {
          this.release(wait)
          if (wait.at >= call.deadline) reject(pastDeadline(call, true))
          else resolve()
        },
        cancel: reject,
      }
      this.hold(wait)
    })
  }

  /** Ends everything that waits, now and from now on. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const waits of [this.#unsignalled, ...[...this.#audiences.values()].map((audience) => audience.waits)]) {
      this.#cancelAll(waits, (wait) => new ClosedError('the client was closed', { method: wait.call.method }))
    }
  }

  #audienceOf(signal: AbortSignal): Audience {
    let audience = this.#audiences.get(signal)
    if (audience === undefined) {
      const made: Audience = new Audience(signal, () => this.#cancelAll(made.waits, () => signal.reason))
      audience = made
      this.#audiences.set(signal, audience)
    }
    return audience
  }

  #cancelAll(waits: Wait[], reason: (wait: Wait) => unknown): void {
    for (const wait of [...waits]) {
      if (wait.seat < 0) continue
      this.release(wait)
      wait.cancel(reason(wait))
    }
  }
}

/** The error of a call whose deadline has passed while it waited. */
export function pastDeadline(call: Waiter, unsent: boolean): TimeoutError {
  return new TimeoutError(`${call.method}: no answer before its deadline (deadlineMs)`, { method: call.method, unsent })
}
