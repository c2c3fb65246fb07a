/** How often a block is requested again. */
export interface Persistence {
  /** Attempts for one that is late. */
  readonly attempts: number
  /** Waits for a right one in place of a wrong one, as of `WrongReplies`. */
  readonly waits: number
}
