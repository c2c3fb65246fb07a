import type { Client } from '../../client/client.ts'
import { readUnread } from '../../rpc/post/unread.ts'
import { type BlockJson, createBytesVerifier, type WholeBlock } from '../../verify/bytes-verifier.ts'
import type { BlockLevel, Verification, VerifyCheck } from '../../verify/verification.ts'
import { VerifyWorkers } from '../../verify/workers.ts'
import { chainIdOf } from '../chain.ts'

/** How the blocks of a range are verified. */
export interface VerifyOptions {
  readonly level: BlockLevel
  /** Whether senders are recovered from signatures. */
  readonly senders: boolean
}

/** What was proven of a range of blocks so far. */
export interface VerifyReport {
  /** Blocks verified. */
  readonly blocks: number
  /** For each check, the number of blocks that passed it. */
  readonly checks: { readonly [Check in VerifyCheck]?: number }
  /**
   * For each check and reason, as in `receipts: there are no receipts`, the number of blocks where
   * it was skipped.
   */
  readonly skipped: Readonly<Record<string, number>>
}

/** What was proven of one block. */
export type Proof = Pick<Verification, 'checks' | 'skipped'>

const NOTHING: Proof = { checks: [], skipped: [] }

/** The verification of a range of blocks. */
export interface Verifying {
  readonly report: VerifyReport
  /** Most blocks that are held to be verified. */
  readonly most: number
  /**
   * Verifies a block by its JSON, or by `whole`, which is the same decoded; in a worker if one is
   * free. The bytes have been read, and stay valid until it is done. Throws, or rejects with,
   * `IntegrityError`.
   */
  verify(json: BlockJson, whole: WholeBlock | undefined): Promise<Proof> | Proof
  /** Counts a block that is delivered. */
  add(proof: Proof): void
  /** Ends the workers. */
  end(): void
}

/**
 * Blocks that are verified before workers start: a worker needs a few hundred ms of CPU time until
 * it is as fast as the main thread.
 */
const BEFORE_WORKERS = 100

/** Asks which chain it is, since not all chains compute hashes alike. */
export async function startVerifying(client: Client, isFull: boolean, { level, senders }: VerifyOptions): Promise<Verifying> {
  const chainId = await chainIdOf(client)
  const options = { isFull, level, senders, chainId }
  const verify = await createBytesVerifier(options)
  let workers: VerifyWorkers | undefined
  const counts = new VerifyCounts()
  let begun = 0
  let isEnded = false
  return {
    get most() {
      return 1 + (workers?.capacity ?? 0)
    },
    get report() {
      return counts.report
    },
    verify(json, whole) {
      // A header takes less time than handing it over.
      if (level === 'full' && begun++ === BEFORE_WORKERS) workers ??= new VerifyWorkers(options)
      const verdict = workers?.verify(() => ({ block: copyOf(json.block), receipts: json.receipts && copyOf(json.receipts) }))
      if (verdict === undefined) return verify(json, whole)
      // What is wrong is verified here, too, for the error, while its bytes are valid.
      return verdict.then((proven) => proven ?? (isEnded ? NOTHING : verify(json, whole)))
    },
    add: (proof) => counts.add(proof),
    end() {
      isEnded = true
      workers?.end()
    },
  }
}

/** A copy of bytes that have been read before. */
function copyOf(bytes: Buffer): ArrayBuffer {
  return readUnread(bytes, (whole) => Uint8Array.prototype.slice.call(whole).buffer as ArrayBuffer)
}

/** Adds up what was proven of blocks. */
class VerifyCounts {
  blocks = 0
  readonly #checks: { [Check in VerifyCheck]?: number } = {}
  readonly #skipped: Record<string, number> = {}

  add({ checks, skipped }: Proof): void {
    this.blocks++
    for (const check of checks) this.#checks[check] = (this.#checks[check] ?? 0) + 1
    for (const { check, reason } of skipped) this.#skipped[`${check}: ${reason}`] = (this.#skipped[`${check}: ${reason}`] ?? 0) + 1
  }

  get report(): VerifyReport {
    return { blocks: this.blocks, checks: { ...this.#checks }, skipped: { ...this.#skipped } }
  }
}
