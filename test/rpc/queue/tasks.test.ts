import { describe, expect, test } from 'vitest'
import { HttpError } from '../../../src/errors.ts'
import { createTaskQueue, type Task } from '../../../src/rpc/queue/tasks.ts'
import { Waiting } from '../../../src/wait/waiting.ts'
import { eventsOf } from '../../support/events.ts'
import { errorOf } from '../../support/server.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

function setUp(concurrency = 2) {
  const clock = new VirtualClock()
  const run = createTaskQueue({ name: 'service', waiting: new Waiting(clock), concurrency, backoff: { baseDelayMs: 100, maxDelayMs: 1000 } })
  return { clock, run }
}

const taskOf = <T>(run: Task<T>['run'], more: Partial<Task<T>> = {}): Task<T> => ({ method: 'getTokens', deadline: 1e6, run, ...more })

describe('a task', () => {
  test('resolves with its result, whatever that is', async () => {
    const { run } = setUp()
    expect(await Promise.all([run(taskOf(async () => 'one')), run(taskOf(async () => undefined))])).toEqual(['one', undefined])
  })

  test('runs alone, and no more run at a time than allowed', async () => {
    const { clock, run } = setUp(2)
    let running = 0
    let most = 0
    const task = async () => {
      most = Math.max(most, ++running)
      await clock.sleep(10)
      running--
    }
    await Promise.all(Array.from({ length: 7 }, () => run(taskOf(task))))
    expect(most).toBe(2)
    expect(clock.now()).toBeGreaterThan(40)
  })

  test('is never joined with another one', async () => {
    const { run } = setUp()
    let runs = 0
    const task = async () => ++runs
    expect(await Promise.all([run(taskOf(task)), run(taskOf(task))])).toEqual([1, 2])
  })

  test('that fails rejects with a failure that names the endpoint', async () => {
    const error = new HttpError({ status: 500, headers: {}, body: '' })
    const failure = setUp().run(taskOf(() => Promise.reject(error)))
    expect(await errorOf(failure)).toMatchObject({ posts: 1, endpoint: 'service', error: { name: 'HttpError', status: 500 } })
  })

  test('that is throttled delays the next one for as long as the endpoint asks', async () => {
    const events = eventsOf('hexline:throttle')
    const { clock, run } = setUp()
    const busy = new HttpError({ status: 429, headers: {}, body: '' }, { kind: 'rate-limit', retryAfterMs: 5000 })
    await errorOf(run(taskOf(() => Promise.reject(busy))))
    const before = clock.now()
    expect(await run(taskOf(async () => clock.now()))).toBeGreaterThanOrEqual(before + 5000)
    expect(events[0]).toMatchObject({ endpoint: 'service', pauseMs: 5000 })
  })

  test('that is aborted rejects with the reason, and its own signal is aborted', async () => {
    const { run } = setUp()
    const aborter = new AbortController()
    let own: AbortSignal | undefined
    const task = (signal: AbortSignal) => {
      own = signal
      aborter.abort('enough')
      return new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    await expect(run(taskOf(task, { signal: aborter.signal }))).rejects.toBe('enough')
    expect(own?.aborted).toBe(true)
  })

  test('whose deadline passes in line is never run', async () => {
    const { clock, run } = setUp(1)
    const slow = run(taskOf(() => clock.sleep(500)))
    const late = run(taskOf(async () => expect.fail('it was run'), { deadline: 100 }))
    expect(await errorOf(late)).toMatchObject({ posts: 0, error: { kind: 'timeout', unsent: true } })
    await slow
  })
})
