/**
 * The calls of one logical action: the endpoint that they go to, and the newest block that they
 * have seen there.
 */
export class Pin {
  /** Name of the endpoint; chosen at the first call. */
  endpoint: string | undefined
  /** -1 when no block has been seen. */
  newest = -1

  sees(number: number): void {
    if (number > this.newest) this.newest = number
  }
}
