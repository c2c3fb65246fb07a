import { z } from 'zod'

/*
 * How the values of the service are read. A field that is null, absent or an empty string where a value would stand is null or absent;
 * anything else that cannot be read is an error. Real services and the specification differ in types: both are taken.
 */

// A union whose text has the right type says what that member says: each member says the same.
const digits = { error: 'a whole number in decimal digits' }
const few = { error: 'a small whole number' }
const number = { error: 'a number' }

/** A decimal integer, mostly as a string: `''` is none, and would be 0n. 256 bits are 78 digits; what has millions of them would take seconds to read. */
export const integer = z
  .union([z.string().regex(/^\d{0,100}$/, digits), z.number().int(digits).nonnegative(digits)], digits)
  .nullable()
  .transform((value) => (value === null || value === '' ? null : BigInt(value)))

/** A small number, a number or in digits. */
export const small = z
  .union([z.string().regex(/^\d{0,15}$/, few), z.number().int(few).nonnegative(few)], few)
  .nullable()
  .transform((value) => (value === null || value === '' ? null : Number(value)))

/** A price or a share: a number, or one in a string. */
export const decimal = z
  .union([z.number(number), z.string().regex(/^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)?$/, number)], number)
  .refine((value) => Number.isFinite(Number(value)), number)
  .nullable()
  .transform((value) => (value === null || value === '' ? null : Number(value)))

/** True or false, or so in words. */
export const boolean = z
  .union([z.boolean(), z.enum(['true', 'false', ''])], { error: 'true or false' })
  .nullable()
  .transform((value) => (value === null || value === '' ? null : value === true || value === 'true'))

/** Text, an address, a hash, a URL: as sent. */
export const text = z.string({ error: 'a string' }).nullable()

/** `Date.parse` alone reads "block 5" as a day of May 2001. */
const ISO_8601 = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?(Z|[+-]\d\d:?\d\d)?$/

/** An ISO 8601 time, as sent; its `Date` stands beside it, since that drops microseconds. */
export const time = z
  .string({ error: 'a time in ISO 8601' })
  .refine((value) => value === '' || dateOf(value) !== null, { error: 'a time in ISO 8601' })
  .nullable()

/** The `Date` of a time, which is UTC where it does not say. */
export function dateOf(value: unknown): Date | null {
  const [text, zone] = (typeof value === 'string' && ISO_8601.exec(value)) || []
  if (text === undefined) return null
  const date = new Date(zone === undefined && text.length > 10 ? `${text}Z` : text)
  return Number.isNaN(date.getTime()) ? null : date
}

/** A JSON object, mostly inside a string. */
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
      // Said below.
    }
    context.addIssue({ code: 'custom', message: 'a JSON object, or one in a string' })
    return z.NEVER
  })

/** An object with these fields and others, or an array of such: the specification does not say which. */
export function oneOrList<S extends z.ZodRawShape>(fields: S) {
  const one = z.looseObject(fields)
  return z.union([one, z.array(one)], { error: 'an object or an array of objects, with fields of the documented types' }).nullable()
}

/** An array of strings. */
export const texts = z.array(z.string(), { error: 'an array of strings' }).nullable()

/** An array of anything, as sent. */
export const list = z.array(z.unknown(), { error: 'an array' }).nullable()

/** An array, or a lone entry in its place; null is an empty one. One that is absent is none: an error told with 200 must not look like the end. */
export function listOf<T extends z.ZodType>(item: T) {
  const expected = { error: 'an array' }
  return z.preprocess((value) => (value === null ? [] : typeof value === 'object' && !Array.isArray(value) ? [value] : value), z.array(item, expected))
}
