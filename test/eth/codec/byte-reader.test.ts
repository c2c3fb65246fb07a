import { describe, expect, it, test } from 'vitest'
import { ByteReader } from '../../../src/eth/codec/byte-reader.ts'
import { arrayOf, asSent, list, number, object, pick, quantity, stringOf } from '../../../src/eth/codec/schema.ts'

const decodeItem = object('item', ['id'], { id: asSent<string>(), gas: quantity, index: number, topics: list(stringOf('a topic')), more: asSent<unknown>() })
const read = (json: string, reader = new ByteReader<unknown>(decodeItem)) => reader.read(Buffer.from(json))

describe('plain bytes are decoded directly', () => {
  it.each<[string, unknown]>([
    ['{"id":"a","gas":"0x0"}', { id: 'a', gas: 0n }],
    ['{"gas":"0xffffffffffffffff","id":"a"}', { gas: 2n ** 64n - 1n, id: 'a' }],
    ['{"id":"a","gas":"0x1ffffffffffffffff"}', { id: 'a', gas: 2n ** 65n - 1n }],
    ['{"id":"a","index":"0xfffffffffffff","gas":null}', { id: 'a', index: 2 ** 52 - 1, gas: null }],
    [
      '{"id":"a","topics":["0x1","0x2"],"more":[{"x":-1.5e3},true,false,null,[]]}',
      { id: 'a', topics: ['0x1', '0x2'], more: [{ x: -1500 }, true, false, null, []] },
    ],
    ['{"id":"a","topics":[]}', { id: 'a', topics: [] }],
  ])('%s', (json, expected) => {
    expect(read(json)).toEqual(expected)
  })
})

describe('anything else is left to the decoder', () => {
  it.each([
    ['white space between tokens', '{"id": "a"}'],
    ['an escape', '{"id":"\\u0061"}'],
    ['a character beyond ASCII', '{"id":"é"}'],
    ['a missing field', '{"gas":"0x1"}'],
    ['an empty object', '{}'],
    ['bytes after the value', '{"id":"a"}x'],
    ['the start of a value', '{"id":"a"'],
    ['an empty quantity', '{"id":"a","gas":"0x"}'],
    ['a quantity of 65 digits', `{"id":"a","gas":"0x${'1'.repeat(65)}"}`],
    ['a number of 14 digits', `{"id":"a","index":"0x${'1'.repeat(14)}"}`],
    ['a quantity that is a JSON number', '{"id":"a","gas":1}'],
    ['a key that JavaScript treats specially', '{"id":"a","__proto__":"x"}'],
    ['a key that is a number', '{"id":"a","1":"x"}'],
    ['a topic that is not a string', '{"id":"a","topics":[1]}'],
    ['a JSON number with a leading zero', '{"id":"a","more":01}'],
    ['nesting of 101 levels', `{"id":"a","more":${'['.repeat(100)}${']'.repeat(100)}}`],
  ])('%s', (_, json) => {
    expect(() => read(json)).toThrow()
  })

  it('and the next value is read again', () => {
    const reader = new ByteReader<unknown>(decodeItem)
    expect(() => read('{"id":"a","gas":"0x"}', reader)).toThrow()
    expect(read('{"id":"b","gas":"0x2"}', reader)).toEqual({ id: 'b', gas: 2n })
  })
})

test('objects of one kind may have their keys in any order, and some of them', () => {
  const reader = new ByteReader<unknown>(arrayOf(decodeItem))
  const sent = ['{"id":"a","gas":"0x1","index":"0x1"}', '{"id":"b","index":"0x2"}', '{"gas":"0x3","id":"c"}', '{"id":"d","gas":"0x4","index":"0x4"}']
  for (let times = 0; times < 2; times++) {
    expect(read(`[${sent.join(',')}]`, reader)).toEqual([
      { id: 'a', gas: 1n, index: 1 },
      { id: 'b', index: 2 },
      { gas: 3n, id: 'c' },
      { id: 'd', gas: 4n, index: 4 },
    ])
  }
})

test('a repeated value in one read is the same each time, and another one is not', () => {
  const reader = new ByteReader<{ id: string }[]>(arrayOf(decodeItem))
  const ids = ['aaaaaaaa', 'aaaaaaaa', 'aaaaaaab', 'baaaaaab', 'baaaaaab']
  for (const order of [ids, ids.toReversed()])
    expect(reader.read(Buffer.from(`[${order.map((id) => `{"id":"${id}"}`).join(',')}]`)).map(({ id }) => id)).toEqual(order)
})

test('fields that are not picked are skipped, but must be JSON', () => {
  const reader = new ByteReader<unknown>(pick(decodeItem, ['id']))
  expect(read('{"id":"a","gas":"nonsense","more":[{"x":[1]},{"x":[2]}]}', reader)).toEqual({ id: 'a' })
  expect(() => read('{"id":"a","more":[{"x":]}', reader)).toThrow()
})

test('at most 17 keys are remembered after one place', () => {
  const reader = new ByteReader<unknown>(decodeItem)
  const json = (i: number) => `{"id":"a","k${i}":1}`
  for (let i = 0; i < 17; i++) expect(read(json(i), reader)).toEqual({ id: 'a', [`k${i}`]: 1 })
  expect(() => read(json(17), reader)).toThrow()
  expect(read(json(3), reader)).toEqual({ id: 'a', k3: 1 })
})
