/** How often a block is requested again. */
export interface Persistence {
  /** Attempts for one that is late. */
  readonly attempts: number
  /** Most waits for a right one in place of a wrong one: see `WrongReplies`. */
  readonly waits: number
}
