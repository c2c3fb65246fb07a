import { IntegrityError } from '../../errors.ts'
import type { Block, Receipt, Transaction } from '../../eth/objects.ts'
import { BlockVerifier } from '../../verify/block-verifier.ts'
import { hasOwnTransactions, hasStateSync, mayBeUnknown, otherReceiptsRoot } from '../../verify/deviations.ts'
import { isSame } from '../../verify/mismatch.ts'
import { RlpWriter } from '../../verify/rlp.ts'
import type { SenderOf } from '../../verify/sender.ts'
import { hashesAs, signedChainId, typesInHex, writeTransaction } from '../../verify/transaction.ts'
import { uncoveredFields } from '../../verify/uncovered.ts'
import type { SkippedCheck, Verification, VerifyCheck } from '../../verify/verification.ts'
import { type Missing, missingOf } from '../checks.ts'
import { falsehood, undecodable } from '../falsehood.ts'
import { type DatasetHeader, MANIFEST } from '../folder/manifest.ts'
import type { Fields } from '../parquet/column-rows.ts'
import { type DatasetTable, tables } from '../tables.ts'
import type { BlockFacts } from './check-places.ts'
import { checksWithout, lackText } from './checks-without.ts'
import type { FileNames, StoredBlock } from './join-blocks.ts'
import { BlockRestorer } from './restore-block.ts'
import { storesColumn } from './stored-columns.ts'

/** The checks of a block's content, in the order of reports. */
const blockChecks = [
  'header',
  'transactionHashes',
  'transactionsRoot',
  'receiptsRoot',
  'logsBloom',
  'withdrawalsRoot',
  'uncles',
  'prices',
  'size',
  'senders',
] as const

export type BlockCheck = (typeof blockChecks)[number]

/** What was proven of a block; each reason stands for one block. */
export interface BlockResult {
  readonly proven: readonly BlockCheck[]
  readonly skipped: readonly (readonly [check: BlockCheck, reason: string])[]
  /** Columns, as `table.column` or `table.*`, whose values in this block nothing proves. */
  readonly uncovered: readonly string[]
}

/** What each check of a verification is called here. */
const names: Readonly<Record<VerifyCheck, readonly BlockCheck[]>> = {
  hash: ['header'],
  transactions: ['transactionHashes', 'transactionsRoot'],
  receipts: ['receiptsRoot', 'logsBloom'],
  withdrawals: ['withdrawalsRoot'],
  uncles: ['uncles'],
  prices: ['prices'],
  size: ['size'],
  senders: ['senders'],
}

/** The check that covers the columns of each table, except for those that a verification names. */
const coversTable: Readonly<Record<DatasetTable, BlockCheck>> = {
  blocks: 'header',
  transactions: 'transactionHashes',
  receipts: 'receiptsRoot',
  logs: 'receiptsRoot',
  withdrawals: 'withdrawalsRoot',
}

/**
 * A root that is in no proven header proves nothing; the hash of a transaction is known outside of
 * its block, too.
 */
function isCovered(table: DatasetTable, proven: readonly BlockCheck[]): boolean {
  return proven.includes(coversTable[table]) && (table === 'transactions' || proven.includes('header'))
}

/**
 * Checks the content of blocks, as far as the columns of a dataset allow: restores each block from
 * its rows, and verifies it by its hash and roots. Where the header or the receipts are not stored
 * whole, the hashes of transactions and the bloom of logs are checked alone.
 */
export class BlockChecker {
  readonly #header: DatasetHeader
  readonly #senderOf: SenderOf | undefined
  readonly #verifier = new BlockVerifier()
  readonly #writer = new RlpWriter()
  /** What each check lacks. */
  readonly #missing: Readonly<Record<string, Missing>>
  /** The checks that cannot be made, with the reasons. */
  readonly #without: ReadonlyMap<VerifyCheck, string>
  readonly #restorer: BlockRestorer

  constructor(header: DatasetHeader, senderOf: SenderOf | undefined) {
    this.#header = header
    this.#senderOf = senderOf
    this.#missing = missingOf(header)
    this.#without = checksWithout(header, this.#missing)
    this.#restorer = new BlockRestorer(header, this.#missing)
  }

  /** Whether a column, as `table.column`, is stored. */
  stores(column: string): boolean {
    return storesColumn(this.#header, column)
  }

  /** What is proven of a block, and what is not. Throws `IntegrityError` for what is wrong. */
  check(stored: StoredBlock, facts: BlockFacts, files: FileNames): BlockResult {
    const proven: BlockCheck[] = []
    const skipped: [BlockCheck, string][] = []
    const block = this.#restorer.block(stored, facts, files)
    const receipts = this.#without.has('receipts') ? undefined : this.#restorer.receipts(stored, block, facts)
    const result = this.#verify(stored, block, receipts, files)
    for (const check of result.checks) proven.push(...names[check])
    for (const { check, reason } of this.#allSkipped(result)) for (const name of names[check]) skipped.push([name, this.#lackOf(name) ?? reason])
    const alone = [this.#transactionHashes(stored, files), this.#logsBloom(stored, block, files)]
    for (const each of alone) {
      if (each === undefined) continue
      const at = skipped.findIndex(([name]) => name === each.check)
      if (each.reason === undefined) {
        skipped.splice(at, 1)
        proven.push(each.check)
      } else skipped[at] = [each.check, each.reason]
    }
    if (proven.includes('transactionHashes')) this.#checkChain(stored, files)
    const unproven = this.#header.tables.filter((table) => stored[table]?.length !== 0 && !isCovered(table, proven))
    const uncovered = this.#uncovered([...result.uncovered, ...this.#uncoveredAlone(stored, block, proven, result.checks)])
    const ofProven = uncovered.filter((column) => !unproven.includes(column.split('.')[0] as DatasetTable))
    return { proven, skipped, uncovered: [...ofProven, ...unproven.map((table) => `${table}.*`)] }
  }

  /** With the checks that are not begun because columns are missing. */
  #allSkipped({ checks, skipped }: Verification): SkippedCheck[] {
    const isTold = (check: VerifyCheck) => checks.includes(check) || skipped.some((each) => each.check === check)
    const others = [...this.#without].filter(([check]) => !isTold(check) && (check !== 'senders' || this.#senderOf !== undefined))
    return [...skipped, ...others.map(([check, reason]) => ({ check, reason }))]
  }

  #lackOf(check: BlockCheck): string | undefined {
    const missing = this.#missing[check] ?? []
    return missing.length === 0 ? undefined : lackText(missing)
  }

  #verify(stored: StoredBlock, block: Block, receipts: readonly Receipt[] | undefined, files: FileNames) {
    try {
      const { chainId } = this.#header
      return this.#verifier.verify(block, receipts, { level: 'full', chainId, senderOf: this.#senderOf, without: this.#without })
    } catch (error) {
      if (!(error instanceof IntegrityError) || error.field === undefined) throw error
      const { field, message, expected, found } = error
      const file = this.#fileOf(field, files)
      const note = field === 'receiptsRoot' && files.logs !== undefined ? `, with the logs of ${files.logs}` : ''
      throw new IntegrityError(`${file}: ${message}${note}`, { file, block: stored.number, field, expected: expected ?? '', found: found ?? '' })
    }
  }

  /** The file whose rows are wrong, by the field that a verification names. */
  #fileOf(field: string, files: FileNames): string {
    const likely: DatasetTable[] = /^(?:transactions|withdrawals)/.test(field)
      ? [/^\w+?(?=Root|$|\[)/.exec(field)?.[0] as DatasetTable]
      : /\.logs\b/.test(field)
        ? ['logs', 'receipts']
        : /^receipts/.test(field)
          ? ['receipts', 'logs']
          : []
    for (const table of [...likely, 'blocks', 'transactions'] as const) if (files[table] !== undefined) return files[table]
    return Object.values(files)[0] as string
  }

  /**
   * Transactions, whose hashes are proven, that are of another chain than the one that the manifest
   * names.
   */
  #checkChain({ transactions, number }: StoredBlock, files: FileNames): void {
    const { chainId } = this.#header
    if (!hasOwnTransactions(chainId)) return
    for (const [i, fields] of (transactions ?? []).entries()) {
      const transaction = fields as unknown as Transaction
      const signed = transaction.type <= 4 ? signedChainId(transaction) : undefined
      if (signed === undefined || signed === chainId) continue
      throw falsehood(
        { file: files.transactions as string, block: number },
        `transactions[${i}].chainId`,
        chainId,
        signed,
        `; expected is chainId of ${MANIFEST}`,
      )
    }
  }

  /** The hashes of transactions, where there is no header's root to compare with. */
  #transactionHashes({ transactions, number }: StoredBlock, files: FileNames): { check: BlockCheck; reason?: string } | undefined {
    if (!this.#without.has('transactions') || this.#missing.transactionHashes?.length !== 0) return undefined
    let reason: string | undefined
    for (const [i, fields] of (transactions ?? []).entries()) {
      const transaction = fields as unknown as Transaction
      const place = { file: files.transactions as string, block: number }
      if (mayBeUnknown(transaction, this.#header.chainId) && !hashesAs(this.#writer, transaction, transaction.type)) {
        reason ??= `hexline does not know this chain's transactions of type ${typesInHex([transaction.type])}`
        continue
      }
      this.#writer.clear()
      try {
        writeTransaction(this.#writer, transaction)
      } catch (error) {
        throw undecodable(place, `transactions[${i}]`, error)
      }
      this.#writer.hash()
      const hash = this.#writer.digest()
      if (!isSame(hash, transaction.hash)) throw falsehood(place, `transactions[${i}].hash`, transaction.hash, hash, ', which its fields make')
    }
    return { check: 'transactionHashes', ...(reason !== undefined && { reason }) }
  }

  /** The bloom of the logs, where the receipts are not stored whole. */
  #logsBloom({ logs, number }: StoredBlock, block: Block, files: FileNames): { check: BlockCheck; reason?: string } | undefined {
    if (!this.#without.has('receipts') || this.#missing.logsBloom?.length !== 0) return undefined
    const bloom = this.#restorer.bloomOf(logs as Fields[], number, files)
    if (isSame(bloom, block.logsBloom)) return { check: 'logsBloom' }
    const { chainId } = this.#header
    const reason = otherReceiptsRoot(chainId) ?? (hasStateSync(chainId) ? 'logs of state sync are not in the bloom on Polygon' : undefined)
    if (reason !== undefined) return { check: 'logsBloom', reason }
    throw falsehood({ file: files.logs as string, block: number }, 'logsBloom', block.logsBloom, bloom, ', which the logs make')
  }

  /**
   * What the hashes of transactions do not cover, where no root was compared; and a count without
   * its rows.
   */
  #uncoveredAlone({ transactions, receipts, blocks }: StoredBlock, block: Block, proven: readonly BlockCheck[], made: readonly VerifyCheck[]): string[] {
    const hasCount = blocks?.[0]?.transactionCount !== undefined && transactions === undefined && receipts === undefined
    const names = hasCount ? ['transactionCount'] : []
    if (made.includes('transactions') || !proven.includes('transactionHashes')) return names
    const all = uncoveredFields(block, transactions as unknown as Transaction[], undefined, new Set([...made, 'transactions']))
    return [...names, ...all.filter((name) => name.startsWith('transactions.'))]
  }

  /** Fields that nothing proves, as columns. What the rows repeat of their block was compared. */
  #uncovered(fields: readonly string[]): string[] {
    const { tables: stored, columns } = this.#header
    return fields
      .map((field) => (field.includes('.') ? (stored.includes('logs') ? field.replace(/^receipts\.logs\./, 'logs.') : field) : `blocks.${field}`))
      .filter((column) => {
        const [table, name = ''] = column.split('.') as [DatasetTable, string]
        if (['blockHash', 'blockNumber', 'blockTimestamp'].includes(name)) return false
        if (columns === null || this.stores(column)) return stored.includes(table)
        return !tables[table].some((each) => each.name === name) && this.stores(`${table}.extra`)
      })
  }
}
