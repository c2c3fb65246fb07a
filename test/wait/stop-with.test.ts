import { getEventListeners } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { stopWith } from '../../src/wait/stop-with.ts'
import { eventually } from '../support/eventually.ts'

setFlagsFromString('--expose-gc')
const gc: () => void = runInNewContext('gc')

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

test('stops what still runs at its end, once it is released', () => {
  const own = new AbortController()
  const { stop, end } = stopWith(own.signal)
  end()
  expect([stop.signal.aborted, own.signal.aborted, getEventListeners(own.signal, 'abort').length]).toEqual([true, false, 0])
})

test('costs a signal one event listener, however many stop with it, and none in the end', () => {
  const { signal } = new AbortController()
  const many = Array.from({ length: 100 }, () => stopWith(signal))
  expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  for (const each of [...many, ...many]) each.release()
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

test('what is abandoned without a release is collected while its signal lives, and leaves no event listener', async () => {
  const { signal } = new AbortController()
  const refs = Array.from({ length: 10 }, () => {
    const buffer = { bytes: new Uint8Array(1000) }
    stopWith(signal).stop.signal.addEventListener('abort', () => void buffer.bytes.fill(0))
    return new WeakRef(buffer)
  })
  await eventually(async () => {
    await turn()
    gc()
    expect(refs.filter((ref) => ref.deref() !== undefined)).toEqual([])
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})

test('a controller of which only the signal is left still stops', async () => {
  const own = new AbortController()
  const { signal } = stopWith(own.signal).stop
  for (let i = 0; i < 5; i++) {
    await turn()
    gc()
  }
  own.abort('enough')
  expect(signal.reason).toBe('enough')
})
