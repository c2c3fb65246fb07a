import { MalformedReplyError, TimeoutError } from '../../errors.ts'
import { show } from '../../text.ts'
import type { Outcome, Post, Reply } from '../call.ts'
import { copyError } from '../copy-error.ts'
import { isFailure } from '../failure-kinds.ts'
import type { Entry, InFlight } from './entry.ts'

/**
 * Sends batches to one endpoint, each in one POST, which is cut when the last caller of its calls
 * has left.
 */
export class BatchSender {
  readonly #endpoint: string
  readonly #post: Post
  /** Unused ones. Making a signal costs as much as all other work of the queue for a small POST. */
  readonly #controllers: AbortController[] = []

  constructor(endpoint: string, post: Post) {
    this.#endpoint = endpoint
    this.#post = post
  }

  /**
   * An outcome for each entry, in their order, whatever the post function does. Undefined when the
   * POST was cut: no caller waits for an outcome, and there is nothing to be learnt from it. Never
   * rejects.
   */
  async send(entries: readonly Entry[]): Promise<readonly Outcome[] | undefined> {
    const endpoint = this.#endpoint
    const controller = this.#controllers.pop() ?? new AbortController()
    const { signal } = controller
    let waitedFor = entries.length
    let timedOut = 0
    const batch: InFlight = {
      name: 'in flight',
      endpoint,
      abandon: (reason) => {
        if (reason instanceof TimeoutError) timedOut++
        if (--waitedFor === 0) controller.abort()
      },
    }
    for (const entry of entries) entry.start(batch)
    let problem = 'gave no outcome for a call'
    try {
      const outcomes = await this.#post(entries, signal)
      if (!signal.aborted && areOutcomes(outcomes, entries.length)) return outcomes
    } catch (error) {
      if (!signal.aborted && isFailure(error)) return entries.map((entry) => Object.assign(copyError(error, entry.method), { endpoint }))
      problem = `rejected: ${error instanceof Error ? error.message : show(error)}`
    } finally {
      // A caller that leaves from now on must not cut the POST that gets this controller next.
      waitedFor = 0
      if (!signal.aborted) this.#controllers.push(controller)
    }
    if (signal.aborted) {
      // These reach no caller any more, but the limits learn from them.
      const isLate = timedOut === entries.length
      return isLate ? entries.map(({ method }) => new TimeoutError(`${endpoint}: all calls had waited too long`, { method })) : undefined
    }
    return entries.map(({ method }) => new MalformedReplyError(`${endpoint}: its post function ${problem}`, { method, endpoint }))
  }
}

/** Also what a user's function gives, which may have holes. */
function areOutcomes(outcomes: readonly (Outcome | undefined)[], count: number): outcomes is readonly Outcome[] {
  if (!Array.isArray(outcomes) || outcomes.length !== count) return false
  for (const outcome of outcomes) if (typeof (outcome as Reply | undefined)?.take !== 'function' && !isFailure(outcome)) return false
  return true
}
