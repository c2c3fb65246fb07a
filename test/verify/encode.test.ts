import { RLP } from '@ethereumjs/rlp'
import { describe, expect, test } from 'vitest'
import { CodecError } from '../../src/index.ts'
import { address, addressOrNone, bytes, flag, hash, layout, listOf, quantity, quantityOrZero, record, type Write, writeItems } from '../../src/verify/encode.ts'
import { RlpWriter } from '../../src/verify/rlp.ts'
import { written } from '../support/written.ts'

const writer = new RlpWriter()
const encoded = (write: Write, value: unknown): string => {
  writer.clear()
  write(writer, value)
  return written(writer)
}
const oracle = (value: unknown) => `0x${Buffer.from(RLP.encode(value as never)).toString('hex')}`
const a20 = `0x${'a1'.repeat(20)}`
const b32 = `0x${'b2'.repeat(32)}`

describe('a value', () => {
  test.each<[string, Write, unknown, unknown]>([
    ['a quantity', quantity, 1024n, 1024],
    ['bytes', bytes, '0x0102', Uint8Array.of(1, 2)],
    ['a hash', hash, b32, b32],
    ['an address', address, a20, a20],
    ['no address', addressOrNone, null, ''],
    ['an address left out', addressOrNone, undefined, ''],
    ['an address where there may be none', addressOrNone, a20, a20],
    ['a quantity left out', quantityOrZero, undefined, 0],
    ['a quantity of null', quantityOrZero, null, 0],
    ['a quantity that is there', quantityOrZero, 7, 7],
    ['true', flag, true, 1],
    ['false', flag, false, 0],
    ['a flag left out', flag, undefined, 0],
    ['a flag of null', flag, null, 0],
  ])('%s', (_, write, value, expected) => expect(encoded(write, value)).toBe(oracle(expected)))

  test.each<[string, Write, unknown]>([
    ['a hash of 31 bytes', hash, b32.slice(0, -2)],
    ['a hash as an address', address, b32],
    ['a hash as an address that may be none', addressOrNone, b32],
    ['an empty address', addressOrNone, '0x'],
    ['a quantity below zero', quantityOrZero, -1],
    ['text as a flag', flag, 'true'],
    ['a number as a flag', flag, 1],
  ])('refuses %s', (_, write, value) => expect(() => encoded(write, value)).toThrow(CodecError))
})

describe('a list', () => {
  test('has its items in their order, and none where it is absent', () => {
    expect(encoded(listOf(quantity), [1, 2, 300])).toBe(oracle([1, 2, 300]))
    for (const empty of [undefined, null, []]) expect(encoded(listOf(quantity), empty)).toBe('0xc0')
  })

  test('names the item that is wrong', () => {
    expect(() => encoded(listOf(quantity), [1, -2, 3])).toThrow('[1]: expected a quantity')
    expect(() => encoded(listOf(quantity), 'x')).toThrow('expected an array, received "x"')
    expect(() => encoded(listOf(listOf(hash)), [[], [b32, '0x']])).toThrow('[1][1]: expected 32 bytes')
  })
})

describe('an object', () => {
  const items = layout(['one', quantity], ['two', quantity, 'second'], ['three', quantityOrZero])

  test('is the list of its items, whatever the order of its fields', () => {
    expect(encoded(record(items), { three: 3, extra: 'x', two: 2, one: 1 })).toBe(oracle([1, 2, 3]))
  })

  test('takes another field only for one that is absent', () => {
    for (const two of [undefined, null]) expect(encoded(record(items), { one: 1, two, second: 9 })).toBe(oracle([1, 9, 0]))
    expect(encoded(record(items), { one: 1, two: 0, second: 9 })).toBe(oracle([1, 0, 0]))
  })

  test('has no list around it where only its items are written', () => {
    writer.clear()
    writeItems(writer, items, { one: 1, two: 2, three: 3 })
    expect(written(writer)).toBe('0x010203')
  })

  test('names the field that is wrong', () => {
    expect(() => encoded(record(items), { one: 'x', two: 2 })).toThrow('one: expected a quantity of at most 256 bits, received "x"')
    expect(() => encoded(record(items), { one: 1 })).toThrow('two: expected a quantity')
    for (const value of [null, undefined, 5]) expect(() => encoded(record(items), value)).toThrow('expected an object')
  })
})
