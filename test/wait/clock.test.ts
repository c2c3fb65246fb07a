import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Clock, LONGEST_TIMER, systemClock } from '../../src/wait/clock.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

describe.each<[string, () => Clock]>([
  ['the system clock', () => systemClock],
  ['the virtual clock', () => new VirtualClock()],
])('%s', (_, clockOf) => {
  test('wakes once, at the time, and never in the same turn', async () => {
    const clock = clockOf()
    const at = clock.now() + 5
    let isWoken = false
    const woken = new Promise<void>((resolve) => {
      clock.wakeAt(at, () => {
        isWoken = true
        resolve()
      })
    })
    expect(isWoken).toBe(false)
    await woken
    expect(clock.now()).toBeGreaterThanOrEqual(at - 1)
    await new Promise<void>((resolve) => clock.wakeAt(clock.now() - 1000, resolve))
  })

  test('does not wake a cancelled timer', async () => {
    const clock = clockOf()
    const timer = clock.wakeAt(clock.now() + 1, () => expect.unreachable())
    clock.cancel(timer)
    await new Promise<void>((resolve) => clock.wakeAt(clock.now() + 5, resolve))
  })

  test('does not wake a timer too early that is beyond the longest one of Node.js', async () => {
    const clock = clockOf()
    const far = clock.wakeAt(clock.now() + 2 * LONGEST_TIMER, () => expect.unreachable())
    await new Promise<void>((resolve) => clock.wakeAt(clock.now() + 5, resolve))
    clock.cancel(far)
  })
})

describe('the system clock', () => {
  test('wakes after what has arrived while the process stood still has been read', async () => {
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const [[peer]] = await Promise.all([once(server, 'connection'), once(socket, 'connect')])
    onTestFinished(() => {
      socket.destroy()
      server.close()
    })
    const events: string[] = []
    const both = Promise.all([
      once(socket, 'data').then(() => events.push('data')),
      new Promise<void>((resolve) => {
        systemClock.wakeAt(systemClock.now() + 1, () => {
          events.push('wake')
          resolve()
        })
      }),
    ])
    peer.write('x')
    standStill(20)
    await both
    expect(events).toEqual(['data', 'wake'])
  })

  test('does not wake a timer that is cancelled when it is due', async () => {
    // Timers of the same length run in the order in which they were set, and in the same turn once
    // both are due.
    const timer = systemClock.wakeAt(0, () => expect.unreachable())
    setTimeout(() => systemClock.cancel(timer), 1)
    standStill(5)
    await new Promise<void>((resolve) => systemClock.wakeAt(systemClock.now() + 5, resolve))
  })
})

/** Blocks this process for this time, in ms. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

describe('the virtual clock', () => {
  test('jumps from timer to timer, in order, once nothing else happens', async () => {
    const clock = new VirtualClock()
    const seen: [string, number][] = []
    const see = (what: string) => seen.push([what, clock.now()])
    const later = clock.sleep(60_000).then(() => see('a minute'))
    const sooner = clock.sleep(1000).then(async () => {
      see('a second')
      for (let turn = 0; turn < 10; turn++) {
        await new Promise((resolve) => setImmediate(resolve))
        clock.now()
      }
      see('ten turns later')
      await clock.sleep(10)
      see('10 ms later')
    })
    await Promise.all([later, sooner])
    expect(seen).toEqual([
      ['a second', 1001],
      ['ten turns later', 1001],
      ['10 ms later', 1011],
      ['a minute', 60_001],
    ])
  })

  test('stands still without a ref’d timer', async () => {
    const clock = new VirtualClock()
    const start = clock.now()
    const timer = clock.wakeAt(start + 10, () => {})
    timer.unref()
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(clock.now()).toBe(start)
    timer.ref()
    await clock.sleep(20)
    expect(clock.now()).toBe(start + 20)
  })
})
