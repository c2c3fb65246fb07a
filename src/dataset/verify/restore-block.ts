import { BloomBuilder } from '../../eth/bloom.ts'
import { under } from '../../eth/codec/codec-path.ts'
import type { Hash } from '../../eth/codec/hex.ts'
import type { Block, Log, Receipt, Transaction, Withdrawal } from '../../eth/objects.ts'
import { hasGasOfReceipts } from '../../verify/receipts-checker.ts'
import type { Missing } from '../checks.ts'
import { undecodable } from '../falsehood.ts'
import type { DatasetHeader } from '../folder/manifest.ts'
import type { Fields } from '../parquet/column-rows.ts'
import type { BlockFacts } from './check-places.ts'
import type { FileNames, StoredBlock } from './join-blocks.ts'
import { absentColumns, storesColumn } from './stored-columns.ts'

const NO_HASH = `0x${'0'.repeat(64)}`

/**
 * Restores blocks and receipts, as a node gives them, from the rows that are stored. What is not
 * stored is filled with what it has to be, or with anything where no check reads it.
 */
export class BlockRestorer {
  readonly #header: DatasetHeader
  readonly #missing: Readonly<Record<string, Missing>>
  /** Whether the logs have all that is in a bloom. */
  readonly #hasWholeLogs: boolean
  /** The columns of a table that are not stored. */
  readonly #absent: Readonly<Record<'transactions' | 'receipts' | 'logs', readonly string[]>>
  readonly #blooms = new BloomBuilder()

  /** `missing` is what `missingOf` gives. */
  constructor(header: DatasetHeader, missing: Readonly<Record<string, Missing>>) {
    this.#header = header
    this.#missing = missing
    this.#hasWholeLogs = missing.logsBloom?.every((column) => !column.startsWith('logs')) ?? false
    this.#absent = {
      transactions: absentColumns(header, 'transactions'),
      receipts: absentColumns(header, 'receipts'),
      logs: absentColumns(header, 'logs'),
    }
  }

  /** The block as a node would give it. What is not stored is filled with what does not matter. */
  block({ number, blocks, transactions, receipts, withdrawals, logs }: StoredBlock, { hash, transactionHashes }: BlockFacts, files: FileNames): Block {
    const { transactionCount: _, ...header } = blocks?.[0] ?? {}
    const isWhole = transactions !== undefined && this.#missing.transactionHashes?.length === 0
    const last = receipts?.at(-1)?.cumulativeGasUsed
    const hasNoRoot = header.withdrawalsRoot === undefined || header.withdrawalsRoot === null
    const list = withdrawals?.map(({ blockNumber: _, blockHash: __, blockTimestamp: ___, ...each }) => each as unknown as Withdrawal)
    return {
      ...header,
      number,
      hash: (hash ?? NO_HASH) as Hash,
      transactions: isWhole
        ? (transactions.map((each, i) =>
            this.#filled('transactions', each, { blockHash: hash ?? NO_HASH, blockNumber: number, transactionIndex: i }),
          ) as unknown as Transaction[])
        : ((transactionHashes ?? []).map((each) => each ?? NO_HASH) as Hash[]),
      ...(list !== undefined && !(list.length === 0 && hasNoRoot) && { withdrawals: list }),
      ...(receipts !== undefined && this.#isGasFilled(header) && { gasUsed: (last ?? 0n) as bigint }),
      ...(logs !== undefined && this.#hasWholeLogs && !storesColumn(this.#header, 'blocks.logsBloom') && { logsBloom: this.bloomOf(logs, number, files) }),
    } as Block
  }

  /**
   * Whether the receipts' gas stands in for the header's: before Amsterdam, the two are equal.
   * Without `blockAccessListHash`, nothing tells whether they are, so they are not compared.
   */
  #isGasFilled(header: Fields): boolean {
    if (!storesColumn(this.#header, 'blocks.blockAccessListHash')) return true
    return !storesColumn(this.#header, 'blocks.gasUsed') && hasGasOfReceipts(header as Partial<Block>)
  }

  /** Receipts with their logs. What is not stored is filled with what it has to be. */
  receipts({ receipts, logs, number }: StoredBlock, block: Block, { transactionHashes }: BlockFacts): Receipt[] | undefined {
    if (receipts === undefined) return undefined
    let before = 0n
    const filled = receipts.map((receipt, i) => {
      // A row may lack the field, which the check of the root reports.
      const used = (receipt.cumulativeGasUsed ?? before) as bigint
      const transaction = block.transactions[i]
      const from = typeof transaction === 'object' ? transaction.from : undefined
      const fill = { transactionIndex: i, transactionHash: transactionHashes?.[i] ?? NO_HASH, gasUsed: used - before, from }
      before = used
      return this.#filled('receipts', receipt, { ...fill, blockHash: block.hash, blockNumber: number })
    }) as (Fields & { logs?: Fields[] })[]
    if (logs !== undefined) {
      for (const receipt of filled) receipt.logs = []
      for (const [i, log] of logs.entries()) {
        const index = log.transactionIndex as number
        const fill = { transactionHash: filled[index]?.transactionHash, logIndex: i, removed: false, blockHash: block.hash, blockNumber: number }
        filled[index]?.logs?.push(this.#filled('logs', log, fill))
      }
    }
    return filled as unknown as Receipt[]
  }

  /** The bloom of logs. Throws `IntegrityError` for a log that has none. */
  bloomOf(logs: readonly Fields[], block: bigint, files: FileNames): Hash {
    try {
      return this.#blooms.of(logs as unknown as Log[]) as Hash
    } catch (error) {
      throw undecodable({ file: files.logs as string, block }, '', under(error, 'logs'))
    }
  }

  /** A row with the fields of `fill` whose columns are not stored. */
  #filled(table: 'transactions' | 'receipts' | 'logs', row: Fields, fill: Fields): Fields {
    const absent = this.#absent[table]
    if (absent.length === 0) return row
    const filled = { ...row }
    for (const name of absent) if (name in fill) filled[name] = fill[name]
    return filled
  }
}
