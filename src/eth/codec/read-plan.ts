import { type Likeness, newLikeness } from './likeness.ts'
import { decodeNumber, decodeQuantity } from './quantity.ts'
import type { Decode } from './schema.ts'

/** How a value is read. Numbers, since the hottest switch there is runs on them. */
export const ANY = 0
export const QUANTITY = 1
export const NUMBER = 2
export const STRING = 3
export const OBJECT = 4
export const ARRAY = 5
export const CODEC = 6
export const SKIPPED = 7

/** How values of one kind are read from bytes: made once of what their decoder says of them. */
export interface Reading {
  readonly kind: number
  /** OBJECT: where reading its keys begins. */
  readonly root?: Place
  /** OBJECT: how the values of its keys are read, and which keys there must be. */
  readonly fields?: Fields
  /** ARRAY: how its items are read. */
  readonly item?: Reading
  /** CODEC: makes the value of what was parsed. OBJECT, ARRAY: what is made of the decoded one, if anything. */
  readonly make?: Decode<unknown> | undefined
}

export interface Fields {
  readonly identity: readonly string[]
  of(key: string): Reading
}

/**
 * A place in an object: after certain keys in a certain order. Nodes write the objects of a kind with the same keys in the same
 * order, or in one of a few, so the way through an object is one comparison a key.
 */
export interface Place {
  /** The key that leads here, with its quotes and its colon: how many bytes, the last four, and those before in words of four. */
  readonly length: number
  readonly last: number
  readonly words: Int32Array
  readonly reading: Reading
  /** SKIPPED: what the items of arrays look like here. */
  readonly items: Likeness | undefined
  /** All keys so far, and those whose values are kept. */
  readonly seen: readonly string[]
  readonly keys: readonly string[]
  /** What came next for the first time, and what else did since. */
  next: Place | undefined
  readonly others: Place[]
  /**
   * The value that stood here last: in which read, where in its bytes, how many of them, and what was made of it. A transaction names the
   * block of the one before it, a log the transaction: the same bytes are the same value, and cost a comparison.
   */
  read: number
  at: number
  size: number
  value: unknown
  /** Above 0 as long as values come again often enough to look. */
  worth: number
  /** Makes an object with these keys of the values of those that are kept, in their order. */
  make: Maker | undefined
}

export type Maker = (values: readonly unknown[]) => Record<string, unknown>

export const ANYTHING: Reading = { kind: ANY }
export const SKIP: Reading = { kind: SKIPPED }

/** Thrown for bytes that are to be read the long way, whatever is unusual about them. Without a stack: it is no failure. */
export const UNUSUAL: Error = Object.assign(Object.create(Error.prototype), { message: 'unusual' })

/** How what `decode` decodes is read. */
export function readingOf(decode: Decode<unknown>): Reading {
  if (decode === decodeQuantity) return { kind: QUANTITY }
  if (decode === decodeNumber) return { kind: NUMBER }
  const { form } = decode
  if (form === undefined) return { kind: CODEC, make: decode }
  if (form.is === 'string') return { kind: STRING }
  if (form.is === 'array') return { kind: ARRAY, item: readingOf(form.item), make: form.made }
  const { codecs, only, identity } = form
  const readings = new Map<string, Reading>([...codecs].map(([key, codec]) => [key, readingOf(codec)]))
  const of = (key: string) => (only === undefined || only.has(key) ? (readings.get(key) ?? ANYTHING) : SKIP)
  return { kind: OBJECT, root: startOf(), fields: { identity, of }, make: form.made }
}

/** The place before the first key. */
export function startOf(): Place {
  return placeBehind(Buffer.alloc(4), ANYTHING, [], [])
}

/** What makes the objects that end at `place`. Throws `UNUSUAL` when one of the keys is missing that there must be. */
export function makerOf(place: Place, identity: readonly string[]): Maker {
  for (const key of identity) if (!place.seen.includes(key)) throw UNUSUAL
  const { keys } = place
  place.make = literalOf(keys) ?? ((values) => Object.fromEntries(keys.map((key, i) => [key, values[i]])))
  return place.make
}

/**
 * An object literal is made eight times faster than an object to which the same keys are added one by one, so one is compiled.
 * The keys are plain identifiers. Undefined where the runtime allows no code from strings.
 */
function literalOf(keys: readonly string[]): Maker | undefined {
  try {
    return new Function('values', `return { ${keys.map((key, i) => `${key}: values[${i}]`).join(', ')} }`) as Maker
  } catch {
    return undefined
  }
}

/** A value that comes again pays for four that do not. */
export const WORTH_OF_A_HIT = 4
export const MOST_WORTH = 64
const NOTHING_YET = { read: 0, at: 0, size: 0, value: undefined, worth: MOST_WORTH, make: undefined }

/** The place behind a key, which has four bytes at least with its quotes and colon. */
export function placeBehind(edge: Buffer, reading: Reading, seen: readonly string[], keys: readonly string[]): Place {
  const { length } = edge
  const words = Int32Array.from({ length: Math.ceil(length / 4) - 1 }, (_, i) => edge.readInt32LE(i * 4))
  return {
    length,
    last: edge.readInt32LE(length - 4),
    words,
    reading,
    items: reading === SKIP ? newLikeness() : undefined,
    seen,
    keys,
    next: undefined,
    others: [],
    ...NOTHING_YET,
  }
}

/** Whether the key that leads to a place stands at `at`, in `size` bytes. */
export function leadsTo(view: DataView, size: number, at: number, { length, last, words }: Place): boolean {
  if (at + length > size || view.getInt32(at + length - 4, true) !== last) return false
  for (let i = 0; i < words.length; i++) if (view.getInt32(at + i * 4, true) !== words[i]) return false
  return true
}

/** Whether the value that stood at a place last stands at `at` again. */
export function isAgain(view: DataView, length: number, at: number, { at: before, size }: Place): boolean {
  if (at + size > length) return false
  // The end first: values are longer than four bytes with their quotes, or not worth it, and many begin alike.
  if (size < 4 || view.getInt32(at + size - 4, true) !== view.getInt32(before + size - 4, true)) return false
  for (let i = 0; i < size - 4; i += 4) if (view.getInt32(at + i, true) !== view.getInt32(before + i, true)) return false
  return true
}
