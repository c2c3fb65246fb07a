import { expect, test } from 'vitest'
import { LongestPost } from '../../../../src/rpc/limits/rate/longest-post.ts'

/** Answers POSTs of at most `burst` calls in full, and refuses others whole. */
function send(longest: LongestPost, burst: number, posts: number, wanted = 100): number[] {
  const sent: number[] = []
  for (let i = 0; i < posts; i++) {
    const calls = Math.min(wanted, longest.most)
    sent.push(calls)
    if (calls <= burst) longest.answered(calls)
    else longest.throttled(calls, 1)
  }
  return sent
}

test('has no bound as long as POSTs are answered', () => {
  const longest = new LongestPost()
  send(longest, 100, 50)
  expect(longest.most).toBe(Number.POSITIVE_INFINITY)
})

test.each([1, 2, 7, 50, 99])('finds a length of %i', (burst) => {
  const longest = new LongestPost()
  send(longest, burst, 400)
  const sent = send(longest, burst, 400)
  const refused = sent.filter((calls) => calls > burst).length
  expect(refused).toBeLessThan(0.1 * sent.length)
  expect(sent.reduce((sum, calls) => sum + (calls <= burst ? calls : 0), 0)).toBeGreaterThan(0.7 * burst * (sent.length - refused))
})

test('is found anew where longer ones are answered again', () => {
  const longest = new LongestPost()
  send(longest, 4, 20)
  send(longest, 100, 100)
  expect(longest.most).toBeGreaterThanOrEqual(100)
})

test('does not become shorter by refusals of what was answered before', () => {
  const longest = new LongestPost()
  longest.answered(40)
  for (let i = 0; i < 100; i++) longest.throttled(40, 1)
  expect(longest.most).toBe(Number.POSITIVE_INFINITY)
})

test('is not bound where a part of a POST is answered', () => {
  const longest = new LongestPost()
  send(longest, 3, 20)
  expect(longest.most).toBeLessThan(10)
  longest.throttled(3, 0.5)
  send(longest, 3, 20)
  expect(longest.most).toBe(Number.POSITIVE_INFINITY)
})
