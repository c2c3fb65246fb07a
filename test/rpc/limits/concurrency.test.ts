import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Concurrency } from '../../../src/rpc/limits/concurrency.ts'

/**
 * Runs a server that refuses more than `most` POSTs at once for this time, with POSTs of 50 ms in
 * every slot. Returns the number of refused ones.
 */
function work(concurrency: Concurrency, most: number, fromMs: number, toMs: number): number {
  let refused = 0
  for (let now = fromMs; now < toMs; now += 50) {
    for (let nth = 1; nth <= concurrency.limit; nth++) {
      if (nth <= most) concurrency.answered(nth, now)
      else {
        refused++
        concurrency.refused(nth, now)
      }
    }
  }
  return refused
}

describe('POSTs in flight', () => {
  test('are as many as the user allows, until the endpoint refuses some', () => {
    const concurrency = new Concurrency(8)
    work(concurrency, 8, 0, 10_000)
    expect(concurrency.limit).toBe(8)
  })

  test.each([1, 2, 3, 5, 7])('are found to be %i if more are refused, and more are tried ever more rarely', (most) => {
    const concurrency = new Concurrency(8)
    work(concurrency, most, 0, 5000)
    expect(concurrency.limit).toBeGreaterThan(most / 2)
    expect(concurrency.limit).toBeLessThanOrEqual(most + 1)
    expect(work(concurrency, most, 5000, 65_000)).toBeLessThan(15)
  })

  test('increase again when the endpoint takes more', () => {
    const concurrency = new Concurrency(8)
    work(concurrency, 2, 0, 20_000)
    expect(concurrency.limit).toBeLessThanOrEqual(3)
    work(concurrency, 8, 20_000, 80_000)
    expect(concurrency.limit).toBe(8)
  })

  test('that fail as under overload become fewer once per wave, and no fewer than a quarter, since it may be chance', () => {
    const concurrency = new Concurrency(8)
    for (const nth of [8, 7, 6, 5]) concurrency.strained(nth, 0, 100)
    expect(concurrency.limit).toBe(6)
    for (let now = 200; now < 2000; now += 100) concurrency.strained(concurrency.limit, now, now + 50)
    expect(concurrency.limit).toBe(2)
  })

  test('stay as many while one in eight is cut off by chance, and become fewer where all beyond three are', () => {
    const concurrency = new Concurrency(8)
    work(concurrency, 8, 0, 5000)
    let sent = 0
    const cutOff = (isCut: (nth: number) => boolean, fromMs: number, toMs: number) => {
      for (let now = fromMs; now < toMs; now += 50) {
        for (let nth = 1; nth <= concurrency.limit; nth++) {
          sent++
          if (isCut(nth)) concurrency.strained(nth, now - 50, now)
          else concurrency.answered(nth, now)
        }
      }
    }
    cutOff(() => sent % 8 === 0, 5000, 30_000)
    expect(concurrency.limit).toBe(8)
    cutOff((nth) => nth > 3, 30_000, 31_000)
    expect(concurrency.limit).toBe(3)
  })

  test('fall to two with a high limit as with a low one', () => {
    const concurrency = new Concurrency(100)
    for (let now = 0; now < 3000; now += 100) concurrency.strained(concurrency.limit, now, now + 50)
    expect(concurrency.limit).toBe(2)
  })

  test('follow another limit, and stay fewer if fewer were learnt', () => {
    const concurrency = new Concurrency(8)
    concurrency.allow(100)
    expect(concurrency.limit).toBe(100)
    concurrency.refused(20, 0)
    concurrency.allow(8)
    expect(concurrency.limit).toBe(8)
    concurrency.refused(4, 0)
    concurrency.allow(100)
    expect(concurrency.limit).toBe(3)
  })

  test('are proven once several were answered, since one may have been luck', () => {
    const concurrency = new Concurrency(8)
    concurrency.answered(4, 0)
    expect(concurrency.proven).toBe(0)
    work(concurrency, 8, 0, 1000)
    expect(concurrency.proven).toBeGreaterThan(2)
  })

  test('are always from 1 to the user’s limit', () => {
    const event = fc.tuple(fc.constantFrom('worked', 'refused', 'suffered'), fc.integer({ min: 1, max: 20 }), fc.integer({ min: 0, max: 3000 }))
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.array(event, { maxLength: 300 }), (most, events) => {
        const concurrency = new Concurrency(most)
        let now = 0
        for (const [what, nth, passed] of events) {
          now += passed
          if (what === 'worked') concurrency.answered(nth, now)
          else if (what === 'refused') concurrency.refused(nth, now)
          else concurrency.strained(nth, now - 50, now)
          expect(concurrency.limit).toBeGreaterThanOrEqual(1)
          expect(concurrency.limit).toBeLessThanOrEqual(most)
        }
      }),
      { seed: 8 },
    )
  })
})
