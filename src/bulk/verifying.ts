import type { Client } from '../client/client.ts'
import { HexlineError } from '../errors.ts'
import { createReader } from '../eth/codec/reader.ts'
import { type Block, blockDecoder, decodeReceipts, type Receipt } from '../eth/objects.ts'
import { BlockVerifier } from '../verify/block-verifier.ts'
import { loadSenderOf } from '../verify/sender.ts'
import type { BlockLevel, Verification, VerifyCheck } from '../verify/verification.ts'

/** How the blocks of a range are verified. */
export interface VerifyOptions {
  readonly level: BlockLevel
  /** Whether senders are recovered from signatures. */
  readonly senders: boolean
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

/** What was proven of a range of blocks so far. */
export interface VerifyReport {
  /** Blocks verified. */
  readonly blocks: number
  /** For each check, the number of blocks that it was made of. */
  readonly checks: { readonly [Check in VerifyCheck]?: number }
  /** For each check and reason, as in `receipts: there are no receipts`, the number of blocks where it was skipped. */
  readonly skipped: Readonly<Record<string, number>>
}

/** The verification of a range of blocks. */
export interface Verifying {
  readonly report: VerifyReport
  /** Most blocks that are held to be verified. */
  readonly most: number
  /**
   * Verifies a block by its JSON, or by `whole`, which is the same decoded. Throws
   * `IntegrityError`.
   */
  verify(json: BlockJson, whole?: WholeBlock): void
  end(): void
}

/** Asks which chain it is, since not all chains compute hashes alike. */
export async function startVerifying(client: Client, isFull: boolean, { level, senders }: VerifyOptions): Promise<Verifying> {
  const chainId = await client.call('eth_chainId').catch((error) => {
    if (error instanceof HexlineError && error.kind === 'unsupported') return undefined
    throw error
  })
  const options = { level, chainId, senderOf: senders ? await loadSenderOf() : undefined }
  const verifier = new BlockVerifier()
  const readers = [createReader(blockDecoder(isFull)), createReader(decodeReceipts)] as const
  const decoded = ({ block, receipts }: BlockJson): WholeBlock => ({ block: readers[0](block), receipts: receipts && readers[1](receipts) })
  const counts = new VerifyCounts()
  return {
    most: 1,
    get report() {
      return counts.report
    },
    verify(json, whole = decoded(json)) {
      counts.add(verifier.verify(whole.block, whole.receipts, options))
    },
    end() {},
  }
}

/** Adds up what was proven of blocks. */
export class VerifyCounts {
  #blocks = 0
  readonly #checks: { [Check in VerifyCheck]?: number } = {}
  readonly #skipped: Record<string, number> = {}

  add({ checks, skipped }: Verification): void {
    this.#blocks++
    for (const check of checks) this.#checks[check] = (this.#checks[check] ?? 0) + 1
    for (const { check, reason } of skipped) this.#skipped[`${check}: ${reason}`] = (this.#skipped[`${check}: ${reason}`] ?? 0) + 1
  }

  get report(): VerifyReport {
    return { blocks: this.#blocks, checks: { ...this.#checks }, skipped: { ...this.#skipped } }
  }
}
