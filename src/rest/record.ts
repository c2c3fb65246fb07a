import { z } from 'zod'
import { CodecError } from '../errors.ts'
import { type Scrub, scrubStart } from '../http/secrets.ts'
import { show } from '../text.ts'
import { dateOf } from './fields.ts'
import { type Answer, messageIn, type Target } from './request.ts'

/**
 * A record in TypeScript: its fields, a `Date` for each of its times, and any other fields that the
 * service sent.
 */
export type RecordOf<S extends z.ZodRawShape, T extends string> = z.output<z.ZodObject<S, z.core.$loose>> & { [K in T as `${K}_date`]: Date | null }

/** Decodes a record strictly, or leniently, keeping every field that cannot be decoded as sent. */
export interface Decoder<T> {
  readonly strict: z.ZodType<T>
  readonly lenient: z.ZodType<T>
}

/** Keeps unknown fields. Adds `NAME_date` for each name in `times`. */
export function record<S extends z.ZodRawShape, const T extends keyof S & string = never>(shape: S, times: readonly T[] = []): Decoder<RecordOf<S, T>> {
  const read = (fields: z.ZodRawShape) =>
    z.looseObject(fields, { error: 'an object' }).transform((value) => {
      for (const name of times) Object.assign(value, { [`${name}_date`]: dateOf((value as Record<string, unknown>)[name]) })
      return value
    }) as unknown as z.ZodType<RecordOf<S, T>>
  return { strict: read(shape), lenient: read(Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, orAsSent(field as z.ZodType)]))) }
}

/** Keeps a value as sent if it cannot be decoded. */
export function orAsSent(field: z.ZodType): z.ZodType {
  return z
    .unknown()
    .transform((value) => {
      const read = field.safeParse(value)
      return read.success ? read.data : value
    })
    .optional()
}

/**
 * Decodes a body. Throws `CodecError` with the path of what cannot be decoded, such as
 * `result[3].balance`. The value is scrubbed, since a server may put the key there.
 */
export function decode<T>(schema: z.ZodType<T>, { body, attempts }: Answer, { operation, base, scrub }: Target): T {
  const read = schema.safeParse(body, { reportInput: true })
  if (read.success) return read.data
  const { path, message, input } = read.error.issues[0] as z.core.$ZodIssue
  const place = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('')
  const received = (typeof input === 'string' ? show(scrubStart(input, 200, scrub)) : scrub(show(input))) + besides(input, path, body, scrub)
  const error = new CodecError(place.replace(/^\./, '') || 'body', message, received, { method: operation, endpoint: base.host, kind: 'malformed' })
  throw Object.assign(error, { attempts })
}

/**
 * What to add where a field of the body itself is missing: with status 200, the body may hold an
 * error of the service.
 */
function besides(input: unknown, path: readonly PropertyKey[], body: unknown, scrub: Scrub): string {
  const said = input === undefined && path.length === 1 ? messageIn(body) : undefined
  return said === undefined ? '' : ` and the message ${show(scrubStart(said, 200, scrub))}`
}
