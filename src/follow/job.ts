import type { HexlineError } from '../errors.ts'
import type { SourceOptions } from './block-source.ts'
import type { FollowCursor } from './cursor.ts'
import type { Confirmations } from './look.ts'

/** What to follow. Already checked. */
export interface FollowJob extends SourceOptions {
  /** A block number, the newest block that may be delivered, or a cursor. */
  readonly from: number | 'latest' | FollowCursor
  readonly confirmations: Confirmations
  readonly onProgress: ((progress: FollowProgress) => void) | undefined
}

/** Progress of `follow`. */
export interface FollowProgress {
  /** The last block that was delivered; undefined before the first one. */
  readonly number: bigint | undefined
  /** The newest block that may be delivered, as far as is known. */
  readonly head: bigint | undefined
  /** Blocks delivered so far, those included that were rolled back later. */
  readonly blocks: number
  /** Rollbacks so far. */
  readonly rollbacks: number
  /** Why there was no progress: the node is down, for example. It is asked again. */
  readonly failure?: HexlineError
}
