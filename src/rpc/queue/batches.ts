import type { HexlineError } from '../../errors.ts'
import type { Waiting } from '../../wait/waiting.ts'
import type { Outcome, Post } from '../call.ts'
import { throttleEvents } from '../events.ts'
import { isFailure, isTooLarge, isUnanswered } from '../failure-kinds.ts'
import type { BatchPlan } from '../limits/batch/batch-plan.ts'
import { type BatchInFlight, batchResult } from '../limits/batch-result.ts'
import type { Consequences, EndpointLimits } from '../limits/endpoint-limits.ts'
import type { Caller } from './caller.ts'
import type { Entry } from './entry.ts'
import type { Line } from './line.ts'
import type { Lines } from './lines.ts'
import { BatchSender } from './send-batch.ts'
import { ThrottleEvents } from './throttle-events.ts'

/** The endpoint that batches are sent to. */
export interface BatchesOptions {
  readonly name: string
  readonly post: Post
  readonly waiting: Waiting
  readonly limits: EndpointLimits
  readonly lines: Lines
}

/**
 * The batches of one endpoint, from their line to their outcomes. The limits learn from each, and
 * each call gets its own outcome, or goes back to the front of its line if it may do better in a
 * smaller batch.
 */
export class Batches {
  readonly #waiting: Waiting
  readonly #limits: EndpointLimits
  readonly #lines: Lines
  readonly #sender: BatchSender
  readonly #throttleEvents: ThrottleEvents
  /** The calls of each POST in flight, and how many of these POSTs are of bulk calls. */
  readonly #inFlight = new Set<readonly Entry[]>()
  #bulk = 0
  /** Batches all of whose calls were answered, from which the limits have not learnt yet. */
  readonly #notLearnt: { readonly batch: BatchInFlight; readonly outcomes: readonly Outcome[]; readonly at: number }[] = []

  constructor({ name, post, waiting, limits, lines }: BatchesOptions) {
    this.#waiting = waiting
    this.#limits = limits
    this.#lines = lines
    this.#sender = new BatchSender(name, post)
    this.#throttleEvents = new ThrottleEvents(name, limits.current)
  }

  /** POSTs in flight. */
  get size(): number {
    return this.#inFlight.size
  }

  /** Those of bulk calls. */
  get bulk(): number {
    return this.#bulk
  }

  /** The callers of reads in flight. */
  get readers(): Caller[] {
    const entries = [...this.#inFlight].flat()
    return entries.filter(({ safe }) => safe).flatMap(({ callers }) => callers)
  }

  /**
   * Sends as many calls of this line as the plan allows, and sees to their outcomes. Then calls
   * `onEnd`. Never rejects.
   */
  async send(line: Line, plan: BatchPlan, now: number, onEnd: () => void): Promise<void> {
    const { entries, hadRoom } = line.take(plan)
    const batch = this.#limits.started(entries, now, hadRoom)
    const isBulk = line.priority === 'bulk'
    if (isBulk) this.#bulk++
    this.#inFlight.add(entries)
    const outcomes = await this.#sender.send(entries)
    this.#inFlight.delete(entries)
    if (isBulk) this.#bulk--
    if (outcomes === undefined) this.#limits.abandoned(batch)
    else this.#finish(line, entries, batch, outcomes)
    onEnd()
  }

  #finish(line: Line, entries: readonly Entry[], batch: BatchInFlight, outcomes: readonly Outcome[]): void {
    const now = this.#waiting.clock.now()
    // The turn ends in the job that this belongs to.
    this.#waiting.turn.hold(now)
    if (outcomes.every((outcome) => !(outcome instanceof Error))) {
      // Nothing but the next batch depends on what is learnt: callers do not wait for it.
      this.#notLearnt.push({ batch, outcomes, at: now })
      for (const [i, entry] of entries.entries()) entry.settle(outcomes[i] as Outcome)
      return
    }
    this.learn()
    const { mayBePaused, resend } = this.#learnFrom(batch, outcomes, now)
    const again: Entry[] = []
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as Entry
      const outcome = outcomes[i] as Outcome
      if (!isResent(outcome, resend)) entry.settle(outcome)
      else if (entry.isWaitedFor) {
        if (outcome instanceof Error && outcome.kind === 'response-too-large') entry.longest = Math.max(1, Math.floor(entries.length / 2))
        again.push(entry)
      }
    }
    this.#lines.putBack(line, again)
    // Calls that do not wait for the end of a pause, or whose deadline comes before it, fail now.
    if (mayBePaused) this.#lines.fail((call) => this.#limits.failureFor(call, now))
    if (throttleEvents.hasSubscribers) this.#throttleEvents.publish(outcomes.filter(isFailure), this.#limits.current, now)
  }

  /** The limits learn from batches whose callers have their results. */
  learn(): void {
    for (const { batch, outcomes, at } of this.#notLearnt) {
      this.#learnFrom(batch, outcomes, at)
      if (throttleEvents.hasSubscribers) this.#throttleEvents.publish(NO_FAILURES, this.#limits.current, at)
    }
    this.#notLearnt.length = 0
  }

  #learnFrom(batch: BatchInFlight, outcomes: readonly Outcome[], now: number): Consequences {
    const consequences = this.#limits.finished(batchResult(batch, outcomes), now, this.#areOthersWaiting)
    this.#lines.keepApart(this.#limits.methodsApart)
    return consequences
  }

  readonly #areOthersWaiting = (method: string): boolean => this.#lines.hasOthers(method)
}

/** Whether a call with this outcome may do better in a smaller batch. */
function isResent(outcome: Outcome, resend: Consequences['resend']): boolean {
  if (resend === 'all') return true
  if (!(outcome instanceof Error)) return false
  return (resend === 'too-large' && isTooLarge(outcome)) || (resend === 'unanswered' && isUnanswered(outcome))
}

const NO_FAILURES: readonly HexlineError[] = []
