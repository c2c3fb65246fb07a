import { IntegrityError } from 'hexline'
import { describe, expect, it } from 'vitest'
import { checkPlaces } from '../../../src/dataset/verify/check-places.ts'
import type { StoredBlock } from '../../../src/dataset/verify/join-blocks.ts'

const files = { blocks: 'blocks/f', transactions: 'transactions/f', receipts: 'receipts/f', logs: 'logs/f', withdrawals: 'withdrawals/f' }
const hash = (fill: string) => `0x${fill.repeat(32)}`
const place = { blockHash: hash('bb'), blockNumber: 5n, blockTimestamp: 100n }

/** A block with two transactions and three logs. */
function whole() {
  const transactions = ['11', '22'].map((fill, i): Record<string, unknown> => ({ ...place, transactionIndex: i, hash: hash(fill) }))
  const log = (transactionIndex: number, logIndex: number): Record<string, unknown> => ({
    ...{ ...place, transactionIndex, logIndex, removed: false },
    transactionHash: transactions[transactionIndex]?.hash,
  })
  return {
    number: 5n,
    blocks: [{ number: 5n, hash: hash('bb'), parentHash: hash('aa'), timestamp: 100n, transactionCount: '0x2' } as Record<string, unknown>],
    transactions,
    receipts: transactions.map(
      ({ hash: transactionHash }, i): Record<string, unknown> => ({ ...place, blockTimestamp: '0x64', transactionIndex: i, transactionHash }),
    ),
    logs: [log(0, 0), log(0, 1), log(1, 2)],
    withdrawals: [7, 8].map((index): Record<string, unknown> => ({ ...place, blockNumber: '0x5', index })),
  }
}

type Whole = ReturnType<typeof whole>

function fault(block: StoredBlock): [string | undefined, string | undefined] {
  try {
    checkPlaces(block, files, 1)
    return ['', '']
  } catch (error) {
    expect(error).toBeInstanceOf(IntegrityError)
    expect((error as IntegrityError).block).toBe(5n)
    return [(error as IntegrityError).file, (error as IntegrityError).field]
  }
}

it('rows that fit one another, and what they say of the block', () => {
  expect(checkPlaces(whole(), files, 1)).toEqual({ hash: hash('bb'), parentHash: hash('aa'), transactionHashes: [hash('11'), hash('22')] })
})

it('tables that are not stored prove nothing; the rest is known from any row', () => {
  const { number, receipts, logs, withdrawals, blocks } = whole()
  expect(checkPlaces({ number }, files, 1)).toEqual({ hash: undefined, parentHash: undefined, transactionHashes: undefined })
  expect(checkPlaces({ number, withdrawals }, files, 1).hash).toBe(hash('bb'))
  expect(checkPlaces({ number, receipts, logs }, files, 1).transactionHashes).toEqual([hash('11'), hash('22')])
  const listed = [{ ...blocks[0], transactions: [hash('11'), hash('22')] }]
  expect(checkPlaces({ number, blocks: listed, logs }, files, 1).transactionHashes).toEqual([hash('11'), hash('22')])
})

it('columns that are not stored say nothing', () => {
  const block = whole()
  for (const table of ['blocks', 'transactions', 'receipts', 'logs', 'withdrawals'] as const) block[table] = block[table].map(() => ({}))
  expect(fault(block)).toEqual(['', ''])
})

it('a time that no column of timestamps can hold is null in the rows', () => {
  const block = whole()
  Object.assign(block.blocks[0] as object, { timestamp: 2n ** 60n })
  for (const table of ['transactions', 'receipts', 'logs', 'withdrawals'] as const) for (const row of block[table]) row.blockTimestamp = null
  expect(fault(block)).toEqual(['', ''])
})

describe('what does not fit is found', () => {
  it.each<[string, string, (block: Whole) => unknown]>([
    ['blocks/f', 'rows', (block) => block.blocks.pop()],
    ['blocks/f', 'rows', (block) => block.blocks.push({})],
    ['blocks/f', 'transactionCount', ({ blocks: [block] }) => Object.assign(block as object, { transactionCount: '0x3' })],
    ['blocks/f', 'transactionCount', ({ blocks: [block] }) => Object.assign(block as object, { transactionCount: null })],
    ...(['transactions', 'receipts', 'logs', 'withdrawals'] as const).flatMap((table): [string, string, (block: Whole) => unknown][] => [
      [`${table}/f`, `${table}[1].blockHash`, (block) => Object.assign(block[table][1] as object, { blockHash: hash('cc') })],
      [`${table}/f`, `${table}[1].blockHash`, (block) => Object.assign(block[table][1] as object, { blockHash: null })],
      [`${table}/f`, `${table}[1].blockTimestamp`, (block) => Object.assign(block[table][1] as object, { blockTimestamp: 101n })],
      [`${table}/f`, `${table}[1].blockTimestamp`, (block) => Object.assign(block[table][1] as object, { blockTimestamp: null })],
    ]),
    ['transactions/f', 'transactions[0].transactionIndex', (block) => block.transactions.reverse()],
    ['transactions/f', 'transactions[1].transactionIndex', (block) => Object.assign(block.transactions[1] as object, { transactionIndex: null })],
    ['receipts/f', 'receipts', (block) => block.receipts.pop()],
    ['receipts/f', 'receipts[0].transactionIndex', (block) => block.receipts.reverse()],
    ['receipts/f', 'receipts[1].transactionHash', (block) => Object.assign(block.receipts[1] as object, { transactionHash: hash('33') })],
    ['receipts/f', 'receipts[1].transactionHash', (block) => Object.assign(block.receipts[1] as object, { transactionHash: null })],
    ['logs/f', 'logs[0].logIndex', (block) => block.logs.shift()],
    ['logs/f', 'logs[1].logIndex', (block) => block.logs.splice(1, 1)],
    ['logs/f', 'logs[1].logIndex', (block) => Object.assign(block.logs[1] as object, { logIndex: null })],
    ['logs/f', 'logs[1].removed', (block) => Object.assign(block.logs[1] as object, { removed: true })],
    ['logs/f', 'logs[2].transactionIndex', (block) => Object.assign(block.logs[2] as object, { transactionIndex: 2 })],
    ['logs/f', 'logs[2].transactionIndex', (block) => Object.assign(block.logs[2] as object, { transactionIndex: null })],
    ['logs/f', 'logs[1].transactionIndex', (block) => Object.assign(block.logs[0] as object, { transactionIndex: 1, transactionHash: hash('22') })],
    ['logs/f', 'logs[2].transactionHash', (block) => Object.assign(block.logs[2] as object, { transactionHash: hash('11') })],
    ['withdrawals/f', 'withdrawals[1].index', (block) => block.withdrawals.reverse()],
    ['withdrawals/f', 'withdrawals[1].index', (block) => Object.assign(block.withdrawals[1] as object, { index: 9 })],
  ])('%s: %s', (file, field, change) => {
    const block = whole()
    change(block)
    expect(fault(block)).toEqual([file, field])
  })

  it.each([
    ['the system has its own logs', 999],
    ['a failed transaction does', 25],
  ])('indexes of logs may leave numbers out where %s, but not go back', (_, chainId) => {
    const block = whole()
    block.logs.splice(1, 1)
    expect(checkPlaces(block, files, chainId).hash).toBe(hash('bb'))
    block.logs.reverse()
    expect(() => checkPlaces(block, files, chainId)).toThrow('logs[1].logIndex')
  })
})
