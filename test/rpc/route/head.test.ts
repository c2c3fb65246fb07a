import { describe, expect, test } from 'vitest'
import { Heads } from '../../../src/rpc/route/head.ts'

describe('the heads of several endpoints', () => {
  test('the lag of an endpoint is measured when it reports its head: a long silence does not mean lag', () => {
    const heads = new Heads()
    const [a, b] = [heads.add(0), heads.add(0)]
    heads.told(a, 100, 0)
    heads.told(b, 104, 60_000)
    expect([a, b].map((each) => heads.isBehind(each))).toEqual([false, false])
    heads.told(a, 101, 60_001)
    expect([a, b].map((each) => heads.isBehind(each))).toEqual([true, false])
    expect([104, 102, 101].map((number) => heads.isBelow(a, number))).toEqual([true, true, false])
    heads.told(a, 104, 61_000)
    expect(heads.isBehind(a)).toBe(false)
  })

  test('heads reported while another endpoint is being asked are compared with its reply', () => {
    const heads = new Heads()
    const [stuck, fresh, old] = [heads.add(0), heads.add(0), heads.add(0)]
    heads.told(old, 90, 999, 990)
    heads.told(stuck, 90, 1_020, 1_000)
    heads.told(fresh, 100, 1_300, 1_000)
    expect([stuck, fresh, old].map((each) => heads.isBehind(each))).toEqual([true, false, false])
    // It is asked again at once, since the other one may only have reported later.
    expect(stuck.askAt).toBeLessThanOrEqual(1_300)
  })

  test('a lag of one block is tolerated, and a block that an endpoint has raises its head', () => {
    const heads = new Heads()
    const [a, b] = [heads.add(0), heads.add(0)]
    heads.told(a, 100, 0)
    heads.told(b, 99, 0)
    expect(heads.isBehind(b)).toBe(false)
    heads.told(b, 90, 0)
    expect(heads.isBehind(b)).toBe(true)
    heads.answeredFor(b, 100)
    expect(heads.isBehind(b)).toBe(false)
  })

  test('a missing block shows the lag of an endpoint only if another one has that block', () => {
    const heads = new Heads()
    const [a, b] = [heads.add(0), heads.add(0)]
    heads.told(a, 100, 0)
    heads.missed(b, 500, 0)
    expect(b.lag).toBe(0)
    heads.missed(b, 97, 0)
    expect(b.lag).toBe(4)
    // When one goes back, the others do not lag behind a block that no endpoint has.
    heads.told(a, 10, 0)
    heads.told(b, 10, 0)
    expect([a.lag, b.lag]).toEqual([0, 0])
  })

  test('an endpoint may lack a block that another one has, until it has told of it; where its head is doubted, until it has answered for it', () => {
    const heads = new Heads()
    const [a, b] = [heads.add(0), heads.add(0)]
    expect(heads.mayLack(a, 0)).toBe(false)
    heads.told(b, 100, 0)
    expect([100, 101].map((number) => heads.mayLack(a, number))).toEqual([true, false])
    expect([100, 101].map((number) => heads.mayLack(b, number))).toEqual([false, false])
    heads.told(a, 1_000, 0)
    expect(heads.mayLack(a, 100)).toBe(false)
    heads.missedClaimed(a, 500, 0, 0)
    expect(heads.mayLack(a, 100)).toBe(true)
    heads.answeredFor(a, 100)
    expect(heads.mayLack(a, 100)).toBe(false)
  })

  test('an endpoint that is behind is asked again sooner', () => {
    const heads = new Heads()
    const [a, b] = [heads.add(0), heads.add(0)]
    heads.told(a, 100, 0)
    heads.told(b, 90, 0)
    expect(b.askAt).toBeLessThan(a.askAt)
  })
})

describe('a head that does not exist', () => {
  /** One that tells a head far too high, beside one that is right; each lacks the blocks above. */
  function told(head = 1_000_000) {
    const heads = new Heads()
    const [liar, other] = [heads.add(0), heads.add(0)]
    heads.told(liar, head, 0)
    heads.told(other, 100, 0)
    return { heads, liar, other }
  }
  /** The liar lacks a block `times` times, with `everyMs` between them. */
  const lacks = ({ heads, liar }: ReturnType<typeof told>, number: number, times: number, everyMs: number, from = 0) => {
    for (let at = from; at < from + times * everyMs; at += everyMs) if (heads.claimsAlone(liar, number)) heads.missedClaimed(liar, number, at, at)
  }

  test('is believed until its endpoint has lacked blocks far below it for some seconds; then the others are not behind', () => {
    const world = told()
    const { heads, liar, other } = world
    lacks(world, 999_000, 3, 2_000)
    expect([liar, other].map((each) => heads.isBehind(each))).toEqual([false, true])
    lacks(world, 999_000, 1, 1_000, 6_000)
    expect([liar, other].map((each) => heads.isBehind(each))).toEqual([true, false])
    expect(heads.newest).toBe(100)
    // It goes on, and its blocks are right.
    heads.told(liar, 1_000_001, 7_000)
    heads.answeredFor(liar, 101)
    expect(heads.newest).toBe(101)
    expect([liar, other].map((each) => heads.isBehind(each))).toEqual([true, false])
    heads.told(liar, 102, 8_000)
    expect(heads.isBehind(liar)).toBe(false)
    expect(heads.newest).toBe(102)
  })

  test('draws no more calls for such blocks than the others get, as soon as one has been missing', () => {
    const world = told()
    const { heads, liar, other } = world
    expect([liar, other].map((each) => heads.isBelow(each, 999_000))).toEqual([false, true])
    lacks(world, 998_000, 1, 1_000)
    expect([liar, other].map((each) => heads.isBelow(each, 999_000))).toEqual([true, true])
  })

  test.each([
    ['is a few blocks below the head', 999_990, 10, 1_000],
    ['is known to another endpoint', 99, 10, 1_000],
    ['is missing for a moment only', 999_000, 10, 10],
    ['is missing once in a while', 999_000, 10, 100_000],
  ])('is not concluded from a block that %s', (_, number, times, everyMs) => {
    const world = told()
    lacks(world, number, times, everyMs)
    expect(world.heads.newest).toBe(1_000_000)
  })

  test('is not concluded where the endpoint has answered for such a block or a newer one in the meantime', () => {
    const world = told()
    for (let i = 0; i < 10; i++) {
      lacks(world, 999_000 + i, 3, 2_000)
      world.heads.answeredFor(world.liar, 999_000 + i)
    }
    expect(world.heads.newest).toBe(1_000_000)
  })

  test('is not concluded from calls sent together', () => {
    const world = told()
    const { heads, liar } = world
    for (let i = 0; i < 10; i++) heads.missedClaimed(liar, 999_000 + i, 0, i * 1_000)
    expect(heads.newest).toBe(1_000_000)
  })

  test('is true after all where the endpoint answers for a block near it', () => {
    const world = told()
    const { heads, liar } = world
    lacks(world, 999_000, 4, 1_000)
    heads.answeredFor(liar, 1_000_000)
    heads.told(liar, 1_000_001, 5_000)
    expect(heads.isBehind(liar)).toBe(false)
    expect(heads.newest).toBe(1_000_001)
  })
})
