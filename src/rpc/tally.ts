/** A POST, and the reply that came whole. */
export interface PostFigures {
  /** Calls in it. */
  readonly calls: number
  /** Size of the reply's body, in bytes: after decompression, and as it came over the wire. */
  readonly bytes: number
  readonly wireBytes: number
  /** From its start to the last byte of its reply, in ms. */
  readonly ms: number
}

/**
 * What becomes of a call on its way: for `hexline:call` where somebody listens, and for the error
 * of a result that cannot be read.
 */
export class Tally {
  /** POSTs that it was in. */
  attempts = 0
  /** The endpoint that gave the last outcome. */
  endpoint: string | undefined
  /** The last POST that had a reply; undefined for an endpoint that is a function. */
  post: PostFigures | undefined

  /** It was in a POST, which has given its outcome. */
  posted(endpoint: string | undefined): void {
    this.attempts++
    this.endpoint = endpoint
  }
}
