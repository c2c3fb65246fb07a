import { harmlessText } from '../../text.ts'

/** One column of a table: its title, and the value that it shows of a record. */
export interface Column<T> {
  readonly title: string
  readonly of: (record: T) => unknown
  /** True aligns to the right, for numbers, which are never shortened or wrapped. */
  readonly right?: boolean
}

/** The narrowest column in which a text is still readable, and hashes can be told apart. */
const NARROWEST = 12
const GAP = '  '

/**
 * A table with aligned columns that is at most `width` columns wide: sentences are wrapped, and
 * long words shortened in their middle, with `…`. Where even that is too wide, each record becomes
 * a list of its fields, and everything is wrapped. Without a width, nothing is shortened or
 * wrapped. Control characters are removed.
 */
export function table<T>(columns: readonly Column<T>[], records: readonly T[], width?: number): string {
  const titles = columns.map(({ title }) => harmlessText(title))
  const texts = records.map((record) => columns.map(({ of }) => textOf(of(record))))
  const isRight = columns.map(({ right = false }) => right)
  if (width === undefined) return grid([titles, ...texts], isRight)
  const limit = limitFor([titles, ...texts], isRight, width)
  const limits = isRight.map((right) => (right || limit === undefined ? Number.POSITIVE_INFINITY : limit))
  return limit === undefined ? lists(titles, texts, width) : grid([titles, ...texts], isRight, limits)
}

/** Rows of texts with aligned columns, of which the last one is wrapped to `width` columns. */
export function aligned(rows: readonly (readonly string[])[], isRight: readonly boolean[], width = Number.POSITIVE_INFINITY): string {
  const others = widthsOf(rows.map((row) => row.slice(0, -1))).reduce((sum, each) => sum + each + GAP.length, 0)
  return grid(
    rows,
    isRight,
    isRight.map((_, i) => (i < isRight.length - 1 ? Number.POSITIVE_INFINITY : Math.max(NARROWEST, width - others))),
  )
}

/** The most columns that a text can have for all rows to fit; undefined where none is enough. */
function limitFor(rows: readonly (readonly string[])[], isRight: readonly boolean[], width: number): number | undefined {
  const longest = widthsOf(rows)
  for (let limit = width; limit >= NARROWEST; limit--) {
    const widths = longest.map((own, i) => (isRight[i] ? own : Math.min(own, limit)))
    if (widths.reduce((sum, own) => sum + own + GAP.length, -GAP.length) <= width) return limit
  }
  return undefined
}

function widthsOf(rows: readonly (readonly string[])[]): number[] {
  return (rows[0] ?? []).map((_, i) => rows.reduce((most, row) => Math.max(most, (row[i] as string).length), 0))
}

/** Rows with aligned columns. A text that is longer than its column's limit takes several lines. */
function grid(rows: readonly (readonly string[])[], isRight: readonly boolean[], limits?: readonly number[]): string {
  const cells = rows.map((row) =>
    row.map((text, i) => {
      const limit = limits?.[i] ?? Number.POSITIVE_INFINITY
      return text.length <= limit ? [text] : wrapped(text, limit, shortened)
    }),
  )
  const widths = isRight.map((_, i) => cells.reduce((most, row) => Math.max(most, ...(row[i] as string[]).map(({ length }) => length)), 0))
  return cells
    .flatMap((row) => Array.from({ length: Math.max(...row.map(({ length }) => length)) }, (_, line) => row.map((cell) => cell[line] ?? '')))
    .map((line) =>
      line
        .map((text, i) => (isRight[i] ? text.padStart(widths[i] as number) : text.padEnd(widths[i] as number)))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n')
}

/**
 * Each record as a list of its fields that are not empty, under its number. Nothing is shortened.
 */
function lists(titles: readonly string[], texts: readonly (readonly string[])[], width: number): string {
  const longest = Math.max(...titles.map(({ length }) => length))
  const room = Math.max(NARROWEST, width - longest - GAP.length)
  const fieldOf = (text: string, i: number) =>
    wrapped(text, room, pieces).map((line, at) => `${(at === 0 ? (titles[i] as string) : '').padEnd(longest)}${GAP}${line}`.trimEnd())
  const fields = (row: readonly string[]) => row.flatMap((text, i) => (text === '' ? [] : fieldOf(text, i)))
  return texts.map((row, i) => [`row ${i + 1}`, ...fields(row)].join('\n')).join('\n\n')
}

/** Text in lines of at most `width` columns. `cut` divides or shortens a longer word. */
export function wrapped(text: string, width: number, cut: (word: string, width: number) => readonly string[] = (word) => [word]): string[] {
  const lines: string[] = []
  for (const word of text.split(' ').flatMap((each) => (each.length <= width ? [each] : cut(each, width)))) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

function shortened(word: string, width: number): string[] {
  const end = Math.floor((width - 1) / 2)
  return [`${word.slice(0, width - 1 - end)}…${word.slice(word.length - end)}`]
}

function pieces(word: string, width: number): string[] {
  return Array.from({ length: Math.ceil(word.length / width) }, (_, i) => word.slice(i * width, (i + 1) * width))
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '-'
  return harmlessText(typeof value === 'object' ? JSON.stringify(value) : String(value))
}
