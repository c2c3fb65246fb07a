import type { Wait, Waiting } from '../../wait/waiting.ts'
import type { Call, Reply, Send } from '../call.ts'
import { CallFailure, failureFrom } from '../call-failure.ts'
import { mayRepeat } from '../failure-kinds.ts'
import { GIVEN_UP, MOVED } from '../queue/queue.ts'
import { setBounded } from '../set-bounded.ts'

/** Which reads get a copy. */
export interface HedgeOptions {
  /** A read that takes longer than this part of the recent ones gets a copy. */
  readonly percentile: number
  /** Copies, at most, as a part of the reads. */
  readonly maxExtra: number
}

/** Copies that may be saved up for a bad moment. */
const MOST_SAVED = 20

/** Why the slower copy ends: its endpoint did nothing wrong. */
const LOST: unique symbol = Symbol('the other copy was faster')

/**
 * Sends a copy of an interactive read that takes long. The first answer counts, and so does a final
 * error, which is the node's answer too. No read is copied until it is known how long such reads
 * take.
 */
export class Hedge {
  readonly #options: HedgeOptions
  readonly #waiting: Waiting
  readonly #delays = new Map<string, Delays>()
  /** Copies that may be sent now. */
  #saved = 0

  constructor(options: HedgeOptions, waiting: Waiting) {
    this.#options = options
    this.#waiting = waiting
  }

  /**
   * Makes the call with `send`, and its copy with `again`. `key`, the endpoint and method, names
   * the calls that its time is compared with.
   */
  send(call: Call, key: string, send: Send, again: Send): Promise<Reply> {
    if (!call.safe || call.priority === 'bulk') return send(call)
    this.#saved = Math.min(MOST_SAVED, this.#saved + this.#options.maxExtra)
    const delays = this.#delaysOf(key)
    const race = new Race(call, this.#waiting, delays, () => this.#spend(), send, again)
    return race.start()
  }

  #spend(): boolean {
    if (this.#saved < 1) return false
    this.#saved--
    return true
  }

  #delaysOf(key: string): Delays {
    let delays = this.#delays.get(key)
    if (delays === undefined) {
      delays = new Delays(this.#options.percentile)
      setBounded(this.#delays, key, delays)
    }
    return delays
  }
}

/** One call and its copy. */
class Race implements Wait {
  readonly call: Call
  at: number
  place = -1
  index = -1
  readonly #waiting: Waiting
  readonly #delays: Delays
  readonly #spend: () => boolean
  readonly #send: Send
  readonly #again: Send
  readonly #started: number
  readonly #runners: AbortController[] = []
  #running = 0
  #isSettled = false
  #failure: unknown
  #resolve: (reply: Reply) => void = () => {}
  #reject: (reason: unknown) => void = () => {}

  constructor(call: Call, waiting: Waiting, delays: Delays, spend: () => boolean, send: Send, again: Send) {
    this.call = call
    this.#waiting = waiting
    this.#delays = delays
    this.#spend = spend
    this.#send = send
    this.#again = again
    this.#started = waiting.clock.now()
    this.at = Math.min(call.deadline, this.#started + (delays.longMs ?? Number.POSITIVE_INFINITY))
  }

  start(): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      if (this.#waiting.hold(this)) this.#run(this.#send)
    })
  }

  /** The call takes long. (At the deadline, the call and its copy end by themselves.) */
  ring(): void {
    if (this.at < this.call.deadline && this.#spend()) this.#run(this.#again)
  }

  cancel(reason: unknown): void {
    const failure = failureFrom(reason, this.call.signal)
    // When the client is closed, each copy is told, and knows whether it was sent.
    if (failure === undefined || this.#running === 0) this.#end(() => this.#reject(failure ?? reason), reason)
  }

  #run(send: Send): void {
    const runner = new AbortController()
    this.#runners.push(runner)
    this.#running++
    send({ ...this.call, signal: runner.signal }).then(
      (reply) => {
        // Also when the copy answered: the first one took at least as long.
        this.#delays.add(this.#waiting.clock.now() - this.#started)
        this.#end(() => this.#resolve(reply))
      },
      (failure) => {
        this.#running--
        // Why the first one failed says more than why its copy did.
        if (this.#runners[0] === runner || this.#failure === undefined) this.#failure = failure
        if (this.#running === 0 || isFinal(failure)) this.#end(() => this.#reject(this.#running === 0 ? this.#failure : failure))
      },
    )
  }

  /** The first ending counts. */
  #end(settle: () => void, reason: unknown = LOST): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#waiting.release(this)
    settle()
    if (this.#runners.length > 1 || reason !== LOST) for (const runner of this.#runners) runner.abort(reason)
  }
}

/**
 * Every node would answer so. After another failure, or where one of the two has been taken back
 * from its endpoint, the other may still succeed.
 */
function isFinal(failure: unknown): boolean {
  if (failure === MOVED || failure === GIVEN_UP) return false
  if (!(failure instanceof CallFailure)) return true
  const { error } = failure
  return mayRepeat(error) === false && (error.kind === 'execution' || error.kind === 'invalid')
}

/** Recent calls whose times are kept. */
const KEPT = 128
/** The percentile is computed again after this many calls. */
const ENOUGH = 32

/** How long recent calls took. */
class Delays {
  /** A call that takes longer gets a copy, in ms; undefined until enough calls have been seen. */
  longMs: number | undefined
  readonly #percentile: number
  readonly #recent = new Float64Array(KEPT)
  #count = 0

  constructor(percentile: number) {
    this.#percentile = percentile
  }

  add(ms: number): void {
    this.#recent[this.#count++ % KEPT] = ms
    if (this.#count % ENOUGH !== 0) return
    const sorted = this.#recent.slice(0, Math.min(this.#count, KEPT)).sort()
    this.longMs = sorted[Math.floor(sorted.length * this.#percentile)]
  }
}
