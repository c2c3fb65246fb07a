import type { VerifyCheck } from '../../verify/verification.ts'
import type { Missing } from '../checks.ts'
import type { DatasetHeader } from '../folder/manifest.ts'
import type { DatasetTable } from '../tables.ts'
import { storesColumn } from './stored-columns.ts'

/** What each check needs in addition to what `missingOf` says. */
const alsoNeeds: Readonly<Partial<Record<VerifyCheck, readonly string[]>>> = {
  uncles: ['blocks.number', 'blocks.uncles', 'blocks.sha3Uncles'],
  prices: ['blocks.number', 'blocks.baseFeePerGas'],
  size: ['blocks.size', 'blocks.uncles'],
}

/**
 * The checks of a verification that a dataset does not allow, each with the reason: the columns
 * that are not stored. `missing` is what `missingOf` gives.
 */
export function checksWithout(header: DatasetHeader, missing: Readonly<Record<string, Missing>>): ReadonlyMap<VerifyCheck, string> {
  const { header: ofHeader = [], transactionsRoot = [], transactionHashes = [], receiptsRoot = [], withdrawalsRoot = [] } = missing
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
    const also = alsoNeeds[check as VerifyCheck]?.filter((column) => !storesColumn(header, column)) ?? []
    const tableOr = (column: string) => (header.tables.includes(column.split('.')[0] as DatasetTable) ? column : (column.split('.')[0] as string))
    return [check as VerifyCheck, [...new Set([...lack, ...also.map(tableOr)])]]
  })
  return new Map(all.filter(([, lack]) => lack.length > 0).map(([check, lack]) => [check, lackText(lack)]))
}

/** What is not stored, in words. */
export function lackText(missing: Missing): string {
  const shown = missing.slice(0, 5).join(', ')
  const more = missing.length > 5 ? ` and ${missing.length - 5} more` : ''
  return `not stored: ${shown}${more}`
}
