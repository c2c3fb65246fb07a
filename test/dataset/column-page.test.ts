import { expect, it } from 'vitest'
import { ColumnPage } from '../../src/dataset/column-page.ts'
import { pageOf, type Stored, storedIn } from '../support/column-page.ts'

// Whole files are read in read-parquet.test.ts.

const valuesIn = (page: ColumnPage) => Array.from({ length: page.rows }, (_, row) => storedIn(page, row))

it.each<['bytes32' | 'bytes' | 'int32' | 'boolean', readonly Stored[]]>([
  ['bytes32', [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]],
  ['bytes32', [null, Buffer.alloc(32, 2), null, Buffer.alloc(32, 3)]],
  ['bytes', [Buffer.from('a'), Buffer.alloc(0), Buffer.from('bcd')]],
  ['bytes', [Buffer.from('a'), null, Buffer.from('bcd')]],
  ['int32', [5, null, 6]],
  ['boolean', [true, false, null, true, true, null, false, true, true, false, true]],
  ['boolean', [true, false, true]],
  ['int32', [null, null]],
  ['bytes', []],
])('%s: %o', (type, values) => {
  const page = pageOf(type, values)
  expect(valuesIn(page)).toEqual(values)
  expect(page.nulls).toBe(values.filter((value) => value === null).length)
})

it('values that do not fill the page', () => {
  expect(() => new ColumnPage('int32', 2, undefined, Buffer.alloc(9))).toThrow('a page of 2 values has 9 bytes instead of 8')
  expect(() => new ColumnPage('bytes', 1, undefined, Buffer.from([9, 0, 0, 0, 1]))).toThrow('a page of 1 values has 5 bytes instead of 13')
  expect(() => new ColumnPage('bytes', 1, undefined, Buffer.alloc(3))).toThrow(RangeError)
  expect(() => new ColumnPage('boolean', 9, undefined, Buffer.alloc(1))).toThrow('a page of 9 values has 1 bytes instead of 2')
})
