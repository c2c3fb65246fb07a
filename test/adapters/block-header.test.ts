import { describe, expect, test } from 'vitest'
import { readHeader, readNumber } from '../../adapters/block-header.ts'

describe('the header of a block', () => {
  test('is its number, its hash and that of its parent', () => {
    const raw = { number: '0x10', hash: '0xa', parentHash: '0x9', gasUsed: '0x0' }
    expect(readHeader(raw)).toEqual({ number: 16, hash: '0xa', parentHash: '0x9' })
  })

  test.each([undefined, null, 9])('has no parent where the node sends %s', (parentHash) => {
    expect(readHeader({ number: '0x10', hash: '0xa', parentHash })).toEqual({ number: 16, hash: '0xa', parentHash: undefined })
  })

  test.each([undefined, null, 'a head', {}, { number: '0x10' }, { number: '0x10', hash: null }, { number: null, hash: '0xa' }])(
    'is not read from %o',
    (raw) => {
      expect(readHeader(raw)).toBeUndefined()
    },
  )
})

test.each([null, {}, { number: null }, { number: '' }, { number: 'x' }, { number: 5 }, { number: '0x20000000000000' }])('%o has no number', (raw) => {
  expect(readNumber(raw)).toBeUndefined()
})
