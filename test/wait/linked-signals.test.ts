import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { LinkedSignals } from '../../src/wait/linked-signals.ts'

test.each([0, 1, 2])('a linked signal aborts when signal %i of the three does, with its reason', (which) => {
  const all = [new AbortController(), new AbortController(), new AbortController()]
  const { signal } = new LinkedSignals().link(all.map(({ signal }) => signal))
  expect(signal.aborted).toBe(false)
  all[which]?.abort('enough')
  expect([signal.aborted, signal.reason]).toEqual([true, 'enough'])
})

test('it is aborted from the start if one of them is', () => {
  const { signal } = new LinkedSignals().link([new AbortController().signal, AbortSignal.abort('before')])
  expect(signal.reason).toBe('before')
})

test('it does not abort once it is released', () => {
  const [a, b] = [new AbortController(), new AbortController()]
  const { signal, release } = new LinkedSignals().link([a.signal, b.signal])
  release()
  release()
  a.abort()
  b.abort()
  expect(signal.aborted).toBe(false)
})

test('a signal has one event listener, however many links it has, and none once they are released', () => {
  const links = new LinkedSignals()
  const { signal } = new AbortController()
  const linked = Array.from({ length: 1000 }, () => links.link([signal, new AbortController().signal]))
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  for (const { release } of linked) release()
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})
