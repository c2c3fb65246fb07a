import { fault, under } from './fault.ts'
import { decodeNumber, decodeNumberOrBig, decodeQuantity } from './quantity.ts'

/** Turns a parsed value into what TypeScript sees: the same object with its fields decoded in place. Throws `CodecError`. */
export type Decode<T> = (value: unknown) => T

/** How one field of an object is decoded, and what it is in TypeScript. */
export interface Field<T, Optional extends boolean = false> {
  /** Absent for fields that stay as sent. */
  readonly decode?: Decode<T>
  readonly optional: Optional
  /** The type; never a value. */
  readonly type?: T
}

type Fields = Readonly<Record<string, Field<unknown, boolean>>>
type OptionalKeys<F extends Fields> = { [K in keyof F]: F[K]['optional'] extends true ? K : never }[keyof F]
type TypeOf<F> = F extends Field<infer T, boolean> ? T : never

/** The type of an object with these fields. */
export type Infer<F extends Fields> = { [K in Exclude<keyof F, OptionalKeys<F>>]: TypeOf<F[K]> } & { [K in OptionalKeys<F>]?: TypeOf<F[K]> }

/** A field that stays as sent. */
export function asSent<T>(): Field<T> {
  return { optional: false }
}

/** An amount, block number, timestamp or size. */
export const quantity: Field<bigint> = { decode: decodeQuantity, optional: false }

/** An index, count, account nonce, type, chain id or status. */
export const number: Field<number> = { decode: decodeNumber, optional: false }

/** A count that anybody may choose: a number up to 2^53 - 1, a bigint beyond. */
export const numberOrBig: Field<number | bigint> = { decode: decodeNumberOrBig, optional: false }

/** A field that some nodes, forks or chains leave out. */
export function optional<T>(field: Field<T, boolean>): Field<T, true> {
  return { ...field, optional: true }
}

/** A field that may be null. Nulls stay null in every field; this one says so in its type. */
export function nullable<T>(field: Field<T>): Field<T | null> {
  return field
}

/** A list of which each item is decoded in place. */
export function list<T>(decode: Decode<T>): Field<T[]> {
  return { decode: arrayOf(decode), optional: false }
}

export function arrayOf<T>(decode: Decode<T>): Decode<T[]> {
  return (value) => {
    if (!Array.isArray(value)) throw fault('an array', value)
    let i = 0
    try {
      for (; i < value.length; i++) value[i] = decode(value[i])
    } catch (caught) {
      throw under(caught, i)
    }
    return value
  }
}

/** A result that may be null. */
export function orNull<T>(decode: Decode<T>): Decode<T | null> {
  return (value) => (value === null ? null : decode(value))
}

/**
 * Decodes an object in place, in one pass over the fields that need it. Only what identifies the object has to be there:
 * real nodes leave out fields that the schema requires. Absent and null fields stay so, unknown fields stay as sent.
 */
export function object<F extends Fields>(name: string, identity: readonly (keyof F & string)[], fields: F): Decode<Infer<F>> {
  const codecs = new Map<string, Decode<unknown>>()
  for (const [key, { decode }] of Object.entries(fields)) if (decode !== undefined) codecs.set(key, decode)
  const expected = `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`

  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw fault(expected, value)
    const record = value as Record<string, unknown>
    for (const key of identity) if (record[key] === undefined) throw under(fault(`the ${key} of ${expected}`, undefined), key)
    let at = ''
    try {
      // By the fields that are there: to look for one that is absent costs more than to decode one that is not.
      for (const key in record) {
        const decode = codecs.get(key)
        if (decode === undefined) continue
        const field = record[key]
        if (field === null || field === undefined) continue
        at = key
        // The common codec by its name, so that it is inlined.
        record[key] = decode === decodeQuantity ? decodeQuantity(field) : decode(field)
      }
    } catch (caught) {
      throw under(caught, at)
    }
    return value as Infer<F>
  }
}
