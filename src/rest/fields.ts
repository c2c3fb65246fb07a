import { z } from 'zod'

/*
 * Decoders for the service's values. Null, a missing field, and an empty string in place of another
 * type decode to null or stay absent. Anything else that cannot be decoded is an error. Where real
 * services and the specification differ in types, both are accepted.
 */

// A union reports the same error for each of its alternatives.
const digits = { error: 'a whole number in decimal digits' }
const few = { error: 'a small whole number' }
const number = { error: 'a number' }

/**
 * A decimal integer, usually as a string. `''` decodes to null, since `BigInt('')` is 0n. 256 bits
 * are 78 digits; the limit stops strings with millions of digits, which would take seconds to
 * decode.
 */
export const integer = z
  .union([z.string().regex(/^\d{0,100}$/, digits), z.number().int(digits).nonnegative(digits)], digits)
  .nullable()
  .transform((value) => (value === null || value === '' ? null : BigInt(value)))

/** A small number, as a number or in decimal digits. */
export const small = z
  .union([z.string().regex(/^\d{0,15}$/, few), z.number().int(few).nonnegative(few)], few)
  .nullable()
  .transform((value) => (value === null || value === '' ? null : Number(value)))

/** A price or a share, as a number or a string. */
export const decimal = z
  .union([z.number(number), z.string().regex(/^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)?$/, number)], number)
  .refine((value) => Number.isFinite(Number(value)), number)
  .nullable()
  .transform((value) => (value === null || value === '' ? null : Number(value)))

/** A boolean, or the word for it. */
export const boolean = z
  .union([z.boolean(), z.enum(['true', 'false', ''])], { error: 'true or false' })
  .nullable()
  .transform((value) => (value === null || value === '' ? null : value === true || value === 'true'))

/** Text, an address, a hash or a URL, as sent. */
export const text = z.string({ error: 'a string' }).nullable()

/** Without this check, `Date.parse` would read "block 5" as a day in May 2001. */
const ISO_8601 = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?$/

/** An ISO 8601 time, as sent. Its `Date` is a separate field, since a `Date` drops microseconds. */
export const time = z
  .string({ error: 'a time in ISO 8601' })
  .refine((value) => value === '' || dateOf(value) !== null, { error: 'a time in ISO 8601' })
  .nullable()

/** The `Date` of a time. Times without a zone are in UTC. */
export function dateOf(value: unknown): Date | null {
  const [text, zone] = (typeof value === 'string' && ISO_8601.exec(value)) || []
  if (text === undefined) return null
  const date = new Date(zone === undefined && text.length > 10 ? `${text}Z` : text)
  return Number.isNaN(date.getTime()) ? null : date
}

/** A JSON object, usually as a string. */
export const json = z
  .union([z.string(), z.record(z.string(), z.unknown())], { error: 'a JSON object, or one in a string' })
  .nullable()
  .transform((value, context) => {
    if (typeof value !== 'string') return value
    if (value === '') return null
    try {
      const parsed: unknown = JSON.parse(value)
      if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as Record<string, unknown>
    } catch {
      // Reported below.
    }
    context.addIssue({ code: 'custom', message: 'a JSON object, or one in a string' })
    return z.NEVER
  })

/**
 * An object with these and other fields, or an array of such objects, since the specification does
 * not say which.
 */
export function oneOrList<S extends z.ZodRawShape>(fields: S) {
  const one = z.looseObject(fields)
  return z.union([one, z.array(one)], { error: 'an object or an array of objects, with fields of the documented types' }).nullable()
}

/** An array of strings. */
export const texts = z.array(z.string({ error: 'a string' }), { error: 'an array of strings' }).nullable()

/** An array of any values, as sent. */
export const list = z.array(z.unknown(), { error: 'an array' }).nullable()

/**
 * An array, or a single entry in place of one. Null is an empty array. A missing field is an error,
 * so that an error reply with status 200 does not look like the end of a list.
 */
export function listOf<T extends z.ZodType>(item: T) {
  const expected = { error: 'an array' }
  return z.preprocess((value) => (value === null ? [] : typeof value === 'object' && !Array.isArray(value) ? [value] : value), z.array(item, expected))
}
