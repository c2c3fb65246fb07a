/**
 * Throws what a user's function has thrown, in a turn of its own: the process reports it as it does
 * any other, and what called the function is not disturbed.
 */
export function throwLater(error: unknown): void {
  process.nextTick(() => {
    throw error
  })
}

/** The function, whose errors are thrown later. */
export function guarded<A extends readonly unknown[]>(call: (...args: A) => unknown): (...args: A) => void {
  return (...args) => {
    try {
      call(...args)
    } catch (error) {
      throwLater(error)
    }
  }
}
