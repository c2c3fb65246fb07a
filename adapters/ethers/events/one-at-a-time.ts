/**
 * Runs `work` for one value at a time. Of the values that arrive in the meantime, only the newest
 * is kept, and it runs next. `work` must not reject.
 */
export function oneAtATime<T>(work: (value: T) => Promise<void>): (value: T) => void {
  let next: { readonly value: T } | undefined
  let isRunning = false
  const run = async () => {
    isRunning = true
    while (next !== undefined) {
      const { value } = next
      next = undefined
      await work(value)
    }
    isRunning = false
  }
  return (value) => {
    next = { value }
    if (!isRunning) void run()
  }
}
