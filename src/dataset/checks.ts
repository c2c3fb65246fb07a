import { type DatasetTable, tables } from './tables.ts'

export const verifyLevels = ['link', 'header', 'full'] as const

/**
 * How much is checked of each block that is exported: `link` that it has the requested number,
 * names the block before it as its parent, and comes with the receipts of its transactions;
 * `header` also its hash; `full` also what is fetched for the tables: transactions, receipts and
 * logs, by their hashes and roots.
 */
export type VerifyLevel = (typeof verifyLevels)[number]

/** What a check lacks, as `table` or `table.column`; empty if it can be made. */
export type Missing = readonly string[]

/** What a dataset stores. */
interface Stored {
  readonly tables: readonly DatasetTable[]
  /** Null where rows hold everything that the node sent. */
  readonly columns: Readonly<Partial<Record<DatasetTable, readonly string[]>>> | null
}

const LOG = ['address', 'topic0', 'topic1', 'topic2', 'topic3', 'data', 'transactionIndex', 'logIndex']

/** Columns that repeat others, or that a header's hash does not cover. */
const NOT_HASHED = ['size', 'totalDifficulty', 'transactionCount', 'uncles']

/** What each check that can be made offline needs. */
const needs: Readonly<Record<string, Readonly<Partial<Record<DatasetTable, readonly string[]>>>>> = {
  link: { blocks: ['number', 'hash', 'parentHash'] },
  header: { blocks: tables.blocks.map(({ name }) => name).filter((name) => !NOT_HASHED.includes(name)) },
  transactionHashes: { transactions: transactionColumns() },
  transactionsRoot: { blocks: ['number', 'transactionsRoot'], transactions: transactionColumns() },
  receiptsRoot: {
    blocks: ['number', 'receiptsRoot'],
    receipts: ['blockNumber', 'transactionIndex', 'type', 'status', 'root', 'cumulativeGasUsed', 'logsBloom', 'depositNonce', 'depositReceiptVersion', 'extra'],
    logs: ['blockNumber', ...LOG],
  },
  withdrawalsRoot: { blocks: ['number', 'withdrawalsRoot'], withdrawals: ['blockNumber', 'index', 'validatorIndex', 'address', 'amount'] },
  logsBloom: { blocks: ['number', 'logsBloom'], logs: ['blockNumber', ...LOG.slice(0, 5)] },
}

function transactionColumns(): string[] {
  return tables.transactions.map(({ name }) => name).filter((name) => !['blockHash', 'blockTimestamp', 'valueDecimal'].includes(name))
}

/** What each check that can be made offline lacks in a dataset. */
export function missingOf({ tables: stored, columns }: Stored): Record<string, Missing> {
  return Object.fromEntries(Object.entries(needs).map(([check, needed]) => [check, missingFor(needed)]))

  function missingFor(needed: (typeof needs)[string]): string[] {
    return Object.entries(needed).flatMap(([table, names]) => {
      const name = table as DatasetTable
      // The node's own receipts hold their logs where these have no table.
      if (name === 'logs' && columns === null && !stored.includes('logs') && stored.includes('receipts')) return []
      if (name === 'withdrawals' && columns === null && !stored.includes('withdrawals') && stored.includes('blocks')) return []
      if (!stored.includes(name)) return [name]
      const there = columns?.[name]
      return there === undefined ? [] : names.filter((column) => !there.includes(column)).map((column) => `${name}.${column}`)
    })
  }
}
