import { IntegrityError } from '../errors.ts'
import { BloomBuilder } from '../eth/bloom.ts'
import { under } from '../eth/codec/codec-path.ts'
import type { Hash } from '../eth/codec/hex.ts'
import type { Block, Log, Receipt, Transaction, Withdrawal } from '../eth/objects.ts'
import { BlockVerifier } from '../verify/block-verifier.ts'
import { hasOwnTransactions, hasStateSync, mayBeUnknown, otherReceiptsRoot } from '../verify/deviations.ts'
import { isSame } from '../verify/mismatch.ts'
import { RlpWriter } from '../verify/rlp.ts'
import type { SenderOf } from '../verify/sender.ts'
import { hashesAs, signedChainId, typesInHex, writeTransaction } from '../verify/transaction.ts'
import { uncoveredFields } from '../verify/uncovered.ts'
import type { SkippedCheck, Verification, VerifyCheck } from '../verify/verification.ts'
import type { BlockFacts } from './check-places.ts'
import { type Missing, missingOf } from './checks.ts'
import type { Fields } from './column-rows.ts'
import { falsehood, undecodable } from './falsehood.ts'
import type { FileNames, StoredBlock } from './join-blocks.ts'
import { type DatasetHeader, MANIFEST } from './manifest.ts'
import { type DatasetTable, tables } from './tables.ts'

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

/** What each check needs in addition to what `missingOf` says. */
const alsoNeeds: Readonly<Partial<Record<VerifyCheck, readonly string[]>>> = {
  uncles: ['blocks.number', 'blocks.uncles', 'blocks.sha3Uncles'],
  prices: ['blocks.number', 'blocks.baseFeePerGas'],
  size: ['blocks.size', 'blocks.uncles'],
}

const NO_HASH = `0x${'0'.repeat(64)}`

/** Checks the content of blocks, as far as the columns of a dataset allow. */
export class BlockChecker {
  readonly #header: DatasetHeader
  readonly #senderOf: SenderOf | undefined
  readonly #verifier = new BlockVerifier()
  readonly #writer = new RlpWriter()
  readonly #blooms = new BloomBuilder()
  /** What each check lacks. */
  readonly #missing: Readonly<Record<string, Missing>>
  readonly #without: ReadonlyMap<VerifyCheck, string>
  /** Whether the logs have all that is in a bloom. */
  readonly #hasWholeLogs: boolean
  /** The columns of a table that are not stored. */
  readonly #absent: Readonly<Record<'transactions' | 'receipts' | 'logs', readonly string[]>>

  constructor(header: DatasetHeader, senderOf: SenderOf | undefined) {
    this.#header = header
    this.#senderOf = senderOf
    this.#missing = missingOf(header)
    this.#hasWholeLogs = this.#missing.logsBloom?.every((column) => !column.startsWith('logs')) ?? false
    const absentOf = (table: DatasetTable) =>
      tables[table].map(({ name }) => name).filter((name) => header.columns !== null && !this.stores(`${table}.${name}`))
    this.#absent = { transactions: absentOf('transactions'), receipts: absentOf('receipts'), logs: absentOf('logs') }
    const { header: ofHeader = [], transactionsRoot = [], transactionHashes = [], receiptsRoot = [], withdrawalsRoot = [] } = this.#missing
    const lacks: Record<VerifyCheck, Missing> = {
      hash: ofHeader,
      transactions: transactionsRoot,
      receipts: receiptsRoot,
      withdrawals: withdrawalsRoot,
      uncles: [],
      prices: transactionHashes,
      size: [...ofHeader, ...transactionsRoot, ...withdrawalsRoot],
      senders: [...transactionHashes],
    }
    const all = Object.entries(lacks).map(([check, lack]): [VerifyCheck, Missing] => {
      const also = alsoNeeds[check as VerifyCheck]?.filter((column) => !this.stores(column)) ?? []
      const tableOr = (column: string) => (header.tables.includes(column.split('.')[0] as DatasetTable) ? column : (column.split('.')[0] as string))
      return [check as VerifyCheck, [...new Set([...lack, ...also.map(tableOr)])]]
    })
    this.#without = new Map(all.filter(([, lack]) => lack.length > 0).map(([check, lack]) => [check, lackOf(lack)]))
  }

  /** Whether a column, as `table.column`, is stored; of lines, each field is. */
  stores(column: string): boolean {
    const [table, name] = column.split('.') as [DatasetTable, string]
    const { tables: stored, columns } = this.#header
    return stored.includes(table) && (columns === null || (columns[table] ?? []).includes(name))
  }

  /** Throws `IntegrityError` for what is wrong. */
  check(stored: StoredBlock, facts: BlockFacts, files: FileNames): BlockResult {
    const proven: BlockCheck[] = []
    const skipped: [BlockCheck, string][] = []
    const block = this.#blockOf(stored, facts, files)
    const result = this.#verify(stored, block, this.#receiptsOf(stored, block, facts), files)
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
    return missing.length === 0 ? undefined : lackOf(missing)
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

  /** The block as a node would give it. What is not stored is filled with what does not matter. */
  #blockOf({ number, blocks, transactions, receipts, withdrawals, logs }: StoredBlock, { hash, transactionHashes }: BlockFacts, files: FileNames): Block {
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
      ...(receipts !== undefined && !this.stores('blocks.gasUsed') && { gasUsed: (last ?? 0n) as bigint }),
      ...(logs !== undefined && this.#hasWholeLogs && !this.stores('blocks.logsBloom') && { logsBloom: this.#bloomOf(logs, number, files) }),
    } as Block
  }

  /** Receipts with their logs. What is not stored is filled with what it has to be. */
  #receiptsOf({ receipts, logs, number }: StoredBlock, block: Block, { transactionHashes }: BlockFacts): Receipt[] | undefined {
    if (receipts === undefined || this.#without.has('receipts')) return undefined
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

  /** A row with the fields of `fill` whose columns are not stored. */
  #filled(table: 'transactions' | 'receipts' | 'logs', row: Fields, fill: Fields): Fields {
    const absent = this.#absent[table]
    if (absent.length === 0) return row
    const filled = { ...row }
    for (const name of absent) if (name in fill) filled[name] = fill[name]
    return filled
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
    const bloom = this.#bloomOf(logs as Fields[], number, files)
    if (isSame(bloom, block.logsBloom)) return { check: 'logsBloom' }
    const { chainId } = this.#header
    const reason = otherReceiptsRoot(chainId) ?? (hasStateSync(chainId) ? 'logs of state sync are not in the bloom on Polygon' : undefined)
    if (reason !== undefined) return { check: 'logsBloom', reason }
    throw falsehood({ file: files.logs as string, block: number }, 'logsBloom', block.logsBloom, bloom, ', which the logs make')
  }

  #bloomOf(logs: readonly Fields[], block: bigint, files: FileNames): Hash {
    try {
      return this.#blooms.of(logs as unknown as Log[]) as Hash
    } catch (error) {
      throw undecodable({ file: files.logs as string, block }, '', under(error, 'logs'))
    }
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

/** What is not stored, in words. */
function lackOf(missing: Missing): string {
  const shown = missing.slice(0, 5).join(', ')
  const more = missing.length > 5 ? ` and ${missing.length - 5} more` : ''
  return `not stored: ${shown}${more}`
}
