import { mayLeaveOutIndexes } from '../../verify/deviations.ts'
import { isSame, plain } from '../../verify/mismatch.ts'
import { falsehood } from '../falsehood.ts'
import type { Fields } from '../parquet/column-rows.ts'
import { LAST_SECOND } from '../parquet/parquet-types.ts'
import type { DatasetTable } from '../tables.ts'
import type { FileNames, StoredBlock } from './join-blocks.ts'

/** What the rows of a block say of the block itself. */
export interface BlockFacts {
  /** Undefined where no row says it. */
  readonly hash: string | undefined
  readonly parentHash: string | undefined
  /** Hashes of its transactions; undefined where nothing stores them. */
  readonly transactionHashes: readonly unknown[] | undefined
}

const rowTables = ['transactions', 'receipts', 'logs', 'withdrawals'] as const

/**
 * Checks what the rows of a block say of their place: block, hash and time, index and order, and
 * that receipts and logs are those of its transactions. A column that is not stored says nothing.
 * Throws `IntegrityError`.
 */
export function checkPlaces(block: StoredBlock, files: FileNames, chainId: number): BlockFacts {
  const fail = (table: DatasetTable, path: string, expected: unknown, found: unknown) =>
    falsehood({ file: files[table] as string, block: block.number }, path, expected, found)
  const header = headerOf()
  const hash = checkRepeated()
  const transactionHashes = checkTransactions()
  checkReceipts()
  checkLogs()
  checkWithdrawals()
  return { hash, parentHash: header?.parentHash as string | undefined, transactionHashes }

  function headerOf(): Fields | undefined {
    const { blocks } = block
    if (blocks === undefined || blocks.length === 1) return blocks?.[0]
    throw fail('blocks', 'rows', plain('1 row'), plain(`${blocks.length} rows`))
  }

  /** Hash and time of the block, which each row repeats. */
  function checkRepeated(): string | undefined {
    let hash = header?.hash as string | undefined
    let timestamp = header?.timestamp as bigint | undefined
    for (const table of rowTables) {
      for (const [i, row] of (block[table] ?? []).entries()) {
        const { blockHash, blockTimestamp } = row
        if (blockHash !== undefined) {
          hash ??= blockHash as string
          if (!isSame(blockHash, hash)) throw fail(table, `${table}[${i}].blockHash`, hash, blockHash)
        }
        if (blockTimestamp === undefined) continue
        const time = blockTimestamp === null ? null : BigInt(blockTimestamp as string | bigint)
        if (time === null && (timestamp === undefined || timestamp > BigInt(LAST_SECOND))) continue
        timestamp ??= time ?? undefined
        if (time !== timestamp) throw fail(table, `${table}[${i}].blockTimestamp`, timestamp, time)
      }
    }
    return hash
  }

  function checkTransactions(): readonly unknown[] | undefined {
    const { transactions } = block
    const count = transactionCount()
    for (const [i, { transactionIndex }] of (transactions ?? []).entries())
      if (transactionIndex !== undefined && transactionIndex !== i) throw fail('transactions', `transactions[${i}].transactionIndex`, i, transactionIndex)
    const stored = header?.transactionCount
    if (stored !== undefined && count !== undefined && (stored === null || BigInt(stored as string) !== BigInt(count)))
      throw fail('blocks', 'transactionCount', count, stored)
    if (transactions !== undefined) return transactions.map((each) => each.hash)
    if (Array.isArray(header?.transactions)) return header.transactions
    return block.receipts?.map(({ transactionHash }) => transactionHash)
  }

  function transactionCount(): number | undefined {
    const list = header?.transactions
    return (block.transactions ?? (Array.isArray(list) ? list : block.receipts))?.length
  }

  function checkReceipts(): void {
    const { receipts } = block
    if (receipts === undefined) return
    const count = transactionCount()
    if (receipts.length !== count) throw fail('receipts', 'receipts', plain(`${count} rows`), plain(`${receipts.length} rows`))
    for (const [i, receipt] of receipts.entries()) {
      const { transactionIndex, transactionHash } = receipt
      if (transactionIndex !== undefined && transactionIndex !== i) throw fail('receipts', `receipts[${i}].transactionIndex`, i, transactionIndex)
      checkHash('receipts', `receipts[${i}]`, transactionHash, i)
    }
  }

  function checkHash(table: DatasetTable, path: string, found: unknown, index: number): void {
    const expected = transactionHashes?.[index]
    if (found !== undefined && expected !== undefined && !isSame(found, expected)) throw fail(table, `${path}.transactionHash`, expected, found)
  }

  function checkLogs(): void {
    const isCounted = !mayLeaveOutIndexes(chainId)
    let last = -1
    let before = 0
    for (const [i, { logIndex, transactionIndex, transactionHash, removed }] of (block.logs ?? []).entries()) {
      const path = `logs[${i}]`
      if (logIndex !== undefined) {
        const isNext = typeof logIndex === 'number' && (isCounted ? logIndex === last + 1 : logIndex > last)
        if (!isNext) throw fail('logs', `${path}.logIndex`, isCounted ? last + 1 : plain(`more than ${last}`), logIndex)
        last = logIndex
      }
      if (removed) throw fail('logs', `${path}.removed`, false, removed)
      if (transactionIndex === undefined) continue
      const most = transactionHashes === undefined ? Number.POSITIVE_INFINITY : transactionHashes.length - 1
      if (typeof transactionIndex !== 'number' || transactionIndex < before || transactionIndex > most)
        throw fail('logs', `${path}.transactionIndex`, plain(`a number from ${before} to ${most}`), transactionIndex)
      before = transactionIndex
      checkHash('logs', path, transactionHash, transactionIndex)
    }
  }

  function checkWithdrawals(): void {
    let last: number | undefined
    for (const [i, { index }] of (block.withdrawals ?? []).entries()) {
      if (index === undefined) continue
      if (typeof index !== 'number' || (last !== undefined && index !== last + 1))
        throw fail('withdrawals', `withdrawals[${i}].index`, last === undefined ? plain('a number') : last + 1, index)
      last = index
    }
  }
}
