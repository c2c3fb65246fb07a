import { CodecError } from '../errors.ts'
import type { Block } from '../eth/objects.ts'
import { isOtherReceiptsRoot } from './deviations.ts'
import { EMPTY_ROOT, ListRoot } from './list-root.ts'
import { isSame } from './mismatch.ts'
import { type RootedReceipt, writeReceipt } from './receipt.ts'
import { RlpWriter } from './rlp.ts'

/** Compares receipts with the root in their header, whose hash is not checked. */
export class ReceiptsRoot {
  readonly #writer = new RlpWriter()
  readonly #root = new ListRoot(this.#writer)

  /**
   * Whether the receipts have the header's root. Undefined where that cannot be found out: the
   * header has no root, the receipts lack what it covers, or the chain may compute it in another
   * way.
   */
  fits(header: Pick<Block, 'number' | 'difficulty' | 'receiptsRoot'>, receipts: readonly RootedReceipt[], chainId: number | undefined): boolean | undefined {
    const { receiptsRoot } = header
    if (!isRoot(receiptsRoot) || (receipts.length > 0 && isSame(receiptsRoot, EMPTY_ROOT))) return undefined
    try {
      const root = this.#root.of(receipts.length, (i) => {
        const receipt = receipts[i] as RootedReceipt
        writeReceipt(this.#writer, receipt, receipt.type ?? 0)
      })
      if (isSame(root, receiptsRoot)) return true
    } catch (error) {
      // A receipt that cannot be encoded, such as one without a field, has no root at all.
      if (!(error instanceof CodecError)) throw error
    }
    return isOtherReceiptsRoot(header, receipts, chainId) ? undefined : false
  }
}

/** Chains without receipts tries fill in zeros. */
function isRoot(root: unknown): boolean {
  return typeof root === 'string' && /^0x(?!0{64}$)[0-9a-fA-F]{64}$/.test(root)
}
