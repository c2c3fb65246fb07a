/**
 * Replaces an error's stack by that of the callers who await it now, whose frames V8 knows. The
 * stack of where hexline made the error shows none of them: one POST answers many callers. Costs
 * nothing until a call fails. `from` and what it calls are left out: V8 keeps ten frames.
 */
export function withCallersStack<E extends Error>(error: E, from: (...args: never[]) => unknown): E {
  Error.captureStackTrace(error, from)
  return error
}
