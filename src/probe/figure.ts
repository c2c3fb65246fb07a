/**
 * A figure of an endpoint, and how it was found.
 *
 * - `exactly`: `value` passed, and the next one, `refused`, was refused.
 * - `between`: `value` passed and `refused` was refused; the limit is somewhere in between.
 * - `at least`: `value` passed, and nothing above it was refused.
 * - `unknown`: it could not be found, and `how` says why.
 */
export interface Figure<T = number> {
  readonly known: 'exactly' | 'between' | 'at least' | 'unknown'
  readonly value: T | null
  readonly refused: T | null
  /** In words, which may quote the endpoint. */
  readonly how: string
}

export function exactly<T>(value: T, how: string, refused: T | null = null): Figure<T> {
  return { known: 'exactly', value, refused, how }
}

export function between<T>(value: T, refused: T, how: string): Figure<T> {
  return { known: 'between', value, refused, how }
}

export function atLeast<T>(value: T, how: string): Figure<T> {
  return { known: 'at least', value, refused: null, how }
}

export function unknown(how: string): Figure<never> {
  return { known: 'unknown', value: null, refused: null, how }
}
