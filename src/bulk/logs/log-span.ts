/** Blocks `from` to `to`, both included. */
export interface LogSpan {
  readonly from: number
  readonly to: number
}

/** How many they are. */
export function blocksIn({ from, to }: LogSpan): number {
  return to - from + 1
}
