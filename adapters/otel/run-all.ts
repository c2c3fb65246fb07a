/** Runs all of these, whatever one of them throws. Then throws the first of the errors. */
export function runAll(steps: Iterable<() => unknown>): void {
  const errors: unknown[] = []
  for (const step of steps) {
    try {
      step()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
