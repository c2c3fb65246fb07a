import { describe, expect, it, test } from 'vitest'
import { decodeNumber, decodeQuantity } from '../../../src/eth/codec/quantity.ts'
import {
  ANY,
  ARRAY,
  CODEC,
  isRepeated,
  keyIsAt,
  makerOf,
  NUMBER,
  OBJECT,
  type Place,
  placeAfter,
  planOf,
  QUANTITY,
  READ_ANY,
  SKIP,
  STRING,
  startPlace,
  UNUSUAL,
} from '../../../src/eth/codec/read-plan.ts'
import { arrayOf, asSent, type Decode, object, orNull, pick, quantity, stringOf } from '../../../src/eth/codec/schema.ts'
import { viewOf } from '../../../src/json/scan.ts'

const decodeItem = object('item', ['id'], { id: asSent<string>(), gas: quantity })

test.each<[string, Decode<unknown>, number]>([
  ['a quantity', decodeQuantity, QUANTITY],
  ['a number', decodeNumber, NUMBER],
  ['a string', stringOf('a name'), STRING],
  ['an array', arrayOf(decodeQuantity), ARRAY],
  ['an object', decodeItem, OBJECT],
  ['a decoder without a schema', orNull(decodeItem), CODEC],
])('%s has a plan of its kind', (_, decode, kind) => {
  expect(planOf(decode).kind).toBe(kind)
})

test('fields of an object are read by their decoders, others unchanged, and those not picked are skipped', () => {
  const kindOf = (decode: Decode<unknown>, key: string) => planOf(decode).fields?.of(key)
  expect(kindOf(decodeItem, 'gas')?.kind).toBe(QUANTITY)
  expect(kindOf(decodeItem, 'id')?.kind).toBe(ANY)
  expect(kindOf(decodeItem, 'toString')).toBe(READ_ANY)
  expect(kindOf(pick(decodeItem, ['id']), 'gas')).toBe(SKIP)
})

/** The place after these keys, from the start of an object. */
function placeOf(...keys: string[]): Place {
  return keys.reduce((place, key) => placeAfter(Buffer.from(`"${key}":`), READ_ANY, [...place.seen, key], [...place.keys, key]), startPlace())
}

describe('a key', () => {
  it.each([
    ['"hash":"0x1"', 'hash', true],
    ['"hash":', 'hash', true],
    ['"hash"', 'hash', false],
    ['"hasx":"0x1"', 'hash', false],
    ['"Hash":"0x1"', 'hash', false],
    ['"a":1', 'a', true],
    ['"b":1', 'a', false],
    ['"transactionIndex":1', 'transactionIndex', true],
    ['"transbctionIndex":1', 'transactionIndex', false],
    ['"transactioNIndex":1', 'transactionIndex', false],
    ['"ha', 'hash', false],
  ])('%s: is %s there? %s', (text, key, isThere) => {
    // After other bytes, so that nothing depends on where the key begins.
    const bytes = Buffer.from(`{"x":1,${text}`)
    expect(keyIsAt(viewOf(bytes), bytes.length, 7, placeOf(key))).toBe(isThere)
  })
})

describe('the maker of a place', () => {
  it('makes an object of the kept values, with the keys in order', () => {
    const made = makerOf(placeOf('number', 'hash'), ['hash'])([1n, '0x1'])
    expect(Object.entries(made)).toEqual([
      ['number', 1n],
      ['hash', '0x1'],
    ])
  })

  it('is refused if a required field is missing', () => {
    expect(() => makerOf(placeOf('number'), ['hash'])).toThrow(UNUSUAL)
  })
})

describe('a value is repeated', () => {
  const bytes = Buffer.from('"0xabcdef" "0xabcdef" "0xabcdee" "0xbbcdef"')
  const last = { ...placeOf('hash'), lastAt: 0, lastSize: 10 }
  it.each([
    [11, true],
    [22, false],
    [33, false],
    [40, false],
  ])('at %i: %s', (at, repeated) => {
    expect(isRepeated(viewOf(bytes), bytes.length, at, last)).toBe(repeated)
  })

  it('is not looked for if the last one was too short to compare', () => {
    expect(isRepeated(viewOf(bytes), bytes.length, 11, { ...last, lastSize: 3 })).toBe(false)
  })
})
