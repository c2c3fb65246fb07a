import type { Chain } from 'viem'
import type { Linked, LinkedReceipt } from '../../../src/bulk/link.ts'
import { createReader } from '../../../src/eth/codec/reader.ts'
import { type Formatted, formatBlockOf, formatReceiptsOf } from './chain-format.ts'

/** The formatted receipts of a block. */
export interface FormattedReceipts {
  readonly linked: readonly LinkedReceipt[]
  readonly values: readonly object[]
}

/** Reads blocks and receipts from bytes, formatted as viem formats them for a chain. */
export interface FormattedReader {
  block(bytes: Buffer): Formatted<object, Linked>
  receipts(bytes: Buffer): FormattedReceipts
}

/** The reader for a chain. `full` blocks hold whole transactions. */
export function formattedReader(chain: Chain | undefined, full: boolean, likeViem: boolean): FormattedReader {
  const readReceipts = createReader(formatReceiptsOf(chain, likeViem))
  return {
    block: createReader(formatBlockOf(chain, full, likeViem)),
    receipts(bytes) {
      const receipts = readReceipts(bytes)
      return { linked: receipts.map(({ linked }) => linked), values: receipts.map(({ value }) => value) }
    },
  }
}

/** The formatted block, with its receipts if there are any. Changes the block. */
export function withReceipts({ value }: Formatted<object, Linked>, receipts: FormattedReceipts | undefined): object {
  return receipts === undefined ? value : Object.assign(value, { receipts: receipts.values })
}
