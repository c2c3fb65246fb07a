import { describe, expect, onTestFinished, test } from 'vitest'
import { TimeoutError } from '../../src/errors.ts'
import { Decompressor } from '../../src/http/compression.ts'
import { ExchangeInFlight } from '../../src/http/exchange-in-flight.ts'
import { BodyProgress } from '../../src/http/progress.ts'
import { Alarms } from '../../src/wait/alarms.ts'
import { ManualClock } from '../support/manual-clock.ts'

const controller = { abort() {} } as never

/** An endpoint that has sent a body without a stall, and one whose body has begun. */
function begun(patience?: number) {
  const clock = new ManualClock()
  const progress = new BodyProgress()
  progress.completed()
  const options = { url: new URL('http://node'), headers: {}, timeoutMs: 60_000, maxResponseBytes: 1e6, scrub: String, alarms: new Alarms(clock) }
  const failures: unknown[] = []
  const { signal } = new AbortController()
  const exchange = new ExchangeInFlight(
    options as never,
    { method: 'POST', path: '/', patience } as never,
    progress,
    new Decompressor(),
    signal,
    () => {},
    (failure) => failures.push(failure),
  )
  exchange.onRequestStart(controller)
  exchange.onResponseStart(controller, 200, {})
  const receive = () => exchange.onResponseData(controller, Buffer.from('{'))
  receive()
  onTestFinished(() => options.alarms.end())
  return { clock, progress, failures, receive, end: () => exchange.onResponseEnd() }
}

describe.each([1, Number.POSITIVE_INFINITY])('a stall of a body, with patience %d', (patience) => {
  test('is no stall of the node’s while the process stands still', () => {
    const { clock, progress, failures, receive, end } = begun(patience)
    for (const runsMs of [60, 300, 0]) {
      clock.run(runsMs)
      clock.standStill(8_000)
      receive()
    }
    end()
    expect(failures).toEqual([])
    // The longest was 300 ms, and one step for the time in which nothing was read.
    expect(progress.limitMs).toBeGreaterThan(4 * 300)
    expect(progress.limitMs).toBeLessThan(4 * 430)
  })

  test('that is short changes no limit, however long the process stands still', () => {
    const { clock, progress, receive, end } = begun(patience)
    clock.standStill(8_000)
    receive()
    end()
    expect(progress.limitMs).toBe(500)
  })

  test('is as long as it is while the process runs', () => {
    const { clock, progress, receive } = begun(patience)
    clock.run(450)
    receive()
    expect(progress.limitMs).toBe(4 * 450)
  })
})

test('a body is given up for a stall in which the process ran, whenever it stood still', () => {
  const { clock, failures } = begun(1)
  clock.run(200)
  clock.standStill(8_000)
  clock.run(100)
  expect(failures).toEqual([])
  clock.run(400)
  expect(failures).toEqual([expect.any(TimeoutError)])
  expect(failures[0]).toMatchObject({ stalled: true, message: 'node: the reply stalled after 1 bytes: no data for 500 ms' })
})
