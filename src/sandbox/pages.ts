import { createHash } from 'node:crypto'
import { BadQuery } from './query.ts'

/** A part of a list. */
export interface Page<T> {
  readonly items: readonly T[]
  /** Where the next page begins; undefined for the last page. */
  readonly cursor: string | undefined
}

/** How a list is paged. */
export interface Paging {
  /** Most items per page. */
  readonly limit: number
  /** Items to skip; not with a cursor. */
  readonly offset?: number | undefined
  readonly cursor?: string | undefined
  /** Identifies the list: a cursor of another list is refused. */
  readonly of: readonly unknown[]
}

/**
 * One page of a list that may change between two pages. Items are ordered by their keys, and a
 * cursor holds the last key, not a position: items added or removed elsewhere cause no duplicates
 * and no gaps. Throws `BadQuery` for an invalid cursor.
 */
export function pageOf<T>(items: readonly T[], keyOf: (item: T) => string, { limit, offset, cursor, of }: Paging): Page<T> {
  if (cursor !== undefined && offset !== undefined) throw new BadQuery(['offset cannot be combined with cursor: it applies to the first page only'])
  const keyed = items.map((item) => ({ item, key: keyOf(item) })).sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  const list = listId(of)
  let start = offset ?? 0
  if (cursor !== undefined) {
    const { after, equal } = readCursor(cursor, list)
    start = keyed.findIndex(({ key }) => key >= after)
    if (start === -1) start = keyed.length
    // How many items with this key were on the pages so far.
    for (let given = 0; given < equal && keyed[start]?.key === after; given++) start++
  }
  const page = keyed.slice(start, start + limit)
  const last = page.at(-1)?.key
  if (last === undefined || start + limit >= keyed.length) return { items: page.map(({ item }) => item), cursor: undefined }
  const equal = keyed.slice(0, start + limit).filter(({ key }) => key === last).length
  return { items: page.map(({ item }) => item), cursor: writeCursor({ list, after: last, equal }) }
}

/** Identifies the list that depends on these values. */
export function listId(of: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(of)).digest('base64url').slice(0, 12)
}

/** Encodes values as an opaque cursor of letters and digits. */
export function writeCursor(values: object): string {
  return Buffer.from(JSON.stringify(values)).toString('base64url')
}

/** Decodes a cursor; undefined for a text that is not one. */
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
  if (typeof after !== 'string' || typeof equal !== 'number') throw new BadQuery(['cursor must come from an earlier page'])
  if (values?.list !== list) throw new BadQuery(['cursor must come from the same list with the same filters'])
  return { after, equal }
}
