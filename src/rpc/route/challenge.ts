import { NetworkError, TimeoutError } from '../../errors.ts'
import type { Clock, Timer } from '../../wait/clock.ts'
import { type Call, ownRead } from '../call.ts'
import type { Queue } from '../queue/queue.ts'
import type { Health } from './health.ts'

/** Longest wait for the answer, and shortest time between two questions, in ms. */
const LONGEST_MS = 1_000
const EVERY_MS = 5_000
/** The wait is made of this many, each of which lasts until the process has read what came. */
const WAITS = 4

/** What is challenged. */
export interface Challenged {
  readonly queue: Queue
  readonly health: Health
  /** When a reply that had begun last went on, where that is known. */
  readonly progress: { readonly resumedAt: number } | undefined
}

/**
 * Whether an endpoint still answers that owes replies and has been silent for a while. Silence
 * alone says little: a call may take long. So it is asked a question that any node answers at once,
 * in a POST beside all others.
 */
export class Challenge {
  readonly #of: Challenged
  readonly #question: Pick<Call, 'method' | 'params'>
  readonly #clock: Clock
  #askedAt = Number.NEGATIVE_INFINITY
  #end: (() => void) | undefined

  constructor(of: Challenged, question: Pick<Call, 'method' | 'params'>, clock: Clock) {
    this.#of = of
    this.#question = question
    this.#clock = clock
  }

  /**
   * Resolves with true where nothing comes. False where it answers, has been asked a moment ago, or
   * the question is ended.
   */
  async isLost(): Promise<boolean> {
    const { queue, health, progress } = this.#of
    const now = this.#clock.now()
    if (now - this.#askedAt < EVERY_MS) return false
    this.#askedAt = now
    const stop = new AbortController()
    let isOver = false
    this.#end = () => {
      isOver = true
      stop.abort()
    }
    const cancel = inSteps(this.#clock, LONGEST_MS, WAITS, () => stop.abort(new TimeoutError(`${queue.name}: no reply`)))
    const outcome = await queue.beside(ownRead({ ...this.#question, deadline: now + LONGEST_MS }), stop.signal)
    cancel()
    this.#end = undefined
    if (isOver) return false
    if (!stop.signal.aborted) return outcome instanceof NetworkError
    // The rest of a long reply keeps all that follows waiting: on a WebSocket, or on a slow line.
    return !health.hasProgressedSince(now) && (progress === undefined || progress.resumedAt <= now)
  }

  /** Nobody wants to know any more. */
  end(): void {
    this.#end?.()
  }
}

/**
 * Calls `ring` after this many ms, in steps: however long the process is busy with other work, and
 * reads nothing, it counts as one. Gives the function that cancels it.
 */
function inSteps(clock: Clock, ms: number, steps: number, ring: () => void): () => void {
  let left = steps
  let timer: Timer
  const next = (): void => {
    timer = clock.wakeAt(clock.now() + ms / steps, onStep)
  }
  const onStep = (): void => {
    if (--left > 0) next()
    else ring()
  }
  next()
  return () => clock.cancel(timer)
}
