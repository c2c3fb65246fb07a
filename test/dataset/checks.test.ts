import { expect, it } from 'vitest'
import { missingOf } from '../../src/dataset/checks.ts'
import { columnsOf } from '../../src/dataset/columns.ts'
import { tableNames } from '../../src/dataset/tables.ts'

const none = { link: [], header: [], transactionHashes: [], transactionsRoot: [], receiptsRoot: [], withdrawalsRoot: [], logsBloom: [] }

it('all tables with all columns allow every check', () => {
  expect(missingOf({ tables: tableNames, columns: null })).toEqual(none)
  expect(missingOf({ tables: tableNames, columns: columnsOf(tableNames, undefined) })).toEqual(none)
})

it('a check lacks whole tables, or single columns', () => {
  const tables = ['blocks', 'transactions'] as const
  expect(missingOf({ tables, columns: columnsOf(tables, undefined) })).toEqual({
    ...none,
    receiptsRoot: ['receipts', 'logs'],
    withdrawalsRoot: ['withdrawals'],
    logsBloom: ['logs'],
  })
  const some = columnsOf(tables, ['blocks.number', 'blocks.hash'])
  const missing = missingOf({ tables, columns: some })
  expect(missing.link).toEqual(['blocks.parentHash'])
  expect(missing.transactionsRoot).toEqual(['blocks.transactionsRoot'])
  expect(missing.transactionHashes).toEqual([])
})

it("the node's own lines hold the lists that have no table", () => {
  const missing = missingOf({ tables: ['blocks', 'receipts'], columns: null })
  expect(missing).toMatchObject({ receiptsRoot: [], withdrawalsRoot: [], logsBloom: [], transactionsRoot: ['transactions'] })
  expect(missingOf({ tables: ['logs'], columns: null })).toMatchObject({ link: ['blocks'], receiptsRoot: ['blocks', 'receipts'] })
})
