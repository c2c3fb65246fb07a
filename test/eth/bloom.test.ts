import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BloomBuilder, BloomTest, isBloom, isEmptyBloom } from '../../src/eth/bloom.ts'
import { runs } from '../support/runs.ts'

const hex = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((each) => `0x${Buffer.from(each).toString('hex')}`)
const logs = fc.array(fc.record({ address: hex(20), topics: fc.array(hex(32), { maxLength: 4 }) }), { maxLength: 20 })

describe('a bloom', () => {
  it('of logs may match each of their addresses and topics', () => {
    fc.assert(
      fc.property(logs, (given) => {
        const bloom = new BloomBuilder().of(given)
        expect(isBloom(bloom)).toBe(true)
        for (const { address, topics } of given) {
          const groups = [[`0x${'0'.repeat(40)}`, address], ...topics.map((topic) => [topic])]
          expect(new BloomTest(groups).mayMatch(bloom)).toBe(true)
          expect(new BloomTest(groups).mayMatch(bloom.toUpperCase().replace('X', 'x'))).toBe(true)
        }
      }),
      runs(200),
    )
  })

  it('is empty without logs, and then matches nothing', () => {
    const empty = new BloomBuilder().of([])
    const one = new BloomBuilder().of([{ address: `0x${'0'.repeat(40)}`, topics: [] }])
    expect([isEmptyBloom(empty), isEmptyBloom(one)]).toEqual([true, false])
    expect([new BloomTest([]).mayMatch(empty), new BloomTest([]).mayMatch(one)]).toEqual([false, true])
    expect(new BloomTest([[`0x${'0'.repeat(40)}`]]).mayMatch(empty)).toBe(false)
  })
})
