import { copyError, TimeoutError } from '../../errors.ts'
import type { Alarm, Alarms } from '../../wait/alarms.ts'
import type { Post } from '../call.ts'
import { isFailure } from '../failure-kinds.ts'

/** A post function of the user's own. It ends after `timeoutMs`, and when nobody waits for it any more, whether it heeds its signal or not. */
export function userPost(name: string, post: Post, timeoutMs: number, alarms: Alarms): Post {
  return (calls, signal) =>
    new Promise((resolve, reject) => {
      const own = new AbortController()
      const end = (): void => {
        alarms.unset(alarm)
        signal.removeEventListener('abort', giveUp)
      }
      function giveUp(): void {
        end()
        own.abort()
        resolve(calls.map(({ method }) => new TimeoutError(`${name}: no whole reply within ${timeoutMs} ms`, { method, endpoint: name })))
      }
      const alarm: Alarm = { at: alarms.clock.now() + timeoutMs, place: -1, ring: giveUp }
      alarms.set(alarm)
      signal.addEventListener('abort', giveUp)
      // One that throws is like one that rejects.
      new Promise<Awaited<ReturnType<Post>>>((given) => given(post(calls, own.signal)))
        .finally(end)
        .then((outcomes) => resolve(withOwnErrors(outcomes, name)), reject)
    })
}

/** Its errors are the user's own, who may share or freeze them: copies are told to the callers, by the endpoint's name. */
function withOwnErrors(outcomes: Awaited<ReturnType<Post>>, endpoint: string): Awaited<ReturnType<Post>> {
  if (!Array.isArray(outcomes) || !outcomes.some(isFailure)) return outcomes
  return outcomes.map((outcome) => (isFailure(outcome) ? Object.assign(copyError(outcome), { endpoint }) : outcome))
}
