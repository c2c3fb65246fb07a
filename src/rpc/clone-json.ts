/**
 * A copy of parsed JSON that shares nothing that can change, of any depth: a trace has a frame in a
 * frame for each call.
 */
export function cloneJson(value: unknown): unknown {
  const left: [from: object, to: object][] = []
  const copyOf = (item: unknown): unknown => {
    if (item === null || typeof item !== 'object') return item
    // Not `slice`, which copies nothing of a Buffer.
    if (item instanceof Uint8Array) return Buffer.from(item)
    const to = Array.isArray(item) ? [] : {}
    left.push([item, to])
    return to
  }
  const copy = copyOf(value)
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [from, to] = next
    if (Array.isArray(from)) for (const item of from) (to as unknown[]).push(copyOf(item))
    else
      for (const [key, item] of Object.entries(from)) {
        // Plain assignment of this one key would set the prototype.
        if (key === '__proto__') Object.defineProperty(to, key, { value: copyOf(item), enumerable: true, writable: true, configurable: true })
        else (to as Record<string, unknown>)[key] = copyOf(item)
      }
  }
  return copy
}
