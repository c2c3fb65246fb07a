import { describe, expect, it } from 'vitest'
import { type Bounds, ReadAhead } from '../../../src/bulk/ordered/read-ahead.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

const roomy: Bounds = { maxBytes: 1e9, maxItems: 1000, assumedBytes: 1, maxWaitMs: 1000 }

function start(bounds: Partial<Bounds>) {
  const clock = new VirtualClock()
  return { clock, ahead: new ReadAhead({ ...roomy, ...bounds }, clock) }
}

/** The number of items that may be requested at once, while none is held. */
function roomOf(ahead: ReadAhead): number {
  let items = 0
  while (ahead.hasRoom(items, items, 0)) items++
  return items
}

describe('items ahead', () => {
  it('are 256 at first, or fewer with a lower limit', () => {
    expect(roomOf(start({}).ahead)).toBe(256)
    expect(roomOf(start({ maxItems: 100 }).ahead)).toBe(100)
  })

  it('stay within the limit by their expected size', () => {
    const { ahead } = start({ maxBytes: 1000, assumedBytes: 100 })
    expect(roomOf(ahead)).toBe(10)
    // The first item gives the size.
    ahead.add(50)
    expect(roomOf(ahead)).toBe(20)
    // The first ones count alike, and later ones as much as a tenth or a twentieth of all.
    ahead.add(200)
    expect(roomOf(ahead)).toBe(8)
    ahead.add(50)
    expect(roomOf(ahead)).toBe(10)
    for (let i = 0; i < 200; i++) ahead.add(50)
    expect(roomOf(ahead)).toBe(19)
    ahead.add(250)
    expect(roomOf(ahead)).toBe(14)
    for (let i = 0; i < 50; i++) ahead.add(250)
    expect(roomOf(ahead)).toBe(4)
    ahead.add(50)
    expect(roomOf(ahead)).toBe(4)
  })

  it('of much the same size are as many as fit, and not as few as if all were as large as the largest', () => {
    const { ahead } = start({ maxBytes: 40_000, assumedBytes: 1000 })
    // 200 on average.
    for (let i = 0; i < 500; i++) ahead.add([50, 100, 150, 500][i % 4] as number)
    expect(roomOf(ahead)).toBeGreaterThan(140)
  })

  it('follow larger and smaller items as quickly as the caller says', () => {
    const { ahead } = start({ maxBytes: 1000, assumedBytes: 100, growth: 1, decay: 0.5 })
    ahead.add(200)
    expect(roomOf(ahead)).toBe(5)
    ahead.add(50)
    expect(roomOf(ahead)).toBe(8)
    ahead.add(50)
    ahead.add(50)
    expect(roomOf(ahead)).toBe(14)
  })

  it('include held items', () => {
    const { ahead } = start({ maxBytes: 1000, assumedBytes: 100 })
    expect(ahead.hasRoom(5, 4, 500)).toBe(true)
    expect(ahead.hasRoom(5, 5, 500)).toBe(false)
  })

  it('are always at least one, however large, since the consumer waits for it', () => {
    const { ahead } = start({ maxBytes: 1, assumedBytes: 100 })
    expect(roomOf(ahead)).toBe(1)
  })
})

describe('items in flight', () => {
  it('are those that arrive within the longest wait, at least 32', async () => {
    for (const [arrived, most] of [
      [100, 200],
      [5, 32],
    ] as const) {
      const { clock, ahead } = start({ maxWaitMs: 1000 })
      for (let i = 0; i < arrived; i++) ahead.add(1)
      await clock.sleep(500)
      ahead.update()
      expect(roomOf(ahead)).toBe(most)
    }
  })

  it('are more where they are small, once 32 have come in less than a window', async () => {
    const { clock, ahead } = start({ maxWaitMs: 100, maxInFlight: 64, maxSmallInFlight: 200 })
    expect(roomOf(ahead)).toBe(64)
    await clock.sleep(50)
    for (let i = 0; i < 31; i++) ahead.add(1)
    ahead.update()
    expect(roomOf(ahead)).toBe(64)
    ahead.add(1)
    ahead.update()
    expect(roomOf(ahead)).toBe(200)
    // From the end of the first window on, the longest wait counts, however many come at once.
    await clock.sleep(500)
    ahead.update()
    for (let i = 0; i < 32; i++) ahead.add(1)
    ahead.update()
    expect(roomOf(ahead)).toBe(32)
  })

  it('are no more for being small where that was not asked for', async () => {
    const { ahead } = start({ maxItems: 1000 })
    for (let i = 0; i < 100; i++) ahead.add(1)
    ahead.update()
    expect(roomOf(ahead)).toBe(256)
  })

  it('are at most as many as large ones may be once some have had to be dropped', async () => {
    const { clock, ahead } = start({ maxBytes: 1000, growth: 1, decay: 1, maxInFlight: 64, maxSmallInFlight: 200 })
    const roomAfter = (small: number) => {
      for (let i = 0; i < small; i++) ahead.add(1)
      ahead.update()
      return roomOf(ahead)
    }
    ahead.add(10)
    expect(roomAfter(32)).toBe(200)
    expect(ahead.isOverfull(1000 + 64 * 10)).toBe(false)
    expect(roomAfter(32)).toBe(200)
    expect(ahead.isOverfull(1000 + 64 * 10 + 1)).toBe(true)
    expect(roomAfter(32)).toBe(64)
    await clock.sleep(300)
    expect(roomAfter(500)).toBe(64)
  })

  it('do not fall after a window limited by something else', async () => {
    const { clock, ahead } = start({ maxWaitMs: 1000, maxItems: 100 })
    expect(ahead.hasRoom(100, 50, 0)).toBe(false)
    await clock.sleep(500)
    ahead.update()
    expect(ahead.hasRoom(0, 99, 0)).toBe(true)
  })

  it('stay within a limit of their own, however many are held', async () => {
    const { clock, ahead } = start({ maxInFlight: 64 })
    expect(roomOf(ahead)).toBe(64)
    for (let i = 0; i < 500; i++) ahead.add(1)
    await clock.sleep(500)
    ahead.update()
    expect(roomOf(ahead)).toBe(64)
    expect(ahead.hasRoom(255, 63, 0)).toBe(true)
  })

  it('are measured over windows of 250 ms', async () => {
    const { clock, ahead } = start({})
    await clock.sleep(250)
    ahead.update()
    expect(roomOf(ahead)).toBe(256)
  })
})

describe('items that come before others that have arrived', () => {
  it('have a quarter of the bytes to themselves, with those held before them', () => {
    const { ahead } = start({ maxBytes: 1000, assumedBytes: 50 })
    expect(ahead.hasRoom(20, 0, 1000)).toBe(false)
    expect(ahead.hasRoomBetween(4, 0)).toBe(true)
    expect(ahead.hasRoomBetween(5, 0)).toBe(false)
    expect(ahead.hasRoomBetween(0, 200)).toBe(true)
    expect(ahead.hasRoomBetween(0, 201)).toBe(false)
  })

  it('stay within the limit on items in flight', () => {
    const { ahead } = start({ maxInFlight: 2 })
    expect([1, 2].map((inFlight) => ahead.hasRoomBetween(inFlight, 0))).toEqual([true, false])
  })
})
