import { createReader } from '../eth/codec/reader.ts'
import { type Block, blockDecoder, decodeReceipts, type Receipt } from '../eth/objects.ts'
import { BlockVerifier } from './block-verifier.ts'
import { loadSenderOf } from './sender.ts'
import type { BlockLevel, Verification, VerifyCheck } from './verification.ts'

/** How blocks are verified by their bytes. It can be sent to a worker. */
export interface BytesVerifierOptions {
  /** Whether the blocks have whole transactions. */
  readonly isFull: boolean
  readonly level: BlockLevel
  readonly senders: boolean
  readonly chainId: number | undefined
  /** Checks that are not made, each with the reason. */
  readonly without?: ReadonlyMap<VerifyCheck, string>
}

/** The JSON of a block, and of its receipts if they were requested. */
export interface BlockJson {
  readonly block: Buffer
  readonly receipts: Buffer | undefined
}

/** A block with all its fields, and its receipts if they were requested. */
export interface WholeBlock {
  readonly block: Block
  readonly receipts: readonly Receipt[] | undefined
}

/**
 * Verifies a block by its JSON, or by `whole`, which is the same decoded. Throws `IntegrityError`.
 */
export type BytesVerifier = (json: BlockJson, whole?: WholeBlock) => Verification

/** Loads what is needed to recover senders, if they are to be recovered. */
export async function createBytesVerifier({ isFull, level, senders, chainId, without }: BytesVerifierOptions): Promise<BytesVerifier> {
  const verifier = new BlockVerifier()
  const readBlock = createReader(blockDecoder(isFull))
  const readReceipts = createReader(decodeReceipts)
  const options = { level, chainId, senderOf: senders ? await loadSenderOf() : undefined, ...(without && { without }) }
  return (json, whole = { block: readBlock(json.block), receipts: json.receipts && readReceipts(json.receipts) }) =>
    verifier.verify(whole.block, whole.receipts, options)
}
