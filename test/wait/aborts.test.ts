import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { forgetAbort, onAbort } from '../../src/wait/aborts.ts'

/** Keeps the reasons for which it was cancelled. */
function abortable() {
  const reasons: unknown[] = []
  return { reasons, cancel: (reason: unknown) => void reasons.push(reason) }
}

describe('what waits for a signal', () => {
  test('is cancelled once, with the reason', () => {
    const controller = new AbortController()
    const [one, other] = [abortable(), abortable()]
    onAbort(controller.signal, one)
    onAbort(controller.signal, other)
    controller.abort('over')
    expect([one.reasons, other.reasons]).toEqual([['over'], ['over']])
  })

  test('is left alone once it is forgotten, by another one that is cancelled, too', () => {
    const controller = new AbortController()
    const [early, late] = [abortable(), abortable()]
    const first = { cancel: () => forgetAbort(controller.signal, late) }
    onAbort(controller.signal, early)
    onAbort(controller.signal, first)
    onAbort(controller.signal, late)
    forgetAbort(controller.signal, early)
    controller.abort()
    expect([early.reasons, late.reasons]).toEqual([[], []])
  })

  test('adds one event listener to a signal, however many come one after another', () => {
    const { signal } = new AbortController()
    for (let i = 0; i < 20; i++) {
      const each = abortable()
      onAbort(signal, each)
      if (i % 2 === 0) forgetAbort(signal, each)
    }
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  })
})
