import { fault } from '../../eth/codec/codec-path.ts'
import { keyIsAt, type Place, placeAfter, READ_ANY, UNUSUAL } from '../../eth/codec/read-plan.ts'
import { skipString } from '../../json/scan.ts'
import type { CutField, Text } from './cut-rows.ts'

const COLON = 0x3a

/** Bounds on the keys that are remembered: in all, and after one other. */
const MOST_KEYS = 4096
const MOST_OTHERS = 16

/** A key that was found, and what to do with its value. */
export class Key {
  readonly place: Place
  /** Undefined before the first one. */
  readonly name: string | undefined
  readonly before: Key | undefined
  /** Whether it is not remembered, nor are those after it. */
  readonly isStray: boolean
  /** Index among the names; -1 for any other field. */
  readonly field: number
  readonly cut: CutField | undefined
  readonly isApart: boolean
  /** The key that followed it first, and those that followed it in other objects. */
  next: Key | undefined = undefined
  readonly others: Key[] = []
  /** Before the first key of the objects in its value. */
  inner: Key | undefined = undefined

  constructor(place: Place, name: string | undefined, before: Key | undefined, isStray: boolean, field = -1, cut?: CutField, isApart = false) {
    this.place = place
    this.name = name
    this.before = before
    this.isStray = isStray
    this.field = field
    this.cut = cut
    this.isApart = isApart
  }
}

/**
 * The keys of objects of one kind, in the orders in which they came:
 *
 *     start ── "hash": ── "size": ── "list":
 *                      └─ "nonce": ── "size": ── "list":
 *
 * Each known key follows one other, so what leads to it is known to have each name once.
 */
export class KnownKeys {
  /** Before the first key of the outermost objects. */
  readonly start: Key = start()
  readonly #names: ReadonlyMap<string, number>
  readonly #cuts: ReadonlyMap<string, CutField>
  readonly #apart: readonly string[]
  #count = 0

  constructor(names: readonly string[], cuts: Readonly<Record<string, CutField>>, apart: readonly string[]) {
    this.#names = new Map(names.map((name, i) => [name, i]))
    this.#cuts = new Map(Object.entries(cuts))
    this.#apart = apart
  }

  /**
   * The key at `at`, which is not the one that followed `after` first. Throws `CodecError` for a
   * name that the object has already.
   */
  otherNext({ bytes, view, isPlain }: Text, after: Key, at: number): Key {
    for (const each of after.others) if (keyIsAt(view, bytes.length, at, each.place)) return each
    const end = skipString(bytes, view, at, isPlain)
    if (bytes[end] !== COLON) throw UNUSUAL
    const edge = Buffer.from(bytes.subarray(at, end + 1))
    const isShort = edge.length < 4
    const name: string = JSON.parse(edge.toString('utf8', 0, edge.length - 1))
    const isStray = after.isStray || isShort || this.#count >= MOST_KEYS || after.others.length >= MOST_OTHERS
    const place = isShort ? { ...this.start.place, length: edge.length } : placeAfter(edge, READ_ANY, [], [])
    const key = new Key(place, name, after, isStray, this.#names.get(name), this.#cuts.get(name), this.#apart.includes(name))
    // The names of an object with more keys than are remembered are checked at its end.
    if (isStray) return key
    for (let each: Key | undefined = after; each !== undefined; each = each.before) if (each.name === name) throw repeated(name)
    this.#count++
    if (after.next === undefined) after.next = key
    else after.others.push(key)
    return key
  }
}

/** What stands before the first key of an object. */
export function start(): Key {
  return new Key(placeAfter(Buffer.alloc(4), READ_ANY, [], []), undefined, undefined, false)
}

/** The error for an object that has this name twice. */
export function repeated(name: string): unknown {
  return fault('each name once', name, undefined, ' twice')
}
