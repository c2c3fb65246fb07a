/**
 * Least time and least work before an estimate: connections, batches and rates are still growing
 * until then.
 */
const LEAST_MS = 3_000
const LEAST_DONE = 100

/**
 * Estimates the remaining time of a job, in ms, from its average speed; undefined while too little
 * is done.
 */
export function timeLeft({ done, total }: { readonly done: number; readonly total: number }, elapsedMs: number): number | undefined {
  if (elapsedMs < LEAST_MS || done < Math.max(1, Math.min(LEAST_DONE, total / 100))) return undefined
  return ((total - done) * elapsedMs) / done
}
