import { describe, expect, it, test } from 'vitest'
import { decodeQuantity } from '../../../src/eth/codec/quantity.ts'
import {
  andThen,
  arrayOf,
  asSent,
  type Decode,
  list,
  mapOf,
  nullable,
  number,
  numberOrBig,
  object,
  optional,
  orNull,
  pick,
  quantity,
  stringOf,
} from '../../../src/eth/codec/schema.ts'

const decodeItem = object('item', ['id'], { id: asSent<string>(), gas: quantity, index: nullable(number) })
const decodeOrder = object('order', ['hash'], {
  hash: asSent<string>(),
  value: optional(quantity),
  count: numberOrBig,
  items: list(decodeItem),
  note: asSent<unknown>(),
})

function messageOf(decode: Decode<unknown>, value: unknown): string {
  try {
    decode(value)
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('it was decoded')
}

describe('an object', () => {
  it('is decoded in place; null, absent and unknown fields are unchanged', () => {
    const sent = { hash: '0x1', value: '0xff', count: '0x20000000000000', items: [{ id: 'a', gas: '0x10', index: null }], extra: '0x5' }
    const decoded = decodeOrder(sent)
    expect(decoded).toBe(sent)
    expect(decoded).toEqual({ hash: '0x1', value: 255n, count: 2n ** 53n, items: [{ id: 'a', gas: 16n, index: null }], extra: '0x5' })
    expect(decodeOrder({ hash: '0x1' })).toEqual({ hash: '0x1' })
  })

  it.each<[unknown, string]>([
    ['0x1', 'expected an order, received "0x1"'],
    [null, 'expected an order, received null'],
    [[], 'expected an order, received an array of 0'],
    [{}, 'hash: expected the hash of an order, received undefined'],
    [{ hash: '0x1', value: '255' }, 'value: expected a hex quantity, received "255"'],
    [{ hash: '0x1', items: [{ id: 'a' }, {}] }, 'items[1].id: expected the id of an item, received undefined'],
    [{ hash: '0x1', items: {} }, 'items: expected an array, received an object'],
  ])('%j is refused with the path: %s', (value, message) => {
    expect(messageOf(decodeOrder, value)).toBe(message)
  })
})

test.each<[string, Decode<unknown>, unknown, unknown]>([
  ['orNull', orNull(stringOf('a name')), null, null],
  ['orNull', orNull(stringOf('a name')), 'x', 'x'],
  ['arrayOf', arrayOf(stringOf('a name')), ['x', 'y'], ['x', 'y']],
  ['andThen', andThen(decodeItem, ({ gas }) => gas), { id: 'a', gas: '0x2' }, 2n],
  [
    'andThen, twice',
    andThen(
      andThen(decodeItem, ({ gas }) => ({ gas })),
      ({ gas }) => gas + 1n,
    ),
    { id: 'a', gas: '0x2' },
    3n,
  ],
])('%s decodes %j', (_, decode, value, expected) => {
  expect(decode(value)).toEqual(expected)
})

test('an object whose keys are data is decoded value by value, with the key in the path', () => {
  const decode = mapOf<string, bigint>('amounts by name', decodeQuantity)
  const amounts = JSON.parse('{"a":"0x1","__proto__":"0x2"}')
  expect(Object.entries(decode(amounts))).toEqual([
    ['a', 1n],
    ['__proto__', 2n],
  ])
  expect(() => decode({ a: '0x1', b: 'two' })).toThrow('b: expected a hex quantity, received "two"')
  for (const wrong of [null, [], 'a']) expect(() => decode(wrong)).toThrow('expected amounts by name')
})

test('the steps of andThen are in the schema, too, for byte readers', () => {
  const { schema } = andThen(
    andThen(decodeItem, ({ gas }) => ({ gas })),
    ({ gas }) => gas + 1n,
  )
  expect(schema?.is === 'object' && schema.transform?.({ gas: 2n })).toBe(3n)
})

describe('pick', () => {
  const sent = () => ({ hash: '0x1', value: '0xff', count: '0x1', items: [{ id: 'a', gas: '0x10', index: '0x0' }] })
  it.each<[string[], unknown]>([
    [['hash'], { hash: '0x1' }],
    [['hash', 'items.id', 'items.gas'], { hash: '0x1', items: [{ id: 'a', gas: 16n }] }],
    [['hash', 'items.id', 'items'], { hash: '0x1', items: [{ id: 'a', gas: 16n, index: 0 }] }],
  ])('%j keeps only these fields', (paths, expected) => {
    expect(pick(decodeOrder, paths)(sent())).toEqual(expected)
    expect(pick(arrayOf(decodeOrder), paths)([sent()])).toEqual([expected])
  })

  it('does not read the others, so an invalid one does no harm', () => {
    expect(pick(decodeOrder, ['hash'])({ hash: '0x1', value: 'nonsense' })).toEqual({ hash: '0x1' })
  })

  it.each([['size'], ['items.size'], ['hash.x'], ['toString']])('names the path that does not exist: %s', (path) => {
    expect(() => pick(decodeOrder, ['value', path])).toThrow(expect.objectContaining({ path }))
  })
})
