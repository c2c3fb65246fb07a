import { z } from 'zod'

/*
 * How the values of the service are read. A field that is null, absent or an empty string where a value would stand is null or absent;
 * anything else that cannot be read is an error. Real services and the specification differ in types: both are taken.
 */

/** A decimal integer, mostly as a string: `''` is none, and would be 0n. */
export const integer = z
  .union([z.string().regex(/^\d*$/), z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER)], { error: 'a whole number in decimal digits' })
  .nullable()
  .transform((value) => (value === null || value === '' ? null : BigInt(value)))

/** A small number, a number or in digits. */
export const small = z
  .union([z.string().regex(/^\d{0,15}$/), z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER)], { error: 'a small whole number' })
  .nullable()
  .transform((value) => (value === null || value === '' ? null : Number(value)))

/** A price or a share: a number, or one in a string. */
export const decimal = z
  .union([z.number(), z.string().regex(/^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)?$/)], { error: 'a number' })
  .nullable()
  .transform((value) => (value === null || value === '' ? null : Number(value)))

/** True or false, or so in words. */
export const boolean = z
  .union([z.boolean(), z.enum(['true', 'false', ''])], { error: 'true or false' })
  .nullable()
  .transform((value) => (value === null || value === '' ? null : value === true || value === 'true'))

/** Text, an address, a hash, a URL: as sent. */
export const text = z.string({ error: 'a string' }).nullable()

/** An ISO 8601 time, as sent; its `Date` stands beside it, since that drops microseconds. */
export const time = z
  .string({ error: 'a time in ISO 8601' })
  .refine((value) => value === '' || !Number.isNaN(Date.parse(value)), { error: 'a time in ISO 8601' })
  .nullable()

/** The `Date` of a time. */
export function dateOf(value: unknown): Date | null {
  const date = typeof value === 'string' && value !== '' ? new Date(value) : null
  return date === null || Number.isNaN(date.getTime()) ? null : date
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

/** An object or an array of objects, as sent: the specification does not say which. */
export const objectOrList = z.union([z.record(z.string(), z.unknown()), z.array(z.unknown())], { error: 'an object or an array' }).nullable()

/** An array, or a lone entry in its place; null is an empty one. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.preprocess((value) => (value === null || value === undefined ? [] : Array.isArray(value) ? value : [value]), z.array(item))
}
