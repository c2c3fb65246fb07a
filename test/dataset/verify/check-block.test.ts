import { IntegrityError } from 'hexline'
import { describe, expect, it } from 'vitest'
import type { DatasetHeader } from '../../../src/dataset/folder/manifest.ts'
import { type DatasetTable, tableNames, tables } from '../../../src/dataset/tables.ts'
import { BlockChecker } from '../../../src/dataset/verify/check-block.ts'
import { checkPlaces } from '../../../src/dataset/verify/check-places.ts'
import type { StoredBlock } from '../../../src/dataset/verify/join-blocks.ts'
import { decodeLog, decodeReceipt, decodeTransaction, decodeUncle, decodeWithdrawal } from '../../../src/eth/objects.ts'
import { madeJson } from '../../support/decoded-blocks.ts'

type Fields = Record<string, unknown>
type Tables = { -readonly [T in DatasetTable]: Fields[] }

const files = Object.fromEntries(tableNames.map((table) => [table, `${table}/f`]))

/** The rows of a block, decoded, as if all tables were stored. */
async function rowsOf(): Promise<Tables> {
  const { block, receipts } = structuredClone(await madeJson())
  const { transactions, withdrawals, ...header } = block
  const rows = (list: readonly unknown[], decode: (row: unknown) => object) => list.map((row) => decode(row) as Fields)
  return {
    blocks: rows([header], decodeUncle),
    transactions: rows(transactions, decodeTransaction),
    logs: rows(
      receipts.flatMap(({ logs }) => logs as object[]),
      decodeLog,
    ),
    receipts: rows(
      receipts.map(({ logs: _, ...receipt }) => receipt),
      decodeReceipt,
    ),
    withdrawals: rows(withdrawals as object[], decodeWithdrawal),
  }
}

/** The header of a dataset with these tables, and in Parquet all columns but those left out. */
function headerOf(stored: readonly DatasetTable[], without: readonly string[] | null, chainId = 1): DatasetHeader {
  const names = (table: DatasetTable) => tables[table].map(({ name }) => name).filter((name) => !without?.includes(`${table}.${name}`))
  const columns = without === null ? null : Object.fromEntries(stored.map((table) => [table, names(table)]))
  return {
    schema: 1,
    chainId,
    format: without === null ? 'ndjson' : 'parquet',
    compression: null,
    from: 0,
    blocksPerFile: 1,
    tables: stored,
    columns,
    checks: {},
  }
}

/** Checks the rows of these tables, without the columns left out. */
function check(rows: Tables, stored: readonly DatasetTable[], without: readonly string[] | null = [], chainId = 1) {
  const block: { number: bigint } & Partial<Tables> = { number: 7n }
  for (const table of stored)
    block[table] = rows[table].map((row) => {
      const kept = Object.entries(row).filter(([name]) => !without?.includes(`${table}.${name}`))
      return Object.fromEntries(kept)
    })
  const facts = checkPlaces(block as StoredBlock, files, chainId)
  return new BlockChecker(headerOf(stored, without, chainId), undefined).check(block as StoredBlock, facts, files)
}

const everything = ['header', 'uncles', 'withdrawalsRoot', 'transactionHashes', 'transactionsRoot', 'receiptsRoot', 'logsBloom', 'prices', 'size']

it('with all columns, everything but the senders', async () => {
  expect(check(await rowsOf(), tableNames)).toEqual({
    proven: everything,
    skipped: [],
    uncovered: ['transactions.from', 'receipts.from', 'receipts.contractAddress'],
  })
})

describe('each column that is not stored takes away the checks that need it, and no other', () => {
  it.each<[string, string[]]>([
    ['blocks.stateRoot', ['header', 'size']],
    ['blocks.transactionsRoot', ['header', 'transactionsRoot', 'size']],
    ['blocks.receiptsRoot', ['header', 'receiptsRoot', 'size']],
    ['blocks.logsBloom', ['header', 'size']],
    ['blocks.gasUsed', ['header', 'size']],
    ['blocks.uncles', ['uncles', 'size']],
    ['blocks.size', ['size']],
    ['blocks.baseFeePerGas', ['header', 'prices', 'size']],
    ['transactions.s', ['transactionHashes', 'transactionsRoot', 'prices', 'size']],
    ['transactions.blockHash', []],
    ['receipts.status', ['receiptsRoot']],
    ...['transactionHash', 'blockHash', 'blockNumber', 'gasUsed', 'from', 'to', 'contractAddress']
      .filter((name) => name !== 'blockNumber')
      .map((name): [string, string[]] => [`receipts.${name}`, []]),
    ['logs.data', ['receiptsRoot']],
    ['logs.topic3', ['receiptsRoot', 'logsBloom']],
    ...['transactionHash', 'blockHash', 'removed'].map((name): [string, string[]] => [`logs.${name}`, []]),
    ['withdrawals.amount', ['withdrawalsRoot', 'size']],
  ])('%s', async (column, lost) => {
    const { proven, skipped } = check(await rowsOf(), tableNames, [column])
    // The bloom is computed from the rows; a header without one has nothing to compare it with.
    const isProven = everything.filter((name) => !lost.includes(name) && !(column === 'blocks.logsBloom' && name === 'logsBloom'))
    expect(proven.filter((name) => !(column === 'blocks.logsBloom' && name === 'logsBloom')).sort()).toEqual(isProven.sort())
    expect(
      skipped
        .map(([name]) => name)
        .filter((name) => lost.includes(name))
        .sort(),
    ).toEqual([...lost].sort())
    for (const [, reason] of skipped) expect(reason).toBe(`not stored: ${column}`)
  })
})

describe('the gas of a block', () => {
  const withHeader = async (without: readonly string[], changed: Fields) => {
    const rows = await rowsOf()
    Object.assign(rows.blocks[0] as Fields, changed)
    return check(rows, tableNames, without).proven
  }
  // Without the hash, so that only the receipts are compared with it.
  const lost = ['blocks.stateRoot']

  it('is the gas of its receipts before Amsterdam', async () => {
    await expect(withHeader(lost, { blockAccessListHash: null, gasUsed: 9n })).rejects.toMatchObject({ field: 'receipts[6].cumulativeGasUsed' })
    expect(await withHeader(['blocks.gasUsed'], { blockAccessListHash: null })).toContain('receiptsRoot')
  })

  it('is counted in another way since, so that it is neither compared nor filled in', async () => {
    expect(await withHeader(lost, { gasUsed: 9n })).toContain('receiptsRoot')
    expect(await withHeader(['blocks.gasUsed'], {})).toContain('receiptsRoot')
  })

  it('is not compared where nothing tells which of the two holds', async () => {
    expect(await withHeader(['blocks.blockAccessListHash'], { gasUsed: 9n })).toContain('receiptsRoot')
  })
})

it('a header that is not proven leaves what the hashes of transactions cover, and nothing of other tables', async () => {
  const ofTransactions = ['transactions.from', 'transactions.gasPrice']
  expect(check(await rowsOf(), tableNames, ['blocks.stateRoot']).uncovered).toEqual([...ofTransactions, 'blocks.*', 'receipts.*', 'logs.*', 'withdrawals.*'])
})

describe('what is wrong is found, with its file', () => {
  it.each<[string, readonly DatasetTable[], (rows: Tables) => unknown, string, string]>([
    ['a header', ['blocks'], ({ blocks: [row] }) => Object.assign(row as Fields, { gasLimit: 1n }), 'blocks/f', 'hash'],
    [
      'a transaction without blocks',
      ['transactions'],
      ({ transactions: [row] }) => Object.assign(row as Fields, { value: 1n }),
      'transactions/f',
      'transactions[0].hash',
    ],
    [
      'a field of a transaction that is not hex',
      ['transactions'],
      ({ transactions: [row] }) => Object.assign(row as Fields, { input: 'x' }),
      'transactions/f',
      'transactions[0].input',
    ],
    [
      'a log without receipts',
      ['blocks', 'logs'],
      ({ logs: [row] }) => Object.assign(row as Fields, { address: `0x${'77'.repeat(20)}` }),
      'logs/f',
      'logsBloom',
    ],
    [
      'a log without receipts, with text that is not hex after its address',
      ['blocks', 'logs'],
      ({ logs: [row] }) => Object.assign(row as Fields, { address: `${(row as Fields).address}zz` }),
      'logs/f',
      'logs[0].address',
    ],
    ['data of a log', tableNames, ({ logs: [row] }) => Object.assign(row as Fields, { data: '0x77' }), 'receipts/f', 'receiptsRoot'],
    ['a topic of a log', tableNames, ({ logs: [row] }) => Object.assign(row as Fields, { topics: [] }), 'receipts/f', 'receipts[1].logsBloom'],
    ['gas of a receipt', tableNames, ({ receipts: [row] }) => Object.assign(row as Fields, { gasUsed: 1n }), 'receipts/f', 'receipts[0].gasUsed'],
    ['a withdrawal', tableNames, ({ withdrawals: [row] }) => Object.assign(row as Fields, { amount: 1n }), 'withdrawals/f', 'withdrawalsRoot'],
    ['a transaction', tableNames, ({ transactions: [row] }) => Object.assign(row as Fields, { nonce: 77 }), 'transactions/f', 'transactions[0].hash'],
  ])('%s', async (_, stored, change, file, field) => {
    const rows = await rowsOf()
    change(rows)
    let error: unknown
    try {
      check(rows, stored)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(IntegrityError)
    expect(error).toMatchObject({ file, field, block: 7n })
    expect((error as Error).message).toMatch(new RegExp(`^${file}: block 7: `))
  })
})

it('a bloom that does not fit proves nothing where the chain has logs that it leaves out', async () => {
  const rows = await rowsOf()
  Object.assign(rows.logs[0] as Fields, { address: `0x${'77'.repeat(20)}` })
  const { skipped } = check(rows, ['blocks', 'logs'], ['blocks.stateRoot'], 999)
  expect(skipped.find(([name]) => name === 'logsBloom')).toEqual(['logsBloom', 'Hyperliquid has system transactions that no root holds'])
})

it('a type that hexline cannot encode is no falsehood, and not proven', async () => {
  const rows = await rowsOf()
  Object.assign(rows.transactions[6] as Fields, { type: 0x55 })
  const { proven, skipped } = check(rows, ['transactions'])
  expect(proven).not.toContain('transactionHashes')
  expect(skipped).toContainEqual(['transactionHashes', "hexline does not know this chain's transactions of type 0x55"])
})

it('the same for a type number that the chain gave to something else', async () => {
  const rows = await rowsOf()
  Object.assign(rows.transactions[6] as Fields, { type: 0x64, expiredTime: '0x1' })
  const { proven, skipped } = check(rows, ['transactions'], [], 2020)
  expect(proven).not.toContain('transactionHashes')
  expect(skipped).toContainEqual(['transactionHashes', "hexline does not know this chain's transactions of type 0x64"])
})
