/**
 * What becomes of a call on its way: for `hexline:call` where somebody listens, and for the error
 * of a result that cannot be read.
 */
export class Tally {
  /** POSTs that it was in. */
  attempts = 0
  /** The endpoint that gave the last outcome. */
  endpoint: string | undefined

  /** It was in a POST, which has given its outcome. */
  posted(endpoint: string | undefined): void {
    this.attempts++
    this.endpoint = endpoint
  }
}
