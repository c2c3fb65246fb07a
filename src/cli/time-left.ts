/** What has to be done, and for how long, before the time that is left is more than a guess: connections, batches and rates find their size first. In ms. */
const LEAST_MS = 3_000
const LEAST_DONE = 100

/** How much longer a job takes, in ms, at the pace that it had so far; undefined as long as too little of it is done to tell. */
export function timeLeft({ done, total }: { readonly done: number; readonly total: number }, elapsedMs: number): number | undefined {
  if (elapsedMs < LEAST_MS || done < Math.min(LEAST_DONE, total / 100)) return undefined
  return ((total - done) * elapsedMs) / done
}
