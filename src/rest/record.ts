import { z } from 'zod'
import { CodecError } from '../errors.ts'
import { type Scrub, scrubStart } from '../http/secrets.ts'
import { show } from '../text.ts'
import { dateOf } from './fields.ts'

/** What a record is in TypeScript: its fields, the `Date` of each of its times beside it, and whatever else the service sent. */
export type RecordOf<S extends z.ZodRawShape, T extends string> = z.output<z.ZodObject<S, z.core.$loose>> & { [K in T as `${K}_date`]: Date | null }

/** A record of the service, read strictly, or with every field that cannot be read kept as sent. */
export interface Decoder<T> {
  readonly strict: z.ZodType<T>
  readonly lenient: z.ZodType<T>
}

/** Unknown fields are kept. For each name in `times` there is `NAME_date` beside it. */
export function record<S extends z.ZodRawShape, const T extends keyof S & string = never>(shape: S, times: readonly T[] = []): Decoder<RecordOf<S, T>> {
  const read = (fields: z.ZodRawShape) =>
    z.looseObject(fields, { error: 'an object' }).transform((value) => {
      for (const name of times) Object.assign(value, { [`${name}_date`]: dateOf((value as Record<string, unknown>)[name]) })
      return value
    }) as unknown as z.ZodType<RecordOf<S, T>>
  return { strict: read(shape), lenient: read(Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, orAsSent(field as z.ZodType)]))) }
}

/** A field that is kept as sent where it cannot be read. */
export function orAsSent(field: z.ZodType): z.ZodType {
  return z
    .unknown()
    .transform((value) => {
      const read = field.safeParse(value)
      return read.success ? read.data : value
    })
    .optional()
}

/** Reads a body. Throws `CodecError` with the place of what cannot be read, such as `result[3].balance`; a server may have put the key there. */
export function decode<T>(schema: z.ZodType<T>, body: unknown, operation: string, scrub: Scrub): T {
  const read = schema.safeParse(body, { reportInput: true })
  if (read.success) return read.data
  const { path, message, input } = read.error.issues[0] as z.core.$ZodIssue
  const place = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('')
  throw new CodecError(place.replace(/^\./, '') || 'body', message, typeof input === 'string' ? show(scrubStart(input, 200, scrub)) : scrub(show(input)), {
    method: operation,
    kind: 'malformed',
  })
}
