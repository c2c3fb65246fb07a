import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { stopWith } from '../../src/wait/stop-with.ts'

test('stops with its signal, and with its reason, until it is released', () => {
  const own = new AbortController()
  const [first, second] = [stopWith(own.signal), stopWith(own.signal)]
  second.release()
  const reason = new Error('enough')
  own.abort(reason)
  expect([first.stop.signal.reason, second.stop.signal.aborted]).toEqual([reason, false])
  first.release()
})

test('does not stop its signal, and stops at once with one that is aborted', () => {
  const own = new AbortController()
  stopWith(own.signal).stop.abort()
  expect(own.signal.aborted).toBe(false)
  const reason = new Error('before')
  const late = stopWith(AbortSignal.abort(reason))
  expect(late.stop.signal.reason).toBe(reason)
  late.release()
})

test('stops by itself without a signal', () => {
  const { stop, release } = stopWith(undefined)
  release()
  expect(stop.signal.aborted).toBe(false)
})

test('costs a signal one event listener, however many stop with it, and none in the end', () => {
  const { signal } = new AbortController()
  const many = Array.from({ length: 100 }, () => stopWith(signal))
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  for (const each of [...many, ...many]) each.release()
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})
