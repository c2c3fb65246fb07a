import { skipValue, viewOf } from '../../json/scan.ts'
import { cutBody, type Region, scanAnyBody } from './body.ts'
import { correlate, isError } from './correlate.ts'

/*
 * Results whose bytes are cut out of a body unread, because a reader that checks all of them reads
 * them later.
 *
 * A body is cut where the next envelope seems to begin, which may be inside a result. But where
 * each region before a place is exactly one JSON value, the cut is what `JSON.parse` would find:
 * nothing else can stand there. So a result is right when its region and all regions before it are
 * each one value. Reading a region to its end shows that for this one; `readUnread` and
 * `mayBeReadInParts` make sure of it for those before: in order, they have been read; otherwise
 * they are passed over. Where one is not one value, the body is scanned from its start, and its
 * replies are matched by their ids.
 */

/**
 * The property of a result's bytes that tells what they were cut from. A symbol, since the bytes
 * pass through layers that may look at them.
 */
const ORIGIN = Symbol.for('hexline.origin')

interface Origin {
  readonly body: UnreadBody
  readonly index: number
}

/**
 * The bytes of the results of a body, for `readUnread` alone; undefined when the body does not have
 * the usual form.
 */
export function unreadResults(body: Buffer, first: number, count: number): Buffer[] | undefined {
  const regions = cutBody(body, first, count)
  if (regions === undefined) return undefined
  const from = new UnreadBody(body, first, regions)
  return regions.map(({ start, end }, index) => Object.assign(body.subarray(start, end), { [ORIGIN]: { body: from, index } satisfies Origin }))
}

/**
 * What `read` makes of the bytes of a result. It must read them to their end, throw `SyntaxError`
 * unless they are exactly one JSON value, and do nothing else: it may be called twice. Throws
 * `SyntaxError`, also when the body has no such result.
 */
export function readUnread<T>(bytes: Buffer, read: (bytes: Buffer) => T): T {
  const { [ORIGIN]: origin } = bytes as { [ORIGIN]?: Origin }
  return origin === undefined ? read(bytes) : origin.body.read(origin.index, read)
}

/**
 * True when these bytes of a result are what `JSON.parse` would find if they are one JSON value, so
 * that they may be read in parts: the reader notices at the last part, at the latest, that they are
 * not. `wasRead` is called after that part.
 */
export function mayBeReadInParts(bytes: Buffer): boolean {
  const { [ORIGIN]: origin } = bytes as { [ORIGIN]?: Origin }
  return origin === undefined || origin.body.isCutBefore(origin.index)
}

/** The bytes have been read in parts to their end, and are one JSON value. */
export function wasRead(bytes: Buffer): void {
  const { [ORIGIN]: origin } = bytes as { [ORIGIN]?: Origin }
  origin?.body.wasRead(origin.index)
}

class UnreadBody {
  readonly #body: Buffer
  readonly #first: number
  readonly #regions: readonly Region[]
  /** Regions from the first on that are known to be one value each. */
  #known = 0
  /** The results by their ids, since the regions are not the results. */
  #matched: readonly (Buffer | undefined)[] | undefined

  constructor(body: Buffer, first: number, regions: readonly Region[]) {
    this.#body = body
    this.#first = first
    this.#regions = regions
  }

  read<T>(index: number, read: (bytes: Buffer) => T): T {
    if (this.isCutBefore(index)) {
      try {
        const value = read(this.#region(index))
        this.wasRead(index)
        return value
      } catch (error) {
        if (!(error instanceof SyntaxError) || this.#isOneValue(index)) throw error
        this.#matched = this.#match()
      }
    }
    const bytes = this.#matched?.[index]
    if (bytes === undefined) throw new SyntaxError('the body has no result with its id')
    return read(bytes)
  }

  /**
   * True when the regions before this one are one value each. Else the results are matched by their
   * ids.
   */
  isCutBefore(index: number): boolean {
    while (this.#matched === undefined && this.#known < index) {
      if (this.#isOneValue(this.#known)) this.#known++
      else this.#matched = this.#match()
    }
    return this.#matched === undefined
  }

  /** The region is one value. */
  wasRead(index: number): void {
    if (this.#known === index) this.#known++
  }

  #region(index: number): Buffer {
    const { start, end } = this.#regions[index] as Region
    return this.#body.subarray(start, end)
  }

  #isOneValue(index: number): boolean {
    const { start, end } = this.#regions[index] as Region
    try {
      return skipValue(this.#body, viewOf(this.#body), start) === end
    } catch {
      return false
    }
  }

  #match(): (Buffer | undefined)[] {
    const { length } = this.#regions
    try {
      const { replies } = correlate(scanAnyBody(this.#body), this.#first, length)
      return replies.map((reply) => (typeof reply === 'string' || isError(reply) ? undefined : ((reply.result ?? NULL) as Buffer)))
    } catch {
      // The body is not JSON.
      return new Array(length)
    }
  }
}

const NULL = Buffer.from('null')
