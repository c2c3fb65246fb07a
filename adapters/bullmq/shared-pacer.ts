import { randomUUID } from 'node:crypto'
import type { PacedEndpoint } from '../../src/client/internals.ts'
import type { Call } from '../../src/rpc/call.ts'
import type { RateVerdict, ThrottledPost } from '../../src/rpc/limits/estimate/rate-estimate.ts'
import { fittingWithin } from '../../src/rpc/limits/rate/given-budget.ts'
import { Pacer, type Pacing, type RateStanding, type WaitingCalls } from '../../src/rpc/limits/rate/pacer.ts'
import type { Timer } from '../../src/wait/clock.ts'
import type { Grant, PostEvent, Question } from './budget-script.ts'
import { GUESS, SharedEstimate } from './shared-estimate.ts'

/**
 * Calls are granted for this long at a time, in ms, and for this many times as long as Redis takes
 * to answer, up to a limit. They go in two halves. While the rate is a guess, they are granted for
 * a shorter time: what became of them is told sooner.
 */
export const LEASE_MS = 200
const GUESSING_LEASE_MS = 50
const LEASE_PER_ANSWER = 4
export const LONGEST_LEASE_MS = 400
/** The time of Redis is known to each worker to within this many ms. */
const CLOCKS_MS = 10
/** Weight of the newest answer in the mean time of answers. */
const NEWEST = 0.2
/** Granted calls that have not gone this long after their time are dropped, in ms. */
const UNUSED_MS = 100
/**
 * Longest time without a question of the worker that makes the estimate, while the rate is a guess
 * and afterwards, and until another one tells what its next question would, in ms.
 */
const GUESSING_MS = 50
const LEAD_MS = 500
const TELL_MS = 1000
/** The estimate is made on for this long after the last call that waited, in ms. */
const BUSY_MS = 10_000
/** How long calls wait at most for an answer of Redis, and until it is asked again, in ms. */
const LOST_MS = 1000

/** Calls that may go within some time. */
interface Lease {
  calls: number
  units: number
  readonly from: number
  readonly until: number
}

/**
 * - `idle`: Redis is not being asked.
 * - `asking`: it has not answered yet.
 * - `asking again`: the same, and something is to be told as soon as it has.
 * - `closed`: it is asked no more.
 */
type Talk = 'idle' | 'asking' | 'asking again' | 'closed'

/** What is known of the budget. Times are on the clock of this process. */
interface Known {
  readonly perSecond: number
  readonly level: number
  readonly since: number
  readonly active: number
}

/**
 * When calls may go to an endpoint that several processes share. Redis grants some calls at a time,
 * from a certain moment on; what became of POSTs is told with the next question. While Redis does
 * not answer, this process continues with its part of what was known.
 */
export class SharedPacer implements Pacing {
  readonly #endpoint: PacedEndpoint
  readonly #ask: (question: Question) => Promise<Grant>
  readonly #me = randomUUID()
  /** In the order of their time. */
  #leases: Lease[] = []
  #voidUntil = 0
  #known: Known = { perSecond: GUESS, level: 0, since: 0, active: 1 }
  /** Paces calls while Redis does not answer. */
  #alone: Pacer | undefined
  #estimate: SharedEstimate | undefined
  #published: Question['estimate']
  /** Time of Redis at time 0 of this process's clock, and when it answered last. */
  #offset = 0
  #answeredAt = 0
  /** Calls that wait, and the first of them. */
  #wanted = 0
  #first: Call | undefined
  #events: PostEvent[] = []
  /** Calls that the POST had answered whose throttling is told next. */
  #answeredInPart = 0
  /** The pause to be told. */
  #pausedUntil = 0
  /** Units that were granted and not used, to be told; below 0 where more were used. */
  #spare = 0
  /** Mean time that Redis takes to answer, in ms. */
  #answerMs = 0
  #talk: Talk = 'idle'
  #askedAt = 0
  #wantedAt = Number.NEGATIVE_INFINITY
  /** Nothing is granted before this time. */
  #notBefore = 0
  #timer: Timer | undefined

  constructor(endpoint: PacedEndpoint, ask: (question: Question) => Promise<Grant>) {
    this.#endpoint = endpoint
    this.#ask = ask
  }

  get perSecond(): number {
    return this.#known.perSecond / this.#known.active
  }

  /** A refusal is put down to the rate: what is in flight of all processes, no single one knows. */
  standing(): RateStanding {
    return 'unproven'
  }

  msUntil(waiting: WaitingCalls, most: number, now: number): number {
    if (this.#alone !== undefined) return this.#alone.msUntil(waiting, most, now)
    const lease = this.#leaseFor(waiting.first, now)
    if (lease !== undefined) return Math.max(0, lease.from - now)
    return this.#notBefore > now ? this.#notBefore - now : LOST_MS
  }

  isHoldingBack(waiting: WaitingCalls, most: number, now: number): boolean {
    if (this.#alone !== undefined) return this.#alone.msUntil(waiting, most, now) > 0
    return this.#notBefore > now || (this.#leaseAt(now)?.from ?? 0) > now
  }

  room(most: number, now: number): number {
    return this.#alone === undefined ? Math.min(most, this.#leaseAt(now)?.calls ?? 0) : this.#alone.room(most, now)
  }

  fitting(now: number): ((call: Call) => boolean) | undefined {
    if (this.#alone !== undefined) return this.#alone.fitting(now)
    if (this.#endpoint.given === undefined) return undefined
    return fittingWithin(this.#leaseAt(now)?.units ?? 0, (call) => this.#costOf(call))
  }

  heldBack({ size, first }: WaitingCalls, now: number): void {
    this.#wanted = size
    this.#first = first
    this.#wantedAt = now
    if (this.#alone !== undefined || now < this.#notBefore || this.#leaseFor(first, now) !== undefined) return
    // What was granted for cheaper calls does not cover this one: it goes to others.
    for (const { units } of this.#leases) this.#spare += units
    this.#leases = []
    this.#askRedis(now)
  }

  started(calls: readonly Call[], now: number): void {
    if (this.#alone !== undefined) {
      this.#alone.started(calls, now)
      return
    }
    const lease = this.#leaseAt(now)
    if (lease === undefined) return
    lease.calls -= calls.length
    for (const call of calls) lease.units -= this.#costOf(call)
    if (lease.calls <= 0) this.#spare += lease.units
  }

  answered(calls: number, tookMs: number, slots: number, noneThrottled: boolean, now: number): void {
    this.#alone?.answered(calls, tookMs, slots, noneThrottled, now)
    // Of a POST that was throttled in its middle, `throttled` tells both.
    if (noneThrottled) this.#tell({ at: now + this.#offset, tookMs, calls, isThrottled: false, pauseMs: 0 })
    else this.#answeredInPart = calls
  }

  throttled(post: ThrottledPost, now: number): RateVerdict {
    const { sentAt, tookMs, pauseMs } = post
    const calls = this.#answeredInPart
    this.#answeredInPart = 0
    if (pauseMs > 0) this.#pausedUntil = Math.max(this.#pausedUntil, now + pauseMs)
    if (this.#alone !== undefined) return this.#alone.throttled(post, now)
    // What was granted before is too much.
    this.#leases = []
    this.#tell({ at: now + this.#offset, tookMs, calls, isThrottled: true, pauseMs })
    this.#wantedAt = now
    this.#tellAtOnce(now)
    return sentAt < this.#known.since ? 'stale' : 'too-fast'
  }

  /**
   * What was granted up to this time of Redis is void, also if it is under way: the rate was cut,
   * or the endpoint wants a pause.
   */
  void(until: number): void {
    this.#voidUntil = until
    this.#leases = []
    this.#notBefore = 0
    this.#endpoint.wake()
  }

  /** Calls of another worker were refused. */
  refused(): void {
    if (this.#estimate !== undefined) this.#tellAtOnce(this.#endpoint.clock.now())
  }

  /** Asks Redis no more: this process continues with its part, as without an answer. */
  close(): void {
    const { clock } = this.#endpoint
    this.#lost(clock.now())
    this.#talk = 'closed'
    this.#events = []
    if (this.#timer !== undefined) clock.cancel(this.#timer)
  }

  /** The lease whose calls go now or next. */
  #leaseAt(now: number): Lease | undefined {
    for (;;) {
      const lease = this.#leases[0]
      if (lease === undefined || (lease.calls > 0 && now < lease.until)) return lease
      this.#leases.shift()
    }
  }

  /** The same, if it covers this call. */
  #leaseFor(call: Call, now: number): Lease | undefined {
    const lease = this.#leaseAt(now)
    return lease !== undefined && this.#costOf(call) <= lease.units ? lease : undefined
  }

  /** Until it is this worker's turn again if it is granted these calls, in ms. */
  #turnMs(calls: number, cost: number): number {
    const { given } = this.#endpoint
    const { perSecond, active } = this.#known
    const ms = Math.max(calls / perSecond, given === undefined ? 0 : (calls * cost) / given.perSecond) * 1000
    return ms * active
  }

  #costOf({ method }: Call): number {
    const { given } = this.#endpoint
    return given === undefined ? 0 : (given.costOf?.(method) ?? 1)
  }

  #tell(event: PostEvent): void {
    if (this.#talk === 'closed') return
    this.#events.push(event)
    this.#tick()
  }

  #tellAtOnce(now: number): void {
    if (this.#talk === 'asking') this.#talk = 'asking again'
    else this.#askRedis(now, 0)
  }

  #askRedis(now: number, wanted = this.#wanted): void {
    if (this.#talk !== 'idle') return
    this.#talk = 'asking'
    this.#askedAt = now
    // The script runs after the cut that was heard of.
    this.#voidUntil = 0
    const events = this.#events
    const spare = this.#spare
    const pausedUntil = this.#pausedUntil
    this.#events = []
    this.#spare = 0
    const question: Question = {
      me: this.#me,
      wanted,
      leaseMs: Math.min(LONGEST_LEASE_MS, Math.max(this.#known.level > 0 ? LEASE_MS : GUESSING_LEASE_MS, LEASE_PER_ANSWER * this.#answerMs)),
      cost: this.#first === undefined ? 0 : this.#costOf(this.#first),
      unitsPerSecond: this.#endpoint.given?.perSecond ?? 0,
      guess: GUESS,
      spare,
      pauseMs: Math.max(0, this.#pausedUntil - now),
      estimate: this.#published,
      events,
    }
    this.#published = undefined
    this.#ask(question).then(
      (grant) => {
        // Told once, if there is none that lasts longer by now.
        if (this.#pausedUntil === pausedUntil) this.#pausedUntil = 0
        this.#onGrant(grant, question, now)
      },
      () => this.#lost(now),
    )
  }

  #onGrant({ now: at, granted, start, isLeader, perSecond, level, since, active, ...told }: Grant, { wanted, cost }: Question, askedAt: number): void {
    if (this.#talk === 'closed') return
    const { clock, wake } = this.#endpoint
    const now = clock.now()
    const isUrgent = this.#talk === 'asking again'
    this.#talk = 'idle'
    this.#alone = undefined
    this.#answerMs += NEWEST * (now - askedAt - this.#answerMs)
    this.#offset = at - (askedAt + now) / 2
    this.#known = { perSecond, level, since: since === 0 ? 0 : since - this.#offset, active }
    if (wanted > 0) {
      const from = Math.max(now, start - this.#offset)
      this.#leases = at < this.#voidUntil ? [] : leasesOf(granted, cost, from, this.#turnMs(granted, cost))
      this.#notBefore = granted === 0 ? from : 0
    }
    // Its time would stand still until the clock of Redis, which was set back, has caught up.
    if (at < this.#answeredAt) this.#estimate = undefined
    this.#answeredAt = at
    if (isLeader) {
      this.#estimate ??= new SharedEstimate({ perSecond, level })
      this.#published = this.#estimate.learn({ ...told, now: at }, 2 * this.#answerMs + CLOCKS_MS)
    } else {
      this.#estimate = undefined
    }
    if (isUrgent || this.#published?.isCut === true) this.#askRedis(now, 0)
    this.#tick()
    wake()
  }

  /** Redis does not answer. */
  #lost(askedAt: number): void {
    if (this.#talk === 'closed') return
    const { clock, given, wake } = this.#endpoint
    const { perSecond, active } = this.#known
    const now = clock.now()
    this.#talk = 'idle'
    this.#estimate = undefined
    if (this.#alone === undefined) {
      this.#leases = []
      this.#alone = new Pacer({ ...given, perSecond: (given?.perSecond ?? perSecond) / active }, now)
      // Each worker waits for its turn, as after a call: all of them begin at the same time.
      if (this.#first !== undefined) this.#alone.started([this.#first], now)
    }
    this.#askedAt = Math.max(askedAt, now)
    this.#tick()
    wake()
  }

  /** Sets the timer, if there will be something to tell that no question tells before. */
  #tick(): void {
    // While Redis is asked, its answer sets it.
    if (this.#timer !== undefined || this.#talk !== 'idle') return
    const { clock } = this.#endpoint
    const isBusy = clock.now() - this.#wantedAt < BUSY_MS
    if (this.#alone === undefined && this.#events.length === 0 && !(this.#estimate !== undefined && isBusy)) return
    const waitMs = this.#longestMs
    this.#timer = clock.wakeAt(this.#askedAt + waitMs, () => {
      this.#timer = undefined
      const now = clock.now()
      if (now - this.#askedAt >= waitMs) this.#askRedis(now, 0)
      else this.#tick()
    })
    this.#timer.unref()
  }

  /** Longest time without a question, while there is something to tell, in ms. */
  get #longestMs(): number {
    if (this.#alone !== undefined) return LOST_MS
    if (this.#estimate === undefined) return TELL_MS
    return this.#known.level > 0 ? LEAD_MS : GUESSING_MS
  }
}

/** Calls that are granted, in two halves. */
function leasesOf(calls: number, cost: number, from: number, ms: number): Lease[] {
  const second = Math.floor(calls / 2)
  const leases = [
    { calls: calls - second, at: from },
    { calls: second, at: from + ms / 2 },
  ]
  return leases
    .filter((lease) => lease.calls > 0)
    .map((lease) => ({ calls: lease.calls, units: lease.calls * cost, from: lease.at, until: lease.at + UNUSED_MS }))
}
