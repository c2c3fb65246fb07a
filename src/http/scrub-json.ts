import { type Scrub, scrubStart } from './secrets.ts'

/**
 * Bounds of the JSON that an error keeps: characters of hex strings, characters of all other text,
 * values, and levels.
 */
const MOST_HEX = 4 * 1024 * 1024
const MOST_TEXT = 64 * 1024
const MOST_VALUES = 10_000
const MOST_LEVELS = 100

/**
 * A scrubbed copy of a JSON value, names of fields included, and bounded, since a server may send
 * an error as long as any reply. Hex is usually revert data, which callers decode, so it is kept up
 * to a size that no revert reaches. Longer strings are cut, and values beyond the bounds are
 * dropped.
 */
export function scrubJson(json: unknown, scrub: Scrub): unknown {
  let text = MOST_TEXT
  let hex = MOST_HEX
  let values = MOST_VALUES

  function string(value: string): string {
    const isHex = value.length <= hex && /^0x[0-9a-fA-F]*$/.test(value)
    const scrubbed = isHex ? scrub(value) : scrubStart(value, text, scrub)
    if (isHex) hex -= value.length
    else text = Math.max(0, text - scrubbed.length)
    return scrubbed
  }

  function copy(value: unknown, level: number): unknown {
    if (typeof value === 'string') return string(value)
    if (value === null || typeof value !== 'object') return value
    const isFull = () => text <= 0 || values-- <= 0
    if (Array.isArray(value)) {
      const items: unknown[] = []
      for (const item of value) {
        if (level >= MOST_LEVELS || isFull()) break
        items.push(copy(item, level + 1))
      }
      return items
    }
    const fields: [string, unknown][] = []
    for (const name in value) {
      if (level >= MOST_LEVELS || isFull()) break
      fields.push([string(name), copy((value as Record<string, unknown>)[name], level + 1)])
    }
    return Object.fromEntries(fields)
  }

  return copy(json, 0)
}
