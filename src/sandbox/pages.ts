import { createHash } from 'node:crypto'
import { BadQuery } from './query.ts'

/** A part of a list. */
export interface Page<T> {
  readonly items: readonly T[]
  /** Where the next one begins; undefined for the last page. */
  readonly cursor: string | undefined
}

/** How a list is paged. */
export interface Paging {
  /** Most items of a page. */
  readonly limit: number
  /** Items to skip; not with a cursor. */
  readonly offset?: number | undefined
  readonly cursor?: string | undefined
  /** What the list depends on, each thing in one spelling: a cursor of another list is refused. */
  readonly of: readonly unknown[]
}

/**
 * One page of a list that may change between two pages. It is in the order of its items' keys, and a cursor says behind which key the next page begins,
 * not at which place: what is added or removed elsewhere meanwhile makes no item come twice or not at all. Throws `BadQuery` for a cursor that is none.
 */
export function pageOf<T>(items: readonly T[], keyOf: (item: T) => string, { limit, offset, cursor, of }: Paging): Page<T> {
  if (cursor !== undefined && offset !== undefined) throw new BadQuery(['offset goes with the first page only: leave it out beside a cursor'])
  const keyed = items.map((item) => ({ item, key: keyOf(item) })).sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  const list = listId(of)
  let start = offset ?? 0
  if (cursor !== undefined) {
    const { after, equal } = readCursor(cursor, list)
    start = keyed.findIndex(({ key }) => key >= after)
    if (start === -1) start = keyed.length
    // Of items with equal keys, so many have been given.
    for (let given = 0; given < equal && keyed[start]?.key === after; given++) start++
  }
  const page = keyed.slice(start, start + limit)
  const last = page.at(-1)?.key
  if (last === undefined || start + limit >= keyed.length) return { items: page.map(({ item }) => item), cursor: undefined }
  const equal = keyed.slice(0, start + limit).filter(({ key }) => key === last).length
  return { items: page.map(({ item }) => item), cursor: writeCursor({ list, after: last, equal }) }
}

/** Names the list that depends on these things, for its cursors. */
export function listId(of: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(of)).digest('base64url').slice(0, 12)
}

/** Any values as a cursor: letters and digits that mean nothing to whoever holds them. */
export function writeCursor(values: object): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url')
}

/** The values of a cursor, as they were written; undefined for a text that is no cursor. */
export function valuesOf(cursor: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return typeof values === 'object' && values !== null ? (values as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function readCursor(cursor: string, list: string): { after: string; equal: number } {
  const values = valuesOf(cursor)
  const { after, equal } = values ?? {}
  if (typeof after !== 'string' || typeof equal !== 'number') throw new BadQuery(['cursor must be one that a page has given'])
  if (values?.list !== list) throw new BadQuery(['cursor must be one of this list: it comes from another one, or other filters'])
  return { after, equal }
}
