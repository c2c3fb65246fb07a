import { type Likeness, newLikeness } from './likeness.ts'
import { decodeNumber, decodeQuantity } from './quantity.ts'
import type { Decode } from './schema.ts'

/** How a value is read. Plain numbers: the reader's hottest switch runs on them. */
export const ANY = 0
export const QUANTITY = 1
export const NUMBER = 2
export const STRING = 3
export const OBJECT = 4
export const ARRAY = 5
export const CODEC = 6
export const SKIPPED = 7

/** How a value is read from bytes: compiled once from the schema of its decoder. */
export interface ReadPlan {
  readonly kind: number
  /** OBJECT: the place before the first key. */
  readonly start?: Place
  /** OBJECT: how each field is read, and which must be there. */
  readonly fields?: FieldPlans
  /** ARRAY: how the items are read. */
  readonly item?: ReadPlan
  /** CODEC: decodes the parsed value. OBJECT, ARRAY: applied to the decoded one. */
  readonly make?: Decode<unknown> | undefined
}

export interface FieldPlans {
  /** Keys that must be there. */
  readonly identity: readonly string[]
  of(key: string): ReadPlan
}

/**
 * A place in an object: the point after certain keys in a certain order (see the figure in
 * byte-reader.ts). Nodes write the objects of a kind with the same keys in the same order, or in
 * one of a few orders, so most keys cost one comparison.
 */
export interface Place {
  /**
   * The key that leads here, with its quotes and colon: its length in bytes, its last four bytes,
   * and the words of four bytes before them.
   */
  readonly length: number
  readonly last: number
  readonly words: Int32Array
  /** How the value of that key is read. */
  readonly plan: ReadPlan
  /** SKIPPED: models of the items that arrays have here. */
  readonly items: Likeness | undefined
  /** All keys up to here, and those whose values are kept. */
  readonly seen: readonly string[]
  readonly keys: readonly string[]
  /** The place that followed first, and those that have followed since. */
  next: Place | undefined
  readonly others: Place[]
  /**
   * The last value here: the read that it was in, its position and length in that read's bytes, and
   * the decoded value. A transaction repeats the block hash of the one before it, a log its
   * transaction hash: where the bytes are the same, decoding costs a comparison.
   */
  lastRead: number
  lastAt: number
  lastSize: number
  lastValue: unknown
  /**
   * Comparing goes on while this is above 0: a repeated value adds `WORTH_OF_A_HIT`, any other
   * takes 1.
   */
  worth: number
  /** Makes an object that ends here from the values that are kept, in their order. */
  make: Maker | undefined
}

export type Maker = (values: readonly unknown[]) => Record<string, unknown>

export const READ_ANY: ReadPlan = { kind: ANY }
export const SKIP: ReadPlan = { kind: SKIPPED }

/**
 * Thrown where bytes are written in an unusual way, or are wrong: they are then parsed and decoded
 * instead. It has no stack, which would cost more than the parsing.
 */
export const UNUSUAL: Error = Object.assign(Object.create(Error.prototype), { message: 'unusual' })

/** The plan for what `decode` decodes. */
export function planOf(decode: Decode<unknown>): ReadPlan {
  if (decode === decodeQuantity) return { kind: QUANTITY }
  if (decode === decodeNumber) return { kind: NUMBER }
  const { schema } = decode
  if (schema === undefined) return { kind: CODEC, make: decode }
  if (schema.is === 'string') return { kind: STRING }
  if (schema.is === 'array') return { kind: ARRAY, item: planOf(schema.item), make: schema.transform }
  const { decoders, only, identity } = schema
  const plans = new Map<string, ReadPlan>([...decoders].map(([key, decoder]) => [key, planOf(decoder)]))
  const of = (key: string) => (only === undefined || only.has(key) ? (plans.get(key) ?? READ_ANY) : SKIP)
  return { kind: OBJECT, start: startPlace(), fields: { identity, of }, make: schema.transform }
}

/** The place before the first key. */
export function startPlace(): Place {
  return placeAfter(Buffer.alloc(4), READ_ANY, [], [])
}

/**
 * Compiles what makes the objects that end at `place`. Throws `UNUSUAL` when a key of `identity` is
 * missing.
 */
export function makerOf(place: Place, identity: readonly string[]): Maker {
  for (const key of identity) if (!place.seen.includes(key)) throw UNUSUAL
  const { keys } = place
  place.make = literalOf(keys) ?? ((values) => Object.fromEntries(keys.map((key, i) => [key, values[i]])))
  return place.make
}

/**
 * Compiles an object literal, which is made eight times faster than an object to which the keys are
 * added one by one. The keys are plain identifiers. Undefined where the runtime forbids code from
 * strings.
 */
function literalOf(keys: readonly string[]): Maker | undefined {
  try {
    return new Function('values', `return { ${keys.map((key, i) => `${key}: values[${i}]`).join(', ')} }`) as Maker
  } catch {
    return undefined
  }
}

/** One repeated value pays for four that are not. */
export const WORTH_OF_A_HIT = 4
export const MOST_WORTH = 64
const NOTHING_YET = { lastRead: 0, lastAt: 0, lastSize: 0, lastValue: undefined, worth: MOST_WORTH, make: undefined }

/** The place after a key. `edge` is the key with its quotes and colon, at least four bytes. */
export function placeAfter(edge: Buffer, plan: ReadPlan, seen: readonly string[], keys: readonly string[]): Place {
  const { length } = edge
  const words = Int32Array.from({ length: Math.ceil(length / 4) - 1 }, (_, i) => edge.readInt32LE(i * 4))
  return {
    length,
    last: edge.readInt32LE(length - 4),
    words,
    plan,
    items: plan === SKIP ? newLikeness() : undefined,
    seen,
    keys,
    next: undefined,
    others: [],
    ...NOTHING_YET,
  }
}

/** True when the key that leads to a place is at `at`, in `size` bytes. */
export function keyIsAt(view: DataView, size: number, at: number, { length, last, words }: Place): boolean {
  if (at + length > size || view.getInt32(at + length - 4, true) !== last) return false
  for (let i = 0; i < words.length; i++) if (view.getInt32(at + i * 4, true) !== words[i]) return false
  return true
}

/** True when the bytes of the last value at a place are at `at` again. */
export function isRepeated(view: DataView, length: number, at: number, { lastAt, lastSize }: Place): boolean {
  if (at + lastSize > length) return false
  // The end first, since many values begin alike. With their quotes, values that are worth
  // comparing are longer than four bytes.
  if (lastSize < 4 || view.getInt32(at + lastSize - 4, true) !== view.getInt32(lastAt + lastSize - 4, true)) return false
  for (let i = 0; i < lastSize - 4; i += 4) if (view.getInt32(at + i, true) !== view.getInt32(lastAt + i, true)) return false
  return true
}
