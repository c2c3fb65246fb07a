/** A block, as far as it links a chain. */
export interface BlockHeader {
  readonly number: number
  readonly hash: string
  /** Undefined where the node has not sent it. */
  readonly parentHash: string | undefined
}

/** The header of a block, as a node sent it; undefined where it has no number or no hash. */
export function readHeader(raw: unknown): BlockHeader | undefined {
  const { hash, parentHash } = (raw ?? {}) as { readonly hash?: unknown; readonly parentHash?: unknown }
  const number = readNumber(raw)
  if (number === undefined || typeof hash !== 'string') return undefined
  return { number, hash, parentHash: typeof parentHash === 'string' ? parentHash : undefined }
}

/** The number of a block, as a node sent it; undefined where it has none. Null is not block 0. */
export function readNumber(raw: unknown): number | undefined {
  const { number } = (raw ?? {}) as { readonly number?: unknown }
  const value = typeof number === 'string' && number !== '' ? Number(number) : Number.NaN
  return Number.isSafeInteger(value) ? value : undefined
}
