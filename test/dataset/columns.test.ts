import { expect, it } from 'vitest'
import { checkTables, columnsOf, columnsText } from '../../src/dataset/columns.ts'
import { tables } from '../../src/dataset/tables.ts'

it('tables and columns are in their order, whatever the order asked for', () => {
  expect(checkTables(['logs', 'blocks', 'logs'])).toEqual(['blocks', 'logs'])
  expect(columnsOf(['blocks', 'logs'], ['logs.data', 'logs.address'])).toEqual({ blocks: tables.blocks.map(({ name }) => name), logs: ['address', 'data'] })
})

it.each<[unknown, string]>([
  [undefined, 'an array of blocks'],
  ['blocks', 'an array of blocks'],
  [['block'], '(did you mean `blocks`?)'],
  [[7], 'only blocks'],
])('tables that are %j are refused', (value, message) => {
  expect(() => checkTables(value)).toThrow(message)
})

it.each<[unknown, string]>([
  ['logs.data', 'an array of columns'],
  [[], 'an array of columns'],
  [[7], 'an array of columns'],
  [['logs.dat'], '(did you mean `logs.data`?)'],
  [['data'], 'such as \'transactions.hash\', received "data" (did you mean `logs.data`?)'],
  [['extra'], '(did you mean `blocks.extra` or `logs.extra`?)'],
  [['receipts.status'], 'whose table is not in tables'],
])('columns that are %j are refused', (value, message) => {
  expect(() => columnsOf(['blocks', 'logs'], value)).toThrow(message)
})

it('the columns are those that were asked for', () => {
  expect(columnsText('logs', ['address', 'data'])).toBe('logs.address,logs.data')
  expect(columnsText('blocks', columnsOf(['blocks'], undefined).blocks)).toBe('all columns of blocks')
})
