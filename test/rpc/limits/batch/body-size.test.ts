import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BodySize } from '../../../../src/rpc/limits/batch/body-size.ts'

const MiB = 1024 * 1024

/** A POST with this many expected bytes was answered in full: by default after a round trip. */
const worked = (body: BodySize, bytes: number, { tookMs = 100, roundTripMs = 100, noneWaited = false } = {}) =>
  body.answered({ length: 10, bytes, tookMs, roundTripMs, noneWaited })

/**
 * Sends POSTs of bulk calls, each as large as is good, to an endpoint that is this far away and
 * sends this many bytes per ms. Returns the size of the last one.
 */
function work(body: BodySize, posts: number, { roundTripMs, perMs = Number.POSITIVE_INFINITY }: { roundTripMs: number; perMs?: number }): number {
  for (let i = 0; i < posts; i++) worked(body, body.bytes, { roundTripMs, tookMs: roundTripMs + body.bytes / perMs })
  return body.bytes
}

/** A POST is sent now and fails at once. */
const failed = (body: BodySize, bytes: number) => body.failed({ length: 10, bytes, sentAt: ++time, now: ++time })
let time = 0

describe('the body of bulk calls', () => {
  test('grows to 4 MiB while most of the time is latency', () => {
    expect(work(new BodySize(), 4, { roundTripMs: 100 })).toBeGreaterThan(3 * MiB)
    expect(work(new BodySize(), 100, { roundTripMs: 100 })).toBe(4 * MiB)
  })

  test('stays where it is while most of the time is transfer, and no latency is no reason to grow', () => {
    expect(work(new BodySize(), 100, { roundTripMs: 10, perMs: MiB / 50 })).toBe(1.5 * MiB)
    expect(work(new BodySize(), 100, { roundTripMs: 0, perMs: MiB / 50 })).toBe(1.5 * MiB)
    expect(work(new BodySize(), 100, { roundTripMs: 0 })).toBe(1.5 * MiB)
  })

  test('settles where a POST takes two or three round trips', () => {
    const bytes = work(new BodySize(), 100, { roundTripMs: 100, perMs: MiB / 50 })
    expect(100 + (bytes / MiB) * 50).toBeGreaterThan(200)
    expect(100 + (bytes / MiB) * 50).toBeLessThan(300)
  })

  test('shrinks again when the endpoint gets slower, and grows again', () => {
    const body = new BodySize()
    work(body, 100, { roundTripMs: 100 })
    expect(work(body, 100, { roundTripMs: 100, perMs: MiB / 1000 })).toBe(1.5 * MiB)
    expect(work(body, 100, { roundTripMs: 100 })).toBe(4 * MiB)
  })

  test('does not grow for POSTs that are not full', () => {
    const body = new BodySize()
    for (let i = 0; i < 100; i++) worked(body, MiB)
    expect(body.bytes).toBe(1.5 * MiB)
  })

  test('does not grow where no call waits for a slot', () => {
    const body = new BodySize()
    for (let i = 0; i < 100; i++) worked(body, body.bytes, { noneWaited: true })
    expect(body.bytes).toBe(1.5 * MiB)
  })

  test('never again exceeds 3/4 of one that failed without a reason, whatever was answered', () => {
    const body = new BodySize()
    work(body, 3, { roundTripMs: 100 })
    expect(failed(body, 3 * MiB)).toBe(true)
    expect(work(body, 100, { roundTripMs: 100 })).toBe(2.25 * MiB)
    expect(failed(body, 2.5 * MiB)).toBe(true)
    expect(work(body, 100, { roundTripMs: 100 })).toBe(1.875 * MiB)
  })

  test('does not shrink for a failure of what was answered before, or of what was good at first', () => {
    const body = new BodySize()
    work(body, 100, { roundTripMs: 100 })
    expect(failed(body, 4 * MiB)).toBe(false)
    expect(body.bytes).toBe(4 * MiB)
    expect(failed(new BodySize(), 1.5 * MiB)).toBe(false)
  })

  test('cannot be smaller where it has not grown: its bytes are no reason then, but for those sent before it became smaller', () => {
    const body = new BodySize()
    worked(body, MiB)
    expect(body.failed({ length: 10, bytes: 2.8 * MiB, sentAt: 1, now: 2 })).toBe(false)
    work(body, 1, { roundTripMs: 100 })
    const sent = body.bytes
    expect(sent).toBeGreaterThan(1.5 * MiB)
    expect(body.failed({ length: 10, bytes: sent, sentAt: 3, now: 10 })).toBe(true)
    expect(body.failed({ length: 10, bytes: sent, sentAt: 4, now: 11 })).toBe(true)
    expect(body.bytes).toBe(1.5 * MiB)
    expect(body.failed({ length: 10, bytes: 2.8 * MiB, sentAt: 12, now: 13 })).toBe(false)
  })

  test('interactive calls keep to 1.5 MiB', () => {
    const body = new BodySize()
    work(body, 100, { roundTripMs: 100 })
    expect(body.isFull(1.5 * MiB, 1, 'interactive')).toBe(true)
    expect(body.isFull(1.5 * MiB, 1, 'bulk')).toBe(false)
    expect(body.isFull(4 * MiB, 1, 'bulk')).toBe(true)
  })
})

describe('a size that was refused', () => {
  test('is not requested again', () => {
    const body = new BodySize()
    worked(body, 0.5 * MiB)
    expect(body.refused(1.4 * MiB)).toBe(true)
    for (const priority of ['interactive', 'bulk'] as const) {
      expect(body.isFull(1 * MiB, 0.1 * MiB, priority)).toBe(true)
      expect(body.isFull(0.9 * MiB, 0.1 * MiB, priority)).toBe(false)
    }
  })

  test('leaves what was answered, and is no reason where that was as large, or where it is small', () => {
    const body = new BodySize()
    worked(body, MiB)
    expect(body.refused(1.1 * MiB)).toBe(true)
    expect(body.bytes).toBe(MiB)
    expect(body.refused(MiB)).toBe(false)
    expect(body.bytes).toBe(MiB)
    expect(new BodySize().refused(50 * 1024)).toBe(false)
  })

  test('is tried again, and a single larger call is still sent', () => {
    const body = new BodySize()
    body.refused(1.4 * MiB)
    expect(body.isFull(0, 10 * MiB, 'bulk')).toBe(false)
    for (let i = 0; i < 1000; i++) worked(body, body.bytes)
    expect(body.bytes).toBe(4 * MiB)
  })

  test('counts also where it is larger than bodies grow to', () => {
    const body = new BodySize()
    expect(body.refused(8 * MiB)).toBe(true)
    expect(work(body, 100, { roundTripMs: 100 })).toBe(4 * MiB)
    expect(body.isFull(3.9 * MiB, 2.2 * MiB, 'bulk')).toBe(true)
    expect(body.isFull(3.9 * MiB, 2 * MiB, 'bulk')).toBe(false)
  })

  test('by a limit of hexline’s own is never passed', () => {
    const body = new BodySize()
    body.stayWithin(MiB)
    for (let i = 0; i < 1000; i++) worked(body, body.bytes)
    expect(body.bytes).toBe(0.75 * MiB)
  })
})

test('whatever happens, the size is within its bounds, and a first call always fits', () => {
  const bytes = fc.integer({ min: 0, max: 50 * MiB })
  const ms = fc.integer({ min: 0, max: 60_000 })
  const event = fc.oneof(
    fc.tuple(fc.constant('worked' as const), bytes, ms, ms),
    fc.tuple(fc.constantFrom('refused' as const, 'failed' as const), bytes, fc.constant(0), fc.constant(0)),
    fc.tuple(fc.constant('stayWithin' as const), fc.integer({ min: 1024, max: 50 * MiB }), fc.constant(0), fc.constant(0)),
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 200 }), (events) => {
      const body = new BodySize()
      for (const [what, size, tookMs, roundTripMs] of events) {
        if (what === 'failed') failed(body, size)
        else if (what === 'worked') worked(body, size, { tookMs, roundTripMs })
        else body[what](size)
        expect(body.bytes).toBeGreaterThan(0)
        expect(body.bytes).toBeLessThanOrEqual(4 * MiB)
        expect(body.isFull(0, 100 * MiB, 'bulk')).toBe(false)
      }
    }),
    { seed: 8 },
  )
})
