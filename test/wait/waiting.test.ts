import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { TimeoutError } from '../../src/errors.ts'
import { Waiting } from '../../src/wait/waiting.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

const NEVER = Number.POSITIVE_INFINITY

function registry() {
  const clock = new VirtualClock()
  return { clock, waiting: new Waiting(clock) }
}

describe('what waits', () => {
  test('ends at its time', async () => {
    const { clock, waiting } = registry()
    await waiting.sleep({ method: 'm', deadline: NEVER }, 5000)
    expect(clock.now()).toBe(5000)
  })

  test('ends at its deadline, if that is earlier', async () => {
    const { clock, waiting } = registry()
    await expect(waiting.sleep({ method: 'm', deadline: 1000 }, 5000)).rejects.toThrow(TimeoutError)
    expect(clock.now()).toBe(1000)
  })

  test('ends with its signal and its reason, together with the others of that signal', async () => {
    const { clock, waiting } = registry()
    const aborter = new AbortController()
    const { signal } = aborter
    const sleeps = [1, 2, 3].map((n) => waiting.sleep({ method: 'm', deadline: NEVER, signal }, n * 1000))
    const other = waiting.sleep({ method: 'm', deadline: NEVER }, 9000)
    const ends = Promise.allSettled(sleeps)
    await clock.sleep(1499)
    aborter.abort('enough')
    expect(await ends).toEqual([
      { status: 'fulfilled', value: undefined },
      { status: 'rejected', reason: 'enough' },
      { status: 'rejected', reason: 'enough' },
    ])
    expect(clock.now()).toBe(1500)
    await other
    expect(clock.now()).toBe(9000)
  })

  test('ends when the client is closed, and nothing can wait after that', async () => {
    const { waiting } = registry()
    const { signal } = new AbortController()
    const errorOf = (each?: AbortSignal) => waiting.sleep({ method: 'm', deadline: NEVER, signal: each }, NEVER).catch((error) => error)
    const errors = Promise.all([errorOf(), errorOf(signal)])
    waiting.close()
    for (const error of await errors) expect(error).toMatchObject({ name: 'ClosedError', message: 'the client was closed', method: 'm' })
    expect(await errorOf(signal)).toMatchObject({ name: 'ClosedError', message: 'the client is closed' })
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})

test('a nap ends when it is woken, and otherwise as any sleep does', async () => {
  const { clock, waiting } = registry()
  const { signal } = new AbortController()
  const nap = waiting.nap({ method: 'm', deadline: NEVER, signal }, 5000)
  nap.wake()
  await nap.over
  expect(clock.now()).toBeLessThan(5000)
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  expect(waiting.alarms.size).toBe(0)
  nap.wake()
  const another = waiting.nap({ method: 'm', deadline: NEVER, signal }, 6000)
  await another.over
  expect(clock.now()).toBe(6000)
  const aborted = waiting.nap({ method: 'm', deadline: NEVER, signal: AbortSignal.abort('enough') }, 9000)
  await expect(aborted.over).rejects.toBe('enough')
  aborted.wake()
})

test('a signal has one event listener, however many wait for it, and none if nothing does', async () => {
  const { waiting } = registry()
  const { signal } = new AbortController()
  const sleeps = Array.from({ length: 1000 }, (_, i) => waiting.sleep({ method: 'm', deadline: NEVER, signal }, i))
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  await Promise.all(sleeps)
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

test('once it is closed, no timer is left', () => {
  const clock = new VirtualClock()
  const left = new Set<object>()
  const waiting = new Waiting({
    now: () => clock.now(),
    wakeAt: (at, wake) => {
      const timer = clock.wakeAt(at, wake)
      left.add(timer)
      return timer
    },
    cancel: (timer) => {
      left.delete(timer)
      clock.cancel(timer)
    },
  })
  waiting.nap({ method: 'm', deadline: NEVER }, 5000).wake()
  expect(left.size).toBe(1)
  waiting.close()
  expect(left.size).toBe(0)
})
