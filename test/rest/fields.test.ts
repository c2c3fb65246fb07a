import { describe, expect, it, test } from 'vitest'
import type { z } from 'zod'
import { boolean, dateOf, decimal, integer, json, list, listOf, oneOrList, small, text, texts, time } from '../../src/rest/fields.ts'

const read = (field: z.ZodType, value: unknown) => {
  const result = field.safeParse(value)
  return result.success ? { read: result.data } : { expected: result.error.issues[0]?.message }
}
const fields = {
  ...{ integer, small, decimal, boolean, text, time, json, texts, list },
  'listOf integers': listOf(integer),
  'listOf objects': listOf(oneOrList({ a: integer })),
  oneOrList: oneOrList({ a: integer }),
}
const digits = { expected: 'a whole number in decimal digits' }
const few = { expected: 'a small whole number' }
const number = { expected: 'a number' }
const iso = { expected: 'a time in ISO 8601' }
const object = { expected: 'a JSON object, or one in a string' }

describe('a field', () => {
  it.each<[keyof typeof fields, unknown, object]>([
    ['integer', '115792089237316195423570985008687907853269984665640564039457584007913129639935', { read: 2n ** 256n - 1n }],
    ['integer', 7, { read: 7n }],
    ['integer', '', { read: null }],
    ['integer', null, { read: null }],
    ['integer', '-1', digits],
    ['integer', 1.5, digits],
    ['integer', '0x10', digits],
    ['integer', '9'.repeat(101), digits],
    ['small', '18', { read: 18 }],
    ['small', '', { read: null }],
    ['small', '1234567890123456', few],
    ['small', -1, few],
    ['decimal', '-1.5e-7', { read: -1.5e-7 }],
    ['decimal', '', { read: null }],
    ['decimal', '1e999', number],
    ['decimal', '1.', number],
    ['decimal', true, number],
    ['boolean', 'false', { read: false }],
    ['boolean', true, { read: true }],
    ['boolean', '', { read: null }],
    ['boolean', 'yes', { expected: 'true or false' }],
    ['text', '', { read: '' }],
    ['text', 5, { expected: 'a string' }],
    ['time', '2022-10-16T23:07:19.123456Z', { read: '2022-10-16T23:07:19.123456Z' }],
    ['time', '', { read: '' }],
    ['time', 'block 5', iso],
    ['time', '2022-13-01', iso],
    ['json', '{"a":1}', { read: { a: 1 } }],
    ['json', { a: 1 }, { read: { a: 1 } }],
    ['json', '', { read: null }],
    ['json', '[1]', object],
    ['json', '{', object],
    ['texts', ['a', 'b'], { read: ['a', 'b'] }],
    ['texts', ['a', 1], { expected: 'a string' }],
    ['texts', 'a', { expected: 'an array of strings' }],
    ['list', [1, 'a'], { read: [1, 'a'] }],
    ['list', {}, { expected: 'an array' }],
    ['listOf integers', ['1', 2], { read: [1n, 2n] }],
    ['listOf objects', { a: '1' }, { read: [{ a: 1n }] }],
    ['listOf integers', null, { read: [] }],
    ['listOf integers', undefined, { expected: 'an array' }],
    ['oneOrList', { a: '1', b: 'x' }, { read: { a: 1n, b: 'x' } }],
    ['oneOrList', [{ a: '1' }], { read: [{ a: 1n }] }],
    ['oneOrList', 'x', { expected: 'an object or an array of objects, with fields of the documented types' }],
  ])('%s of %j', (name, value, expected) => {
    expect(read(fields[name], value)).toEqual(expected)
  })
})

test.each<[unknown, string | null]>([
  ['2022-10-16T23:07:19.123456Z', '2022-10-16T23:07:19.123Z'],
  ['2022-10-16T23:07:19.123', '2022-10-16T23:07:19.123Z'],
  ['2022-10-16 23:07', '2022-10-16T23:07:00.000Z'],
  ['2022-10-16', '2022-10-16T00:00:00.000Z'],
  ['2022-10-16T23:07:19+02:00', '2022-10-16T21:07:19.000Z'],
  ['block 5', null],
  ['', null],
  [5, null],
])('the date of %j is %s', (value, date) => {
  expect(dateOf(value)?.toISOString() ?? null).toBe(date)
})
