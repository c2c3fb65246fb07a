import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BatchSize } from '../../../../src/rpc/limits/batch/batch-size.ts'
import { runs } from '../../../support/runs.ts'

const MiB = 1024 * 1024

/** A POST of this many calls was answered in full, after a round trip. */
const worked = (limits: BatchSize, length: number, bytes = 0) => limits.answered({ length, bytes, tookMs: 100, roundTripMs: 100, noneWaited: false })

/** A POST of this many calls, with small replies, timed out. */
const timedOut = (limits: BatchSize, length: number) => limits.timedOut({ length, bytes: 0, sentAt: 0, now: 1 })

/**
 * Sends this many POSTs in sequence, each of the longest allowed length, to a server that takes up
 * to `most` calls. Returns the number of refused ones.
 */
function work(limits: BatchSize, posts: number, most = Number.POSITIVE_INFINITY): number {
  let refused = 0
  for (let i = 0; i < posts; i++) {
    const length = limits.next
    limits.start(length)
    if (length > most) {
      refused++
      limits.refused(length)
    } else {
      limits.took(length, false)
      worked(limits, length)
    }
    limits.end(length, false)
  }
  return refused
}

describe('the length of batches', () => {
  test.each<[string, (limits: BatchSize) => void]>([
    ['timed out', (limits) => timedOut(limits, 100)],
    ['was throttled', (limits) => limits.throttled(50)],
  ])('grows back after a POST that %s, once twenty in a row are answered completely', (_, shorten) => {
    const limits = new BatchSize(100)
    shorten(limits)
    expect(limits.calls).toBe(50)
    work(limits, 19)
    worked(limits, 49)
    expect(limits.next).toBe(50)
    work(limits, 1)
    expect(limits.next).toBe(55)
    work(limits, 1)
    expect(limits.calls).toBe(55)
    work(limits, 19)
    limits.throttled(55)
    work(limits, 19)
    expect(limits.next).toBe(55)
    work(limits, 1000)
    expect(limits.calls).toBe(100)
  })

  test('is probed by one POST, while the others keep to what works', () => {
    const limits = new BatchSize(100)
    timedOut(limits, 100)
    work(limits, 20)
    limits.start(limits.next)
    expect(limits.next).toBe(50)
    timedOut(limits, 55)
    limits.end(55, false)
    expect(limits.calls).toBe(50)
  })

  test('waits longer after each failed probe', () => {
    const limits = new BatchSize(100)
    timedOut(limits, 100)
    const postsUntilTry = () => {
      let posts = 0
      for (; limits.next === limits.calls; posts++) work(limits, 1)
      limits.start(limits.next)
      timedOut(limits, limits.next === limits.calls ? 55 : limits.next)
      limits.end(55, false)
      return posts
    }
    expect([postsUntilTry(), postsUntilTry(), postsUntilTry()]).toEqual([20, 40, 80])
  })

  test('is at most halved by a short POST that was throttled in the middle', () => {
    const limits = new BatchSize(100)
    limits.throttled(1)
    expect(limits.calls).toBe(50)
  })

  test('finds any limit of a server with few refusals', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: 150 }), (maxCalls, most) => {
        const limits = new BatchSize(maxCalls)
        const refused = work(limits, 20_000, most)
        expect(limits.calls).toBe(Math.min(maxCalls, most))
        // Halving down, and then bisecting between what works and what does not.
        expect(refused).toBeLessThanOrEqual(Math.ceil(Math.log2(maxCalls)) + 10)
      }),
      runs(60, 8),
    )
  })

  test('is one if no batch was ever answered, and batches are tried ever more rarely', () => {
    const limits = new BatchSize(100)
    limits.failed(100)
    expect(limits.next).toBe(1)
    let tries = 0
    for (let i = 0; i < 5000; i++) {
      const length = limits.next
      limits.start(length)
      if (length === 1) worked(limits, 1)
      else {
        tries++
        limits.failed(length)
      }
      limits.end(length, false)
    }
    expect(tries).toBeGreaterThan(2)
    expect(tries).toBeLessThan(10)
    // Later the server accepts them.
    work(limits, 5000)
    expect(limits.calls).toBe(100)
  })

  test('is one until a batch is answered; each that is tried has half of the calls of the one before', () => {
    const limits = new BatchSize(100)
    limits.failed(100)
    const tried: number[] = []
    for (let i = 0; i < 5000 && limits.calls === 1; i++) {
      const length = limits.next
      limits.start(length)
      if (length > 1) tried.push(length)
      // HTTP 502 for long ones, or for those with large replies.
      if (length > 12) limits.failed(length)
      else worked(limits, length)
      limits.end(length, false)
    }
    expect(tried).toEqual([100, 50, 25, 12])
    expect(limits.calls).toBe(12)
  })

  test('does not change if a batch fails that is like answered ones', () => {
    const limits = new BatchSize(100)
    work(limits, 1)
    limits.failed(100)
    expect(limits.next).toBe(100)
  })

  test('does not change where a lone call fails and batches are known to be refused', () => {
    const limits = new BatchSize(100)
    limits.failed(100)
    worked(limits, 1)
    limits.failed(1)
    expect(limits.next).toBe(1)
  })

  describe('after POSTs that failed without a reason, one after the other', () => {
    let now = 0
    /** A POST is sent and fails. */
    const fail = (limits: BatchSize, length: number, bytes = 0) => limits.failedUnexplained({ length, bytes, sentAt: ++now, now: ++now })
    const answer = (limits: BatchSize, length: number, bytes = 0) => {
      limits.took(length, false)
      worked(limits, length, bytes)
    }

    test('is halved from the second on, until one is answered, and the old one is tried again later', () => {
      const limits = new BatchSize(100)
      expect([fail(limits, 100), limits.calls]).toEqual([false, 100])
      expect([fail(limits, 100), limits.calls]).toEqual([true, 50])
      expect([fail(limits, 50), limits.calls]).toEqual([true, 25])
      answer(limits, 25)
      expect([fail(limits, 26), limits.calls]).toEqual([false, 25])
      for (let i = 0; i < 20; i++) answer(limits, 25)
      expect(limits.next).toBe(100)
    })

    test('does not change for POSTs that were under way when the first one failed', () => {
      const limits = new BatchSize(100)
      const at = ++now
      fail(limits, 100)
      const early = { length: 100, bytes: 0, sentAt: at, now: ++now }
      expect([limits.failedUnexplained(early), limits.calls]).toEqual([false, 100])
      fail(limits, 100)
      // It is known by now that it was too long.
      expect([limits.failedUnexplained(early), limits.calls]).toEqual([true, 50])
    })

    test('does not change where as long ones, with as much in them, have been answered', () => {
      const limits = new BatchSize(100)
      answer(limits, 100, 5000)
      for (let i = 0; i < 20; i++) expect(fail(limits, 100, 5000)).toBe(false)
      expect(limits.calls).toBe(100)
      for (let i = 0; i < 2; i++) fail(limits, 100, 500_000)
      expect(limits.calls).toBe(50)
    })

    test.each([
      [1, [8, 8, 4, 2, 1, 8, 8, 8, 8, 8, 8, 8, 8, 4, 2, 1, 8, 8]],
      [2, [8, 8, 4, 2, 8, 8, 8, 8, 8, 8, 8, 8, 4, 2, 8, 8, 8, 8]],
    ])('is what it was if POSTs fail that were taken before, of %i, and is doubted ever less', (taken, expected) => {
      const limits = new BatchSize(8)
      answer(limits, taken)
      const lengths = expected.map(() => {
        const { calls } = limits
        fail(limits, calls)
        return calls
      })
      expect(lengths).toEqual(expected)
      answer(limits, 8)
      expect(limits.calls).toBe(8)
    })
  })

  test('is what the endpoint answers of a batch, twice', () => {
    const limits = new BatchSize(100)
    limits.answeredOnly(5, 100)
    limits.answeredOnly(7, 100)
    expect(limits.calls).toBe(100)
    limits.answeredOnly(7, 93)
    expect(limits.calls).toBe(7)
  })

  test('does not change where a reply is missing of batches that were answered before', () => {
    const limits = new BatchSize(100)
    limits.took(50, false)
    for (let i = 0; i < 3; i++) limits.answeredOnly(5, 50)
    expect(limits.calls).toBe(100)
  })

  test('does not change where one reply is missing, and a longer one that is tried fails with it', () => {
    const limits = new BatchSize(100)
    for (let i = 0; i < 3; i++) limits.answeredOnly(99, 100)
    expect(limits.calls).toBe(100)
    timedOut(limits, 20)
    for (let i = 0; i < 20; i++) worked(limits, 10)
    expect(limits.next).toBe(11)
    limits.start(11)
    limits.answeredOnly(10, 11)
    limits.end(11, false)
    expect(limits.next).toBe(10)
  })

  test('is always from 1 to the longest', () => {
    const event = fc.oneof(
      ...(['refused', 'timedOut', 'throttled', 'failed', 'start', 'end'] as const).map((what) => fc.tuple(fc.constant(what), fc.integer({ min: 1, max: 200 }))),
      ...(['worked', 'tooLarge'] as const).map((what) => fc.tuple(fc.constant(what), fc.integer({ min: 1, max: 200 }), fc.integer({ min: 0, max: 3 * MiB }))),
    )
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.array(event, { maxLength: 300 }), (maxCalls, events) => {
        const limits = new BatchSize(maxCalls)
        for (const [what, length, bytes = 0] of events) {
          if (what === 'worked') worked(limits, length, bytes)
          else if (what === 'timedOut') timedOut(limits, length)
          else if (what === 'end') limits.end(length, false)
          else limits[what](length, bytes)
          for (const each of [limits.calls, limits.next]) {
            expect(each).toBeGreaterThanOrEqual(1)
            expect(each).toBeLessThanOrEqual(maxCalls)
          }
          expect(limits.body.bytes).toBeGreaterThan(0)
          expect(limits.body.bytes).toBeLessThanOrEqual(4 * MiB)
        }
      }),
      { seed: 8 },
    )
  })
})

describe('replies that were refused for their size', () => {
  test('leave the length of batches alone', () => {
    const limits = new BatchSize(100)
    worked(limits, 10, 0.5 * MiB)
    limits.tooLarge(30, 1.4 * MiB)
    expect(limits.calls).toBe(100)
    expect(limits.body.isFull(1 * MiB, 0.1 * MiB, 'bulk')).toBe(true)
  })

  test('lead to fewer calls where their size was answered before, or is small', () => {
    const limits = new BatchSize(100)
    worked(limits, 10, MiB)
    limits.tooLarge(30, MiB)
    expect(limits.calls).toBe(15)
    const small = new BatchSize(100)
    small.tooLarge(100, 100 * 1024 * 0.5)
    expect(small.calls).toBe(50)
  })
})

describe('a batch with larger replies than any before', () => {
  test('that fails without a reason, or times out, gets smaller ones and not fewer calls', () => {
    for (const fail of [
      (limits: BatchSize) => limits.failedUnexplained({ length: 20, bytes: 2 * MiB, sentAt: 1, now: 2 }),
      (limits: BatchSize) => limits.timedOut({ length: 20, bytes: 2 * MiB, sentAt: 1, now: 2 }),
    ]) {
      const limits = new BatchSize(100)
      worked(limits, 15, 1.5 * MiB)
      expect(limits.body.bytes).toBeGreaterThan(1.5 * MiB)
      fail(limits)
      expect([limits.calls, limits.body.bytes]).toEqual([100, 1.5 * MiB])
    }
  })

  test('that fails although bodies cannot be smaller, or times out, gets fewer calls', () => {
    for (const fail of [
      (limits: BatchSize) => {
        limits.failedUnexplained({ length: 16, bytes: 1.6 * MiB, sentAt: 1, now: 2 })
        limits.failedUnexplained({ length: 16, bytes: 1.6 * MiB, sentAt: 3, now: 4 })
      },
      (limits: BatchSize) => limits.timedOut({ length: 16, bytes: 1.6 * MiB, sentAt: 1, now: 2 }),
    ]) {
      const limits = new BatchSize(100)
      worked(limits, 10, MiB)
      fail(limits)
      expect(limits.calls).toBe(8)
    }
  })
})
