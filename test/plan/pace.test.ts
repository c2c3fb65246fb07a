import { createClient } from 'hexline'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { Counts } from '../../src/plan/counting-client.ts'
import { known } from '../../src/plan/estimate.ts'
import { durationOf, postsFor } from '../../src/plan/pace.ts'

const URL = 'http://127.0.0.1:1'
const plain = {} as Client
const MiB = 1024 * 1024

describe('POSTs', () => {
  const requests = { calls: known(1002), bytes: known(1002), single: 2, ahead: 256 }

  it('are full, or the last one of each round is not', () => {
    // 10 of 100 calls; or 3 rounds of 100, 100 and 56, and 232 calls in 3 more.
    expect(postsFor(plain, requests)).toEqual({ posts: { value: (12 + 14) / 2, low: 12, high: 14 }, callsPerPost: 100 })
    expect(postsFor(plain, { ...requests, ahead: 200 }).posts).toEqual(known(12))
    expect(postsFor(plain, { ...requests, calls: known(257), single: 1 }).posts).toEqual(known(4))
  })

  it('take as many calls as the endpoint may get', () => {
    const client = createClient(URL, { batch: { maxCalls: 20 } })
    expect(postsFor(client, requests)).toMatchObject({ callsPerPost: 20, posts: { low: 52 } })
    expect(postsFor(createClient(URL, { batch: false }), requests)).toMatchObject({ callsPerPost: 1, posts: { low: 1002, high: 1002 } })
  })

  it('take fewer calls with large replies, but at least one', () => {
    expect(postsFor(plain, { ...requests, bytes: known(1002 * 0.25 * MiB) }).callsPerPost).toBe(7)
    expect(postsFor(plain, { ...requests, bytes: known(1002 * 9 * MiB) })).toMatchObject({ callsPerPost: 1, posts: known(1002) })
  })

  it('are as uncertain as the calls', () => {
    const { posts } = postsFor(plain, { ...requests, calls: { value: 1002, low: 502, high: 2002 } })
    expect(posts).toMatchObject({ low: 7, high: 2 + 7 * 3 + 3 })
  })
})

describe('the time', () => {
  /** The sample's POSTs: 100 ms each, and 1 ms for each kB. */
  const counts = new Counts()
  for (const kB of [10, 50, 200]) counts.posts.set({ calls: 10, bytes: 1000 * kB, wireBytes: 1000 * kB }, 100 + kB)
  const load = { calls: { eth_getBlockByNumber: known(700), eth_chainId: known(20) }, posts: known(70), wireBytes: { value: 5e6, low: 4e6, high: 6e6 } }

  it('without a rate, is what the POSTs take, some at a time, and their bytes one after the other', () => {
    // 8 at a time for other clients, of which one is spared; bytes may share lines, at the least.
    const { seconds, limitedBy, rate } = durationOf(plain, load, counts)
    expect({ limitedBy, rate }).toEqual({ limitedBy: 'node', rate: null })
    expect(seconds.value).toBeCloseTo((70 * 0.1) / 7 + 5)
    expect(seconds.low).toBeCloseTo((70 * 0.1) / 7 + 4 / 7)
    expect(seconds.high).toBeCloseTo((70 * 0.1) / 7 + 6)
  })

  it('with a rate, is what that makes it, unless the node is slower', () => {
    const at = (callsPerSecond: number) => durationOf(createClient(URL, { rate: { callsPerSecond } }), load, counts)
    expect(at(10)).toEqual({ seconds: known(72), limitedBy: 'rate', rate: { perSecond: 10, of: 'calls' } })
    expect(at(1000)).toMatchObject({ limitedBy: 'node', rate: { perSecond: 1000, of: 'calls' } })
    const units = { unitsPerSecond: 100, units: { eth_getBlockByNumber: 20, eth_chainId: 0 } }
    expect(durationOf(createClient(URL, { rate: units }), load, counts)).toEqual({
      ...{ seconds: known(140), limitedBy: 'rate', rate: { perSecond: 100, of: 'units' } },
    })
  })

  it('has no latency below zero, and takes no time for bytes where larger replies are no slower', () => {
    const of = (times: readonly (readonly [wireBytes: number, ms: number])[]) => {
      const other = new Counts()
      for (const [wireBytes, ms] of times) other.posts.set({ calls: 1, bytes: wireBytes, wireBytes }, ms)
      return durationOf(plain, load, other).seconds
    }
    // Steeper than a line through nothing: all of it is due to bytes.
    expect(
      of([
        [1000, 1],
        [3000, 30],
      ]).value,
    ).toBeCloseTo(((15.5 / 2000) * 5e6) / 1000)
    expect(
      of([
        [1000, 30],
        [3000, 10],
      ]).value,
    ).toBeCloseTo((70 * 0.02) / 7)
    expect(of([[1000, 20]]).value).toBeCloseTo((70 * 0.02) / 7)
    expect(of([]).value).toBe(0)
  })
})
