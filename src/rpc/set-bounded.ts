/** Keys that a map remembers. */
const MOST = 1000

/**
 * Sets what is known of a method, or of one at an endpoint. Methods are named by the user, and a
 * program that makes names up must not fill memory: a map that is full forgets everything, which is
 * learnt again.
 */
export function setBounded<Value>(map: Map<string, Value>, key: string, value: Value): void {
  if (map.size >= MOST && !map.has(key)) map.clear()
  map.set(key, value)
}
