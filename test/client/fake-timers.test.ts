import { expect, onTestFinished, test, vi } from 'vitest'
import { createClient, HexlineError } from '../../src/index.ts'

/* As a user's tests do: all of the global timers are fake, and time moves only when they say so. */
test('with fake timers, all attempts and waits of a call fit into the time that passes', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  let posts = 0
  const client = createClient(async () => {
    posts++
    throw new HexlineError('no', 'server')
  })
  let error: HexlineError | undefined
  const call = client.request({ method: 'eth_chainId' }).catch((reason) => {
    error = reason
  })
  // Not all timers: what other tests have left may go on for ever.
  await vi.advanceTimersByTimeAsync(5_000)
  expect([posts, error?.attempts]).toEqual([4, 4])
  await call
})

test('with fake timers that go away, a deadline still comes', async () => {
  vi.useFakeTimers()
  const client = createClient(() => new Promise(() => {}), { deadlineMs: 50 })
  vi.useRealTimers()
  await expect(client.request({ method: 'eth_chainId' })).rejects.toMatchObject({ kind: 'timeout' })
})
