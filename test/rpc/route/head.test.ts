import { describe, expect, test } from 'vitest'
import { Heads } from '../../../src/rpc/route/head.ts'

describe('the heads of several endpoints', () => {
  test('the lag of an endpoint is measured when it reports its head: a long silence does not mean lag', () => {
    const heads = new Heads()
    const [a, b] = [heads.add(0), heads.add(0)]
    heads.isAt(a, 100, 0)
    heads.isAt(b, 104, 60_000)
    expect([a, b].map((each) => heads.isBehind(each))).toEqual([false, false])
    heads.isAt(a, 101, 60_001)
    expect([a, b].map((each) => heads.isBehind(each))).toEqual([true, false])
    expect([104, 102, 101].map((number) => heads.isBelow(a, number))).toEqual([true, true, false])
    heads.isAt(a, 104, 61_000)
    expect(heads.isBehind(a)).toBe(false)
  })

  test('heads reported while another endpoint is being asked are compared with its reply', () => {
    const heads = new Heads()
    const [stuck, fresh, old] = [heads.add(0), heads.add(0), heads.add(0)]
    heads.isAt(old, 90, 999, 990)
    heads.isAt(stuck, 90, 1_020, 1_000)
    heads.isAt(fresh, 100, 1_300, 1_000)
    expect([stuck, fresh, old].map((each) => heads.isBehind(each))).toEqual([true, false, false])
    // It is asked again at once, since the other one may only have reported later.
    expect(stuck.askAt).toBeLessThanOrEqual(1_300)
  })

  test('a lag of one block is tolerated, and a block that an endpoint has raises its head', () => {
    const heads = new Heads()
    const [a, b] = [heads.add(0), heads.add(0)]
    heads.isAt(a, 100, 0)
    heads.isAt(b, 99, 0)
    expect(heads.isBehind(b)).toBe(false)
    heads.isAt(b, 90, 0)
    expect(heads.isBehind(b)).toBe(true)
    heads.has(b, 100)
    expect(heads.isBehind(b)).toBe(false)
  })

  test('a missing block shows the lag of an endpoint only if another one has that block', () => {
    const heads = new Heads()
    const [a, b] = [heads.add(0), heads.add(0)]
    heads.isAt(a, 100, 0)
    heads.lacks(b, 500, 0)
    expect(b.lag).toBe(0)
    heads.lacks(b, 97, 0)
    expect(b.lag).toBe(4)
    // When one goes back, the others do not lag behind a block that no endpoint has.
    heads.isAt(a, 10, 0)
    heads.isAt(b, 10, 0)
    expect([a.lag, b.lag]).toEqual([0, 0])
  })

  test('an endpoint that is behind is asked again sooner', () => {
    const heads = new Heads()
    const [a, b] = [heads.add(0), heads.add(0)]
    heads.isAt(a, 100, 0)
    heads.isAt(b, 90, 0)
    expect(b.askAt).toBeLessThan(a.askAt)
  })
})
