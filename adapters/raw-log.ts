/** A log, as far as it says where it stands, as a node sent it. */
export interface RawLog {
  readonly blockNumber?: string | null
  readonly blockHash?: string | null
  readonly logIndex?: string | null
  readonly removed?: boolean
}

/** Tells a log from all others of a chain and its branches. */
export function keyOf({ blockHash, logIndex }: RawLog): string {
  return `${blockHash}:${logIndex}`
}

/** Undefined for a log of a pending block. */
export function numberOf({ blockNumber }: RawLog): number | undefined {
  return typeof blockNumber === 'string' ? Number(blockNumber) : undefined
}
