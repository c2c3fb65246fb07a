import fc from 'fast-check'
import { IntegrityError } from 'hexline'
import { describe, expect, it } from 'vitest'
import { cellOf } from '../../../src/dataset/parquet/column-cells.ts'
import { LARGEST_DECIMAL } from '../../../src/dataset/parquet/parquet-types.ts'
import type { Column, ColumnType } from '../../../src/dataset/tables.ts'
import { CodecError } from '../../../src/errors.ts'
import { decodeNumber, decodeQuantity } from '../../../src/eth/codec/quantity.ts'
import type { Decode } from '../../../src/eth/codec/schema.ts'
import { pageOf, type Stored } from '../../support/column-page.ts'
import { runs } from '../../support/runs.ts'

const column = (type: ColumnType): Column => ({ name: 'field', type, source: { from: 'field', field: 'field' } })

function valuesOf(type: ColumnType, values: readonly Stored[], decode?: Decode<unknown>): unknown[] {
  const cell = cellOf(column(type), decode)
  const page = pageOf(type, values)
  return values.map((_, row) => cell({ file: 'f' }, page, row))
}

/** A number of `size` bytes, big-endian. */
const bytesOf = (value: bigint, size: number) => Buffer.from(value.toString(16).padStart(2 * size, '0'), 'hex')

describe('a value is what the decoder makes of the hex', () => {
  const nullable = <T>(values: fc.Arbitrary<T>) => fc.array(fc.option(values), { maxLength: 200 })

  it('int64 and int32, repeated or not', () => {
    const numbers = nullable(fc.oneof(fc.constantFrom(0n, 7n, 2n ** 32n, 2n ** 53n - 1n), fc.bigInt({ min: 0n, max: 2n ** 53n - 1n })))
    fc.assert(
      fc.property(numbers, (values) => {
        const hex = values.map((value) => (value === null ? null : `0x${value.toString(16)}`))
        expect(valuesOf('int64', values)).toEqual(hex)
        for (const decode of [decodeQuantity, decodeNumber]) expect(valuesOf('int64', values, decode)).toEqual(hex.map((value) => value && decode(value)))
      }),
      runs(100),
    )
    expect(valuesOf('int32', [0, null, 2 ** 31 - 1], decodeNumber)).toEqual([0, null, 2 ** 31 - 1])
    expect(valuesOf('int32', [5], decodeQuantity)).toEqual([5n])
    expect(valuesOf('int32', [255])).toEqual(['0xff'])
  })

  it('wide numbers', () => {
    fc.assert(
      fc.property(nullable(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n })), (values) => {
        const stored = values.map((value) => (value === null ? null : bytesOf(value, 32)))
        expect(valuesOf('uint256', stored, decodeQuantity)).toEqual(values)
        expect(valuesOf('uint256', stored)).toEqual(values.map((value) => (value === null ? null : `0x${value.toString(16)}`)))
      }),
      runs(100),
    )
    expect(valuesOf('decimal', [bytesOf(LARGEST_DECIMAL, 16)], decodeQuantity)).toEqual([LARGEST_DECIMAL])
  })

  it('bytes of a fixed number, among any nulls', () => {
    fc.assert(
      fc.property(nullable(fc.uint8Array({ minLength: 20, maxLength: 20 })), (values) => {
        expect(valuesOf('bytes20', values)).toEqual(values.map((value) => (value === null ? null : `0x${Buffer.from(value).toString('hex')}`)))
      }),
      runs(100),
    )
  })

  it('one cell serves several pages, in any order of rows', () => {
    const cell = cellOf(column('bytes8'), undefined)
    const pages = [1, 2].map((fill) =>
      pageOf(
        'bytes8',
        Array.from({ length: 200 }, (_, i) => Buffer.alloc(8, fill + i)),
      ),
    )
    for (const row of [0, 199, 64, 63, 100, 0])
      for (const [i, page] of pages.entries()) expect(cell({ file: 'f' }, page, row)).toBe(`0x${(i + 1 + row).toString(16).padStart(2, '0').repeat(8)}`)
  })

  it('times, flags, bytes and JSON', () => {
    expect(valuesOf('timestamp', [16_000_000n, 16_000_000n, null, 1_000_000n], decodeQuantity)).toEqual([16n, 16n, null, 1n])
    expect(valuesOf('boolean', [true, null, false])).toEqual([true, null, false])
    expect(valuesOf('bytes', [Buffer.alloc(0), null, Buffer.from([1])])).toEqual(['0x', null, '0x01'])
    expect(valuesOf('json', [Buffer.from('["0x1"]'), null])).toEqual([['0x1'], null])
  })
})

describe('what the writer does not make is refused', () => {
  it.each<[ColumnType, Stored, RegExp]>([
    ['int32', -1, /no negative number, found -1/],
    ['int64', -1n, /no negative number, found -1n/],
    ['timestamp', -1_000_000n, /no negative number/],
    ['timestamp', 1_500_000n, /whole seconds, found 1500000n microseconds/],
    ['decimal', bytesOf(LARGEST_DECIMAL + 1n, 16), /at most 38 digits/],
    ['json', Buffer.from('['), /field: expected JSON/],
  ])('%s %o', (type, value, message) => {
    const read = () => valuesOf(type, [value], decodeQuantity)
    expect(read).toThrow(IntegrityError)
    expect(read).toThrow(message)
  })

  it('a value that the field cannot have', () => {
    expect(() => valuesOf('int64', [2n ** 53n], decodeNumber)).toThrow(CodecError)
    expect(() => valuesOf('int64', [2n ** 53n], decodeNumber)).toThrow('field: expected a hex quantity of at most 2^53 - 1')
  })
})
