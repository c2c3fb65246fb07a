import { IntegrityError } from 'hexline'
import { describe, expect, it } from 'vitest'
import { ColumnRows } from '../../../src/dataset/parquet/column-rows.ts'
import { type DatasetTable, tables } from '../../../src/dataset/tables.ts'
import { decodeLog, decodeTransaction, decodeUncle } from '../../../src/eth/objects.ts'
import { pageOf, type Stored } from '../../support/column-page.ts'

const place = { file: 'f' }
const bytes = (length: number, fill = 0x11) => new Uint8Array(length).fill(fill)
const json = (value: unknown) => Buffer.from(JSON.stringify(value))

/** The fields of a row with these columns. */
function fieldsOf(table: DatasetTable, row: Record<string, Stored>) {
  const columns = tables[table].filter(({ name }) => name in row)
  const { schema } = { transactions: decodeTransaction, logs: decodeLog, blocks: decodeUncle }[table as 'blocks']
  const rows = new ColumnRows(table, columns, schema?.is === 'object' ? schema.decoders : new Map())
  const fields = rows.fieldsOf(place, { rows: 1, columns: columns.map(({ name, type }) => pageOf(type, [row[name] as Stored])) }, 0)
  return { fields, nulls: rows.nulls, misfits: [...rows.misfits] }
}

function faultOf(table: DatasetTable, row: Record<string, Stored>): string {
  try {
    fieldsOf(table, row)
    return 'none'
  } catch (error) {
    expect(error).toBeInstanceOf(IntegrityError)
    return (error as Error).message
  }
}

it('values are those of the decoded fields', () => {
  const { fields, nulls } = fieldsOf('transactions', {
    blockNumber: 5n,
    blockTimestamp: 1_700_000_000_000_000n,
    transactionIndex: 3,
    hash: bytes(32),
    to: null,
    nonce: 0n,
    value: bytes(32, 0),
    valueDecimal: bytes(16, 0),
    gasPrice: Uint8Array.from([...bytes(14, 0), 1, 2]),
    input: bytes(0),
    accessList: json([{ address: '0x1', storageKeys: [] }]),
    extra: json({ l1Fee: '0x1' }),
  })
  expect(fields).toEqual({
    blockNumber: 5n,
    blockTimestamp: 1_700_000_000n,
    transactionIndex: 3,
    hash: `0x${'11'.repeat(32)}`,
    nonce: 0,
    value: 0n,
    gasPrice: 258n,
    input: '0x',
    accessList: [{ address: '0x1', storageKeys: [] }],
    l1Fee: '0x1',
  })
  expect(nulls).toEqual({})
})

it('what says where a row belongs is null where it is null, and absent where it is not stored', () => {
  expect(fieldsOf('logs', { blockHash: null, logIndex: null, data: null }).fields).toEqual({ blockHash: null, logIndex: null })
})

it('what a column cannot hold comes from extra, and is counted where it is a decimal', () => {
  const large = `0x${'f'.repeat(64)}`
  const { fields, nulls } = fieldsOf('transactions', {
    gasPrice: null,
    gas: null,
    value: bytes(32, 0xff),
    valueDecimal: null,
    extra: json({ gasPrice: large, gas: large }),
  })
  expect(fields).toEqual({ gasPrice: BigInt(large), gas: BigInt(large), value: BigInt(large) })
  expect(nulls).toEqual({ 'transactions.gasPrice': 1, 'transactions.valueDecimal': 1 })
})

it('a JSON number may be in extra, where older versions left it, and its column is a misfit', () => {
  const extra = json({ gas: 21_000, gasPrice: 7, blobGasUsed: 1 })
  const { fields, nulls, misfits } = fieldsOf('transactions', { gas: null, gasPrice: null, extra })
  expect(fields).toEqual({ gas: 21_000n, gasPrice: 7n, blobGasUsed: 1 })
  expect(nulls).toEqual({ 'transactions.gasPrice': 1 })
  expect(misfits).toEqual(['transactions.gas', 'transactions.gasPrice'])
  expect(faultOf('transactions', { gas: 21_000n, extra: json({ gas: 21_000 }) })).toContain('extra.gas: expected nothing')
  expect(faultOf('transactions', { accessList: null, extra: json({ accessList: 1 }) })).toContain('extra.accessList: expected nothing')
})

it('a JSON number that a double does not hold is taken from its text, and is absent where the field cannot have it', () => {
  const extra = Buffer.from('{"value":1000000000000000000001,"gasPrice":1.5,"nonce":-1,"data":["\\"7",9007199254740993]}')
  const { fields, nulls, misfits } = fieldsOf('transactions', { value: null, valueDecimal: null, gasPrice: null, nonce: null, extra })
  expect(fields).toEqual({ value: 10n ** 21n + 1n, data: ['"7', 2 ** 53] })
  expect(nulls).toEqual({ 'transactions.valueDecimal': 1, 'transactions.gasPrice': 1 })
  expect(misfits).toEqual(['transactions.value', 'transactions.gasPrice', 'transactions.nonce'])
  expect(faultOf('transactions', { value: null, valueDecimal: bytes(16, 0), extra: json({ value: 0 }) })).toContain('valueDecimal: expected null, found 0n')
  const beyond = (value: string) => fieldsOf('transactions', { value: null, extra: Buffer.from(`{"value":${value}}`) }).fields.value
  expect(['9'.repeat(77), '9'.repeat(78), '9'.repeat(79), '1e300'].map(beyond)).toEqual([10n ** 77n - 1n, ...Array(3).fill(undefined)])
})

it('topics', () => {
  const topics = (...values: (Uint8Array | null)[]) => ({
    topic0: null,
    topic1: null,
    topic2: null,
    topic3: null,
    ...Object.fromEntries(values.map((value, i) => [`topic${i}`, value])),
  })
  const hex = (fill: string) => `0x${fill.repeat(32)}`
  expect(fieldsOf('logs', topics()).fields).toEqual({ topics: [] })
  expect(fieldsOf('logs', topics(bytes(32), bytes(32, 0x22))).fields).toEqual({ topics: [hex('11'), hex('22')] })
  expect(fieldsOf('logs', { ...topics(), extra: json({ topics: ['0x1'] }) }).fields).toEqual({ topics: ['0x1'] })
  expect(faultOf('logs', topics(null, bytes(32)))).toContain('topic1: expected null, as the item before it')
  expect(faultOf('logs', { ...topics(), extra: json({ topics: [hex('11')] }) })).toContain('extra.topics: expected nothing, since its column holds it')
  expect(faultOf('logs', { ...topics(bytes(32)), extra: json({ topics: ['0x1'] }) })).toContain('extra.topics')
})

it('some topics alone do not determine the others, so that they do not become a list', () => {
  expect(fieldsOf('logs', { topic1: bytes(32), address: bytes(20) }).fields).toEqual({ address: `0x${'11'.repeat(20)}` })
})

describe('a row that the writer would not have made is refused', () => {
  it.each<[string, DatasetTable, Record<string, Stored>, string]>([
    [
      'a value that is hidden in extra',
      'transactions',
      { gas: null, extra: json({ gas: '0x5208' }) },
      'extra.gas: expected nothing, since its column holds it',
    ],
    ['a value that is there twice', 'transactions', { gas: 1n, extra: json({ gas: `0x${'f'.repeat(64)}` }) }, 'extra.gas: expected nothing'],
    ['a null in extra', 'transactions', { gas: null, extra: json({ gas: null }) }, 'extra.gas: expected nothing'],
    ['a value without its column', 'transactions', { extra: json({ gas: '0x1' }) }, 'extra.gas: expected nothing, since it has its place elsewhere'],
    ['another block', 'transactions', { extra: json({ blockHash: '0x1' }) }, 'extra.blockHash: expected nothing, since it has its place elsewhere'],
    ['a list of rows', 'blocks', { extra: json({ transactions: [] }) }, 'extra.transactions: expected nothing'],
    ['another decimal', 'transactions', { value: bytes(32, 0), valueDecimal: bytes(16, 1) }, 'valueDecimal: expected 0n, found'],
    ['a decimal left out', 'transactions', { value: bytes(32, 0), valueDecimal: null }, 'valueDecimal: expected 0n, found null'],
    ['a decimal of what does not fit', 'transactions', { value: bytes(32, 0xff), valueDecimal: bytes(16, 0) }, 'valueDecimal: expected null, found 0n'],
    ['a negative decimal', 'transactions', { gasPrice: bytes(16, 0xff) }, 'gasPrice: expected at most 38 digits'],
    ['a negative number', 'transactions', { gas: -1n }, 'gas: expected no negative number, found -1n'],
    ['part of a second', 'blocks', { timestamp: 1_000_001n }, 'timestamp: expected whole seconds, found 1000001n microseconds'],
    ['text that is not JSON', 'transactions', { accessList: Buffer.from('[') }, 'accessList: expected JSON'],
    [
      'a name twice',
      'transactions',
      { accessList: Buffer.from('[{"address":"0x1","address":"0x2"}]') },
      'accessList: expected each name once, found "address" twice',
    ],
    ['extra that is not an object', 'transactions', { extra: json([1]) }, 'extra: expected an object'],
  ])('%s', (_, table, row, message) => {
    expect(faultOf(table, row)).toContain(message)
  })
})

it('a field named __proto__ is a field like any other, and gives the row nothing', () => {
  const { fields } = fieldsOf('transactions', { to: null, extra: Buffer.from('{"__proto__":{"to":"0x11"}}') })
  expect(fields.to).toBeUndefined()
  expect(Object.entries(fields)).toEqual([['__proto__', { to: '0x11' }]])
})
