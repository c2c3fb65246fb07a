import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Bits } from '../../../src/dataset/parquet/definition-levels.ts'
import { isHex } from '../../../src/dataset/parquet/hex-values.ts'
import { ParquetColumn } from '../../../src/dataset/parquet/parquet-column.ts'
import type { ColumnType } from '../../../src/dataset/tables.ts'
import { runs } from '../../support/runs.ts'

const added = (column: ParquetColumn, json: string) => column.add(Buffer.from(`  ${json} `), 2, 2 + json.length)

/** The data of a column with one value; undefined if it does not fit. */
function stored(type: ColumnType, json: string): string | undefined {
  const column = new ParquetColumn('x', type)
  return added(column, json) ? column.data.toString('hex') : undefined
}

const quantities = fc
  .tuple(
    fc.oneof(
      fc.bigInt({ min: 0n, max: 2n ** 257n }),
      fc.constantFrom(0n, 1n, 2n ** 31n, 2n ** 31n - 1n, 2n ** 63n, 2n ** 63n - 1n, 10n ** 38n, 10n ** 38n - 1n),
    ),
    fc.nat(3),
  )
  .map(([value, zeros]) => ({ value, json: `"0x${'0'.repeat(zeros)}${value.toString(16)}"`, zeros }))

describe('numbers', () => {
  const bounds: [ColumnType, bigint, (value: bigint) => string][] = [
    ['int32', 2n ** 31n, (value) => littleEndian(value, 4)],
    ['int64', 2n ** 63n, (value) => littleEndian(value, 8)],
    ['uint256', 2n ** 256n, (value) => value.toString(16).padStart(64, '0')],
    ['decimal', 10n ** 38n, (value) => value.toString(16).padStart(32, '0')],
  ]

  it.each(bounds)('%s: exactly, or not at all', (type, bound, bytesOf) => {
    fc.assert(
      fc.property(
        fc.oneof(
          quantities,
          fc.bigInt({ min: 0n, max: bound + 3n }).map((value) => ({ value, json: `"0x${value.toString(16)}"`, zeros: 0 })),
        ),
        ({ value, json }) => {
          expect(stored(type, json)).toBe(value < bound ? bytesOf(value) : undefined)
        },
      ),
      runs(1000),
    )
  })

  it.each(bounds)('%s: JSON numbers that are quantities, in any spelling', (type, _, bytesOf) => {
    for (const json of ['12', '12.0', '1.2e1', '"0x\\u0063"', '"\\u0030xC"']) expect([json, stored(type, json)]).toEqual([json, bytesOf(12n)])
    for (const json of ['-0', '0.0']) expect([json, stored(type, json)]).toEqual([json, bytesOf(0n)])
    for (const json of ['-1', '1.5', '1e300', '9007199254740993', '9007199254740991.4', '0.99999999999999999', '1e-400', '[12]', '"12"'])
      expect([json, stored(type, json)]).toEqual([json, undefined])
  })

  it.each(bounds)('%s: nothing but hex digits', (type) => {
    for (const json of ['"0x"', '"0xg"', '"0x1g"', '"0xg1"', '"0x11g1"', '"12"', '""', 'true', '"0x1 "', '"0x-1"', '"1x1"', `"0x${'g'.repeat(32)}"`])
      expect([json, stored(type, json)]).toEqual([json, undefined])
  })

  it('a timestamp is in microseconds, as far as these are exact', () => {
    expect(stored('timestamp', '"0x6553f100"')).toBe(littleEndian(0x6553f100n * 1_000_000n, 8))
    expect(stored('timestamp', '"0x218def416"')).toBe(littleEndian(0x218def416n * 1_000_000n, 8))
    for (const json of ['"0x218def417"', '"0x"', '"0xz"']) expect(stored('timestamp', json)).toBeUndefined()
  })
})

it('bytes are of their length, in either case', () => {
  expect(stored('bytes8', '"0x00aAfFbBcC112233"')).toBe('00aaffbbcc112233')
  expect(stored('bytes', '"0xABcd"')).toBe('02000000abcd')
  expect(stored('bytes', '"0x"')).toBe('00000000')
  for (const json of ['"0x00aaffbbcc1122"', '"0x00aaffbbcc1122334"', '"0x00aaffbbcc11223g"', '"x00aaffbbcc112233"', 'null'])
    expect(stored('bytes8', json)).toBeUndefined()
  for (const json of ['"0x1"', '"0xzz"', '"0xz"', '{}']) expect(stored('bytes', json)).toBeUndefined()
})

it('a value that does not fit leaves no trace', () => {
  for (const [type, right, wrong] of [
    ['bytes', '"0x1122"', '"0x11zz"'],
    ['bytes20', `"0x${'12'.repeat(20)}"`, `"0x${'zz'.repeat(20)}"`],
    ['decimal', '"0x12"', `"0x${'f'.repeat(32)}"`],
    ['boolean', 'true', '"0x1"'],
  ] as const) {
    const [column, plain] = [new ParquetColumn('x', type), new ParquetColumn('x', type)]
    expect(added(column, wrong)).toBe(false)
    for (const each of [column, plain]) expect(added(each, right)).toBe(true)
    expect(added(column, wrong)).toBe(false)
    expect([column.rows, column.data, column.levels]).toEqual([plain.rows, plain.data, plain.levels])
  }
})

it('nulls have levels, and no data', () => {
  const column = new ParquetColumn('x', 'int32')
  expect(column.levels).toEqual(Buffer.of(0, 1))
  for (let i = 0; i < 300; i++) added(column, '"0x7"')
  // A run of 300 rows, all there.
  expect(column.levels).toEqual(Buffer.of(0xd8, 0x04, 1))
  column.addNull()
  expect([column.rows, column.nulls, column.size]).toEqual([301, 1, 1200])
  // 38 groups of 8 rows, bit by bit.
  expect(column.levels).toEqual(Buffer.from([77, ...new Array(37).fill(0xff), 0x0f]))
  column.clear()
  for (let i = 0; i < 3; i++) column.addNull()
  expect([column.levels, column.data.length, column.extremes]).toEqual([Buffer.of(6, 0), 0, undefined])
})

it('the last value is repeated, also if it is null', () => {
  const column = new ParquetColumn('x', 'bytes8')
  added(column, '"0x0011223344556677"')
  column.repeat(20_000)
  expect([column.rows, column.size]).toEqual([20_001, 160_008])
  expect(column.data.subarray(-8).toString('hex')).toBe('0011223344556677')
  column.addNull()
  column.repeat(2)
  expect([column.rows, column.nulls]).toEqual([20_004, 3])
})

it('the smallest and the largest number are found', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), fc.bigInt({ min: 2n ** 53n, max: 2n ** 53n + 9n })), { minLength: 1 }),
      (values) => {
        const column = new ParquetColumn('x', 'int64')
        for (const value of values) added(column, `"0x${value.toString(16)}"`)
        const sorted = [...values].sort((a, b) => (a < b ? -1 : 1))
        expect(column.extremes).toEqual({ min: sorted[0], max: sorted.at(-1) })
      },
    ),
    runs(300),
  )
  const small = new ParquetColumn('x', 'int32')
  for (const value of [7, 3, 9, 4]) small.addNumber(value)
  expect(small.extremes).toEqual({ min: 3, max: 9 })
  expect(new ParquetColumn('x', 'bytes32').extremes).toBeUndefined()
})

it('bits grow, and are cleared', () => {
  const bits = new Bits()
  for (let i = 0; i < 20_000; i++) bits.push(i % 3 === 0)
  expect(bits.bytes.subarray(0, 3)).toEqual(Buffer.of(0b01001001, 0b10010010, 0b00100100))
  bits.clear()
  for (let i = 0; i < 9; i++) bits.push(false)
  expect(bits.bytes).toEqual(Buffer.alloc(2))
})

it('hex is 0x and digits', () => {
  for (const [text, is] of [
    ['0xaF09', true],
    ['0x', true],
    ['0xg', false],
    ['1x11', false],
    ['0011', false],
  ] as const)
    expect(isHex(Buffer.from(text), 0, text.length)).toBe(is)
})

function littleEndian(value: bigint, size: number): string {
  return Buffer.from(value.toString(16).padStart(2 * size, '0'), 'hex')
    .reverse()
    .toString('hex')
}
