import { HexlineError, IntegrityError } from '../../errors.ts'
import type { Block } from '../../eth/objects.ts'
import type { BytesVerifier } from '../../verify/bytes-verifier.ts'

const NOT_NEEDED = 'not needed'
const HASH_ALONE = new Map([
  ['uncles', NOT_NEEDED],
  ['withdrawals', NOT_NEEDED],
] as const)

/**
 * Finds headers that do not have the hash of their fields: their blooms and roots prove nothing. A
 * chain may hash its headers in another way, so nothing is said until one has the hash of its
 * fields.
 */
export class HeaderHashes {
  readonly #verify: BytesVerifier
  #hashesAreUsual = false

  private constructor(verify: BytesVerifier) {
    this.#verify = verify
  }

  /** Loaded on demand: it needs all of the verification. */
  static async load(chainId: number | undefined): Promise<HeaderHashes> {
    const { createBytesVerifier } = await import('../../verify/bytes-verifier.ts')
    return new HeaderHashes(await createBytesVerifier({ isFull: false, level: 'header', senders: false, chainId, without: HASH_ALONE }))
  }

  /** Learns from a header whether the chain hashes headers as Ethereum does. */
  see(block: Block): void {
    this.#hasRightHash(Buffer.alloc(0), block)
  }

  /** Whether this header, as JSON, is known not to have the hash of its fields. */
  isWrong(json: Buffer): boolean {
    return this.#hasRightHash(json, undefined) === false && this.#hashesAreUsual
  }

  /** Undefined where that cannot be told. */
  #hasRightHash(json: Buffer, block: Block | undefined): boolean | undefined {
    try {
      const { checks } = this.#verify({ block: json, receipts: undefined }, block && { block, receipts: undefined })
      if (!checks.includes('hash')) return undefined
      this.#hashesAreUsual = true
      return true
    } catch (error) {
      if (!(error instanceof HexlineError)) throw error
      return error instanceof IntegrityError ? false : undefined
    }
  }
}
