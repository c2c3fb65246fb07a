import { skipSpace, skipString, stringAt, viewOf } from './scan.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** A name that an object has twice, and the steps to that object. */
export interface RepeatedName {
  readonly name: string
  readonly path: readonly (string | number)[]
}

/**
 * A name that an object in `bytes` has twice; undefined if there is none. Readers differ on which
 * of the two values counts. The bytes must be JSON.
 */
export function findRepeatedName(bytes: Buffer): RepeatedName | undefined {
  const view = viewOf(bytes)
  const open: Open[] = []
  for (let i = 0; i < bytes.length; ) {
    const byte = bytes[i]
    if (byte === QUOTE) {
      const end = skipString(bytes, view, i, false)
      const within = open.at(-1)
      if (within?.names !== undefined && bytes[skipSpace(bytes, end)] === COLON) {
        const name = stringAt(bytes, i, end)
        if (within.names.has(name)) return { name, path: open.slice(0, -1).map(({ step }) => step) }
        within.names.add(name)
        within.step = name
      }
      i = end
      continue
    }
    if (byte === OPEN_BRACE) open.push({ names: new Set(), step: '' })
    else if (byte === OPEN_BRACKET) open.push({ names: undefined, step: 0 })
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) open.pop()
    else if (byte === COMMA) {
      const within = open.at(-1)
      if (typeof within?.step === 'number') within.step++
    }
    i++
  }
  return undefined
}

/** The same without the steps to its object. */
export function repeatedName(bytes: Buffer): string | undefined {
  return findRepeatedName(bytes)?.name
}

/** An object or an array that has begun. */
interface Open {
  /** The names so far; undefined for an array. */
  readonly names: Set<string> | undefined
  /** The name or the index of the value that is read. */
  step: string | number
}
