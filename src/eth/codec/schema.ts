import { fault, under } from './codec-path.ts'
import { decodeNumber, decodeNumberOrBig, decodeQuantity } from './quantity.ts'

/** Turns a parsed value into what TypeScript sees: the same object with its fields decoded in place. Throws `CodecError`. */
export interface Decode<T> {
  (value: unknown): T
  /** What the value is made of, for who reads it from bytes. Undefined for a decoder that takes what was parsed. */
  readonly form?: Form
}

export type Form =
  | { readonly is: 'string' }
  | { readonly is: 'array'; readonly item: Decode<unknown>; readonly made?: Decode<unknown> }
  | {
      readonly is: 'object'
      readonly name: string
      readonly identity: readonly string[]
      /** All fields that are known. */
      readonly names: readonly string[]
      /** Those of them that do not stay as sent. */
      readonly codecs: ReadonlyMap<string, Decode<unknown>>
      /** The only fields that are wanted, if not all are. */
      readonly only?: ReadonlySet<string>
      /** What is made of the decoded object. */
      readonly made?: Decode<unknown>
    }

/** How one field of an object is decoded, and what it is in TypeScript. */
export interface Field<T, Optional extends boolean = false> {
  /** Absent for fields that stay as sent. */
  readonly decode?: Decode<T>
  readonly optional: Optional
  /** The type; never a value. */
  readonly type?: T
}

type Fields = Readonly<Record<string, Field<unknown, boolean>>>
type TypeOf<F> = F extends Field<infer T, boolean> ? T : never

/** The type of an object with these fields. `as` keeps what is said of each field, which editors show. */
export type Infer<F extends Fields> = { [K in keyof F as F[K]['optional'] extends true ? never : K]: TypeOf<F[K]> } & {
  [K in keyof F as F[K]['optional'] extends true ? K : never]?: TypeOf<F[K]>
}

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

export function arrayOf<T>(item: Decode<T>): Decode<T[]> {
  const decode: Decode<T[]> = (value) => {
    if (!Array.isArray(value)) throw fault('an array', value)
    let i = 0
    try {
      for (; i < value.length; i++) value[i] = item(value[i])
    } catch (caught) {
      throw under(caught, i)
    }
    return value
  }
  return withForm(decode, { is: 'array', item })
}

/** Any string. */
export function stringOf(what: string): Decode<string> {
  const decode: Decode<string> = (value) => {
    if (typeof value !== 'string') throw fault(what, value)
    return value
  }
  return withForm(decode, { is: 'string' })
}

/** A result that may be null. */
export function orNull<T>(decode: Decode<T>): Decode<T | null> {
  return (value) => (value === null ? null : decode(value))
}

/** What `then` makes of the decoded object. */
export function andThen<T extends object, U>(decode: Decode<T>, then: (decoded: T) => U): Decode<U> {
  const { form } = decode
  const all: Decode<U> = (value) => then(decode(value))
  if (form === undefined || form.is === 'string') return all
  const before = form.made
  return withForm(all, { ...form, made: (decoded) => then((before === undefined ? decoded : before(decoded)) as T) })
}

/**
 * Decodes an object in place, in one pass over the fields that need it. Only what identifies the object has to be there:
 * real nodes leave out fields that the schema requires. Absent and null fields stay so, unknown fields stay as sent.
 */
export function object<F extends Fields>(name: string, identity: readonly (keyof F & string)[], fields: F): Decode<Infer<F>> {
  const codecs = new Map<string, Decode<unknown>>()
  for (const [key, { decode }] of Object.entries(fields)) if (decode !== undefined) codecs.set(key, decode)
  return objectOf({ is: 'object', name, identity, names: Object.keys(fields), codecs })
}

/**
 * The same with nothing but the fields at `paths`, such as `gasUsed` or, of the items of a list, `transactions.hash`: what is
 * not named is not decoded. Throws `RangeError` with the path that there is not.
 */
export function pick<T>(decode: Decode<T>, paths: readonly string[]): Decode<T> {
  const { form } = decode
  if (form?.is === 'array') return arrayOf(pick(form.item, paths)) as Decode<unknown> as Decode<T>
  if (form?.is !== 'object') throw new RangeError(paths[0])
  const parts = new Map<string, string[]>()
  for (const path of paths) {
    const [key = '', ...rest] = path.split('.')
    if (!form.names.includes(key)) throw new RangeError(path)
    parts.set(key, [...(parts.get(key) ?? []), rest.join('.')])
  }
  const codecs = new Map(form.codecs)
  for (const [key, inner] of parts) {
    // Who names a field and a part of it wants all of it.
    if (inner.includes('')) continue
    try {
      codecs.set(key, pick(form.codecs.get(key) ?? ((value) => value), inner))
    } catch (error) {
      throw new RangeError(`${key}.${(error as Error).message}`)
    }
  }
  return objectOf({ ...form, codecs, only: new Set(parts.keys()) })
}

type ObjectForm = Extract<Form, { is: 'object' }>

function objectOf<T>(form: ObjectForm): Decode<T> {
  const { name, identity, codecs, only } = form
  const expected = `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`
  const decode: Decode<T> = (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw fault(expected, value)
    let record = value as Record<string, unknown>
    for (const key of identity) if (record[key] === undefined) throw under(fault(`the ${key} of ${expected}`, undefined), key)
    if (only !== undefined) record = Object.fromEntries(Object.entries(record).filter(([key]) => only.has(key)))
    let at = ''
    try {
      // By the fields that are there: to look for one that is absent costs more than to decode one that is not.
      for (const key in record) {
        const codec = codecs.get(key)
        if (codec === undefined) continue
        const field = record[key]
        if (field === null || field === undefined) continue
        at = key
        // The common codec by its name, so that it is inlined.
        record[key] = codec === decodeQuantity ? decodeQuantity(field) : codec(field)
      }
    } catch (caught) {
      throw under(caught, at)
    }
    return record as T
  }
  return withForm(decode, form)
}

function withForm<T>(decode: Decode<T>, form: Form): Decode<T> {
  return Object.assign(decode, { form })
}
