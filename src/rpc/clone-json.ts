/**
 * A copy of parsed JSON that shares nothing that can change, of any depth: a trace has a frame in a
 * frame for each call. Throws `TypeError` for an object that contains itself, which no JSON does.
 */
export function cloneJson(value: unknown): unknown {
  /** Those whose copies are being filled, each within the one before. */
  const open = new Set<object>()
  const left: [from: object, to: object][] = []
  const copyOf = (item: unknown): unknown => {
    if (item === null || typeof item !== 'object') return item
    // Not `slice`, which copies nothing of a Buffer.
    if (item instanceof Uint8Array) return Buffer.from(item)
    if (open.has(item)) throw new TypeError('an object contains itself')
    const to = Array.isArray(item) ? [...item] : { ...item }
    left.push([item, to])
    return to
  }
  const copy = copyOf(value)
  for (let next = left.at(-1); next !== undefined; next = left.at(-1)) {
    const [from, to] = next
    // Met again when all within it is copied.
    if (open.delete(from)) left.pop()
    else {
      open.add(from)
      if (Array.isArray(to)) for (let i = 0; i < to.length; i++) to[i] = copyOf(to[i])
      else fill(to as Record<string, unknown>, copyOf)
    }
  }
  return copy
}

/** Replaces the objects in a copy by copies. */
function fill(to: Record<string, unknown>, copyOf: (item: unknown) => unknown): void {
  for (const key of Object.keys(to)) {
    const item = to[key]
    if (item === null || typeof item !== 'object') continue
    // Plain assignment of this one key would set the prototype.
    if (key === '__proto__') Object.defineProperty(to, key, { value: copyOf(item), enumerable: true, writable: true, configurable: true })
    else to[key] = copyOf(item)
  }
}
