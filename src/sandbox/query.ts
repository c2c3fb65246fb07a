/*
 * Reads query parameters by a table. Arrays may have three encodings: `a[0]=x&a[1]=y`,
 * `a[]=x&a[]=y` and `a=x&a=y`. That takes six lines over URLSearchParams; the package `qs` has
 * twenty dependencies, and stops at twenty entries.
 */

/** One parameter: how many values it takes, and how they are parsed. */
export interface Parameter<T> {
  readonly isList: boolean
  readonly isRequired: boolean
  /** What is expected, for messages. */
  readonly expected: string
  /** Undefined for invalid values. */
  read(texts: readonly string[]): T | undefined
}

type Parameters = Readonly<Record<string, Parameter<unknown>>>

/** The values that a table of parameters reads. */
export type Values<P extends Parameters> = { readonly [K in keyof P]: P[K] extends Parameter<infer T> ? T : never }

/** An invalid query: one sentence for each problem. */
export class BadQuery extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('; '))
    this.problems = problems
  }
}

/**
 * Reads the values of a query. Throws `BadQuery`, also for unknown parameters, most of which are
 * misspelt.
 */
export function readQuery<P extends Parameters>(search: URLSearchParams, parameters: P): Values<P> {
  const given = gather(search)
  const problems: string[] = []
  const values: Record<string, unknown> = {}
  for (const name of given.keys()) {
    if (!Object.hasOwn(parameters, name))
      problems.push(`${JSON.stringify(name.slice(0, 40))} is not a parameter of this operation; it takes ${Object.keys(parameters).join(', ')}`)
  }
  for (const [name, { isList, isRequired, expected, read }] of Object.entries(parameters)) {
    const texts = given.get(name)
    if (texts === undefined) {
      if (isRequired) problems.push(`${name} is required: ${expected}`)
      values[name] = undefined
    } else {
      values[name] = texts.length === 1 || isList ? read(texts) : undefined
      if (values[name] === undefined) problems.push(`${name} must be ${expected}`)
    }
  }
  if (problems.length > 0) throw new BadQuery(problems)
  return values as Values<P>
}

function gather(search: URLSearchParams): Map<string, readonly string[]> {
  const found = new Map<string, { place: number; text: string }[]>()
  for (const [key, text] of search) {
    const [, name = key, index] = /^(.+?)\[(\d{0,6})\]$/.exec(key) ?? []
    const entries = found.get(name) ?? []
    found.set(name, entries)
    entries.push({ place: index ? Number(index) : entries.length, text })
  }
  return new Map([...found].map(([name, entries]) => [name, entries.sort((a, b) => a.place - b.place).map(({ text }) => text)]))
}

function one<T>(expected: string, read: (text: string) => T | undefined): Parameter<T | undefined> {
  return { isList: false, isRequired: false, expected, read: ([text = '']) => read(text) }
}

/** A whole number in decimal digits. */
export function whole(least: number, most = Number.MAX_SAFE_INTEGER): Parameter<number | undefined> {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
  return one(`a whole number ${range}`, (text) => {
    const number = /^\d{1,16}$/.test(text) ? Number(text) : -1
    return number >= least && number <= most ? number : undefined
  })
}

/** `true` or `false`. */
export const flag: Parameter<boolean | undefined> = one('true or false', (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined))

/** A text that matches a pattern, if given. */
export function text(expected: string, pattern = /./): Parameter<string | undefined> {
  return one(expected, (value) => (pattern.test(value) ? value : undefined))
}

/** Any number of values of another parameter's kind. */
export function list<T>({ expected, read }: Parameter<T | undefined>): Parameter<readonly T[] | undefined> {
  return {
    isList: true,
    isRequired: false,
    expected: `a list, each entry ${expected}`,
    read(texts) {
      const values = texts.map((each) => read([each]))
      return values.includes(undefined) ? undefined : (values as T[])
    },
  }
}

/** The same parameter, required. */
export function required<T>(parameter: Parameter<T | undefined>): Parameter<T> {
  return { ...parameter, isRequired: true } as Parameter<T>
}
