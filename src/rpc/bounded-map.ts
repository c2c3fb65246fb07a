/**
 * A map that empties itself when it is full. For what is remembered by method: methods are named by
 * the user, and a program that makes names up must not fill memory. A new map is faster than one
 * that was cleared, which keeps its size.
 */
export class BoundedMap<Value> {
  #values = new Map<string, Value>()
  readonly #most: number

  constructor(most = 1_000) {
    this.#most = most
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: Value): void {
    if (this.#values.size >= this.#most && !this.#values.has(key)) this.#values = new Map()
    this.#values.set(key, value)
  }
}
