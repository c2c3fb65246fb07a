import { keccak_256 } from '@noble/hashes/sha3.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BloomBuilder, BloomTest, isBloom, isEmptyBloom } from '../../src/eth/bloom.ts'
import { runs } from '../support/runs.ts'

const item = (bytes: number) => fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((raw) => `0x${Buffer.from(raw).toString('hex')}`)
const logs = fc.array(fc.record({ address: item(20), topics: fc.array(item(32), { maxLength: 4 }) }), { maxLength: 20 })

/** The bloom as the Yellow Paper defines it, as one large number. */
function bloomOf(items: readonly string[]): string {
  let bloom = 0n
  for (const each of items) {
    const hash = keccak_256(Buffer.from(each.slice(2), 'hex'))
    for (const at of [0, 2, 4]) bloom |= 1n << BigInt((((hash[at] as number) << 8) | (hash[at + 1] as number)) & 2047)
  }
  return `0x${bloom.toString(16).padStart(512, '0')}`
}

describe('BloomBuilder', () => {
  test('makes the bloom of any logs', () => {
    const builder = new BloomBuilder()
    fc.assert(
      fc.property(logs, (given) => {
        const bloom = builder.of(given)
        expect(isBloom(bloom)).toBe(true)
        expect(bloom).toBe(bloomOf(given.flatMap(({ address, topics }) => [address, ...topics])))
      }),
      runs(200),
    )
  })

  test.each([
    [{ address: '0x1\u0132', topics: [] }, '[1].address'],
    [{ address: '0X12', topics: [] }, '[1].address'],
    [{ address: '0x12', topics: ['0x34', '0x5g'] }, '[1].topics[1]'],
    [{ address: '0x12', topics: [null as never] }, '[1].topics[0]'],
  ])('refuses %o, which is not hex', (log, path) => {
    expect(() => new BloomBuilder().of([{ address: '0x12', topics: [] }, log])).toThrow(`${path}: expected bytes in hex, received`)
  })

  test.each([null, undefined, '0x12', { length: 1 }])('refuses topics that are no array: %o', (topics) => {
    expect(() => new BloomBuilder().of([{ address: '0x12', topics: topics as never }])).toThrow('[0].topics: expected an array, received')
  })

  test('makes the same one when it has forgotten what it knew', () => {
    const builder = new BloomBuilder()
    const address = `0x${'ab'.repeat(20)}`
    const first = builder.of([{ address, topics: [] }])
    for (let i = 0; i < 10_000; i++) builder.of([{ address: `0x${i.toString(16).padStart(40, '0')}`, topics: [] }])
    expect(builder.of([{ address, topics: [] }])).toBe(first)
  })
})

test('a bloom is empty without logs, and then matches nothing', () => {
  const address = `0x${'0'.repeat(40)}`
  const empty = new BloomBuilder().of([])
  const one = new BloomBuilder().of([{ address, topics: [] }])
  expect([isEmptyBloom(empty), isEmptyBloom(one)]).toEqual([true, false])
  expect([new BloomTest([]).mayMatch(empty), new BloomTest([]).mayMatch(one)]).toEqual([false, true])
  expect(new BloomTest([[address]]).mayMatch(empty)).toBe(false)
})

describe('BloomTest', () => {
  test('matches every item of a bloom', () => {
    fc.assert(
      fc.property(logs, (given) => {
        const bloom = bloomOf(given.flatMap(({ address, topics }) => [address, ...topics]))
        return given.every(({ address, topics }) =>
          new BloomTest([[address], ...topics.map((topic) => [topic])]).mayMatch(bloom.toUpperCase().replace('X', 'x')),
        )
      }),
      runs(100),
    )
  })

  test('does not match an item that is not in it', () => {
    const [one, other] = [`0x${'01'.repeat(20)}`, `0x${'02'.repeat(20)}`]
    expect(new BloomTest([[other]]).mayMatch(bloomOf([one]))).toBe(false)
    expect(new BloomTest([[other, one]]).mayMatch(bloomOf([one]))).toBe(true)
  })
})
