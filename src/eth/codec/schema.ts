import { fault, under } from './codec-path.ts'
import { decodeNumber, decodeNumberOrBig, decodeQuantity } from './quantity.ts'

/*
 * A schema lists the fields of a JSON object and how each is decoded. Its TypeScript type follows
 * from it.
 *
 *   const fields = { hash: asSent<Hash>(), number: quantity, size: optional(quantity) }
 *   const decodeUncle = object('uncle', ['hash'], fields)
 *   type Uncle = ReturnType<typeof decodeUncle>    // { hash: Hash; number: bigint; size?: bigint }
 *
 *   decodeUncle({ hash: '0x12…', number: '0xff' }) // { hash: '0x12…', number: 255n }
 *   createReader(decodeUncle)(bytes)               // the same from bytes, without JSON.parse
 */

/** Decodes a parsed JSON value; objects and arrays are decoded in place. Throws `CodecError`. */
export interface Decode<T> {
  (value: unknown): T
  /** Lets a reader decode straight from bytes. Absent for a decoder that needs the parsed value. */
  readonly schema?: Schema
}

/** What a decoder decodes, as data. */
type Schema =
  | { readonly is: 'string' }
  | { readonly is: 'array'; readonly item: Decode<unknown>; readonly transform?: Decode<unknown> }
  | {
      readonly is: 'object'
      readonly name: string
      /** Fields that must be there. */
      readonly identity: readonly string[]
      /** All known fields. */
      readonly names: readonly string[]
      /** Decoders of the fields that do not stay as sent. */
      readonly decoders: ReadonlyMap<string, Decode<unknown>>
      /** The only fields to decode and keep. Absent: all. */
      readonly only?: ReadonlySet<string>
      /** Applied to the decoded object. */
      readonly transform?: Decode<unknown>
    }

/** How one field of an object is decoded, and its type. */
export interface Field<T, Optional extends boolean = false> {
  /** Absent for a field that stays as sent. */
  readonly decode?: Decode<T>
  readonly optional: Optional
  /** Carries the type; never has a value. */
  readonly type?: T
}

type Fields = Readonly<Record<string, Field<unknown, boolean>>>
type TypeOf<F> = F extends Field<infer T, boolean> ? T : never

/**
 * The type of an object with these fields. `as` keeps the docstring of each field, which editors
 * show.
 */
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

/** A count that a sender can set to any value: a number up to 2^53 - 1, a bigint above. */
export const numberOrBig: Field<number | bigint> = { decode: decodeNumberOrBig, optional: false }

/** A field that some nodes, forks or chains leave out. */
export function optional<T>(field: Field<T, boolean>): Field<T, true> {
  return { ...field, optional: true }
}

/** A field whose type includes null. Null is kept in every field; only the type differs. */
export function nullable<T>(field: Field<T>): Field<T | null> {
  return field
}

/** A list whose items are decoded in place. */
export function list<T>(decode: Decode<T>): Field<T[]> {
  return { decode: arrayOf(decode), optional: false }
}

/** Decodes an array, item by item, in place. */
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
  return withSchema(decode, { is: 'array', item })
}

/**
 * Decodes each value of an object whose keys are data, such as addresses, in place. `what` names
 * the object in the error.
 */
export function mapOf<K extends string, T>(what: string, item: Decode<T>): Decode<Record<K, T>> {
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw fault(what, value)
    const record = value as Record<string, unknown>
    let at = ''
    try {
      for (at in record) record[at] = item(record[at])
    } catch (caught) {
      throw under(caught, at)
    }
    return record as Record<K, T>
  }
}

/** A field that is decoded so. */
export function decoded<T>(decode: Decode<T>): Field<T> {
  return { decode, optional: false }
}

/** Takes any string; `what` names it in the error. */
export function stringOf(what: string): Decode<string> {
  const decode: Decode<string> = (value) => {
    if (typeof value !== 'string') throw fault(what, value)
    return value
  }
  return withSchema(decode, { is: 'string' })
}

/** A result that may be null. */
export function orNull<T>(decode: Decode<T>): Decode<T | null> {
  return (value) => (value === null ? null : decode(value))
}

/** Applies `then` to the decoded value. */
export function andThen<T extends object, U>(decode: Decode<T>, then: (decoded: T) => U): Decode<U> {
  const { schema } = decode
  const both: Decode<U> = (value) => then(decode(value))
  if (schema === undefined || schema.is === 'string') return both
  const before = schema.transform
  return withSchema(both, { ...schema, transform: (decoded) => then((before === undefined ? decoded : before(decoded)) as T) })
}

/**
 * Decodes an object in place, in one pass over the fields that need it. Only the fields in
 * `identity` must be there: real nodes leave out fields that the specification requires. Absent and
 * null fields stay so; unknown fields stay as sent.
 */
export function object<F extends Fields>(name: string, identity: readonly (keyof F & string)[], fields: F): Decode<Infer<F>> {
  const decoders = new Map<string, Decode<unknown>>()
  for (const [key, { decode }] of Object.entries(fields)) if (decode !== undefined) decoders.set(key, decode)
  return objectOf({ is: 'object', name, identity, names: Object.keys(fields), decoders })
}

/**
 * The same decoder for the fields at `paths` alone, such as `gasUsed` or, in each item of a list,
 * `transactions.hash`. Other fields are neither decoded nor kept. Throws `UnknownPath` for the
 * first path that does not exist.
 */
export function pick<T>(decode: Decode<T>, paths: readonly string[]): Decode<T> {
  const { schema } = decode
  if (schema?.is === 'array') return arrayOf(pick(schema.item, paths)) as Decode<unknown> as Decode<T>
  if (schema?.is !== 'object') throw new UnknownPath(paths[0] as string, [])
  const parts = new Map<string, string[]>()
  for (const path of paths) {
    const [key = '', ...rest] = path.split('.')
    if (!schema.names.includes(key)) throw new UnknownPath(path, schema.names)
    parts.set(key, [...(parts.get(key) ?? []), rest.join('.')])
  }
  const decoders = new Map(schema.decoders)
  for (const [key, inner] of parts) {
    // `transactions` beside `transactions.hash` keeps whole transactions.
    if (inner.includes('')) continue
    try {
      decoders.set(key, pick(schema.decoders.get(key) ?? ((value) => value), inner))
    } catch (error) {
      throw error instanceof UnknownPath ? error.under(key) : error
    }
  }
  return objectOf({ ...schema, decoders, only: new Set(parts.keys()) })
}

/** A path that no field has. */
export class UnknownPath extends Error {
  readonly path: string
  /** Those there are, as far as the first part of the path that does not exist. */
  readonly known: readonly string[]

  constructor(path: string, known: readonly string[]) {
    super(path)
    this.path = path
    this.known = known
  }

  under(key: string): UnknownPath {
    const inside = (path: string) => `${key}.${path}`
    return new UnknownPath(inside(this.path), this.known.map(inside))
  }
}

type ObjectSchema = Extract<Schema, { is: 'object' }>

function objectOf<T>(schema: ObjectSchema): Decode<T> {
  const { name, identity, decoders, only } = schema
  const expected = `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`
  const decode: Decode<T> = (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw fault(expected, value)
    let record = value as Record<string, unknown>
    for (const key of identity) if (record[key] === undefined) throw under(fault(`the ${key} of ${expected}`, undefined), key)
    if (only !== undefined) record = Object.fromEntries(Object.entries(record).filter(([key]) => only.has(key)))
    let at = ''
    try {
      // Over the fields that are there: looking up one that is absent costs more than passing one
      // that stays as sent.
      for (const key in record) {
        const decodeField = decoders.get(key)
        if (decodeField === undefined) continue
        const field = record[key]
        if (field === null || field === undefined) continue
        at = key
        // The most common decoder is called by name, so that V8 inlines it.
        record[key] = decodeField === decodeQuantity ? decodeQuantity(field) : decodeField(field)
      }
    } catch (caught) {
      throw under(caught, at)
    }
    return record as T
  }
  return withSchema(decode, schema)
}

function withSchema<T>(decode: Decode<T>, schema: Schema): Decode<T> {
  return Object.assign(decode, { schema })
}
