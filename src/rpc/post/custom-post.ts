import { TimeoutError } from '../../errors.ts'
import type { Alarm, Alarms } from '../../wait/alarms.ts'
import type { Outcome, Post } from '../call.ts'
import { copyError } from '../copy-error.ts'
import { isFailure } from '../failure-kinds.ts'

/**
 * A user's post function. It ends after `timeoutMs`, and when its last caller has left, whether it
 * heeds its signal or not. Its errors stay the user's, who may share or freeze them: what it gives
 * are copies, which bear the endpoint's name.
 */
export function customPost(name: string, post: Post, timeoutMs: number, alarms: Alarms): Post {
  const copied = <T>(outcome: T): T => (isFailure(outcome) ? Object.assign(copyError(outcome), { endpoint: name }) : outcome)
  return (calls, signal) =>
    new Promise((resolve, reject) => {
      const controller = new AbortController()
      const end = (): void => {
        alarms.unset(alarm)
        signal.removeEventListener('abort', cut)
      }
      const cut = (): void => {
        end()
        controller.abort()
        reject(signal.reason)
      }
      const giveUp = (): void => {
        end()
        controller.abort()
        resolve(calls.map(({ method }) => new TimeoutError(`${name}: no whole reply within ${timeoutMs} ms`, { method, endpoint: name })))
      }
      const alarm: Alarm = { at: alarms.clock.now() + timeoutMs, place: -1, ring: giveUp }
      alarms.set(alarm)
      signal.addEventListener('abort', cut)
      // One that throws is like one that rejects. The list is its own, to use up if it likes.
      new Promise<readonly Outcome[]>((given) => given(post([...calls], controller.signal)))
        .finally(end)
        .then((outcomes) => resolve(Array.isArray(outcomes) ? outcomes.map(copied) : outcomes), reject)
    })
}
