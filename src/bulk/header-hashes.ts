import { HexlineError, IntegrityError } from '../errors.ts'
import type { Block } from '../eth/objects.ts'
import type { BytesVerifier } from '../verify/bytes-verifier.ts'

/**
 * Finds headers that do not have the hash of their fields: their blooms and roots prove nothing. A
 * chain may hash its headers in another way, so nothing is said until one has the hash of its
 * fields.
 */
export class HeaderHashes {
  readonly #verify: BytesVerifier
  #areUsual = false

  private constructor(verify: BytesVerifier) {
    this.#verify = verify
  }

  /** Loaded on demand: it needs all of the verification. */
  static async load(chainId: number | undefined): Promise<HeaderHashes> {
    const { createBytesVerifier } = await import('../verify/bytes-verifier.ts')
    return new HeaderHashes(await createBytesVerifier({ isFull: false, level: 'header', senders: false, chainId }))
  }

  /** A header of the chain is at hand. */
  see(block: Block): void {
    this.#isRight(Buffer.alloc(0), block)
  }

  /** Whether this header, as JSON, is known not to have the hash of its fields. */
  isFalse(json: Buffer): boolean {
    return this.#isRight(json, undefined) === false && this.#areUsual
  }

  /** Undefined where that cannot be told. */
  #isRight(json: Buffer, block: Block | undefined): boolean | undefined {
    try {
      const { checks } = this.#verify({ block: json, receipts: undefined }, block && { block, receipts: undefined })
      if (!checks.includes('hash')) return undefined
      this.#areUsual = true
      return true
    } catch (error) {
      if (!(error instanceof HexlineError)) throw error
      return error instanceof IntegrityError ? false : undefined
    }
  }
}
