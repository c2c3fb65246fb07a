import { MalformedReplyError } from '../errors.ts'

/** A page of records. */
export interface Page<T> {
  readonly result: T[]
  /** Cursor of the next page; null on the last one. */
  readonly cursor: string | null
}

/** Where a page is from, for errors. */
export interface Origin {
  /** Host of the service. */
  readonly endpoint: string
  /** GETs that the page took. */
  readonly attempts: number
}

/** The fields of a page that lead to the next one. */
interface Envelope {
  readonly cursor: string | null
  readonly hasNextPage?: boolean | null | undefined
}

/**
 * A list of the service. It requests nothing until it is used: `await` gets the first page, `for
 * await` all records of all pages, and `pages()` the pages.
 */
export class Paged<P extends Page<unknown>> implements PromiseLike<P>, AsyncIterable<P['result'][number]> {
  readonly #operation: string
  readonly #start: string | undefined
  readonly #get: (cursor: string | undefined) => Promise<P>
  readonly #originOf: (page: P) => Origin | undefined
  readonly #signal: AbortSignal | undefined
  #first: Promise<P> | undefined
  #cursor: string | null | undefined
  /** Whether an iteration has begun, which then sets the cursor. */
  #iterates = false

  /**
   * `get` gets the page at a cursor, or the first page without one. `signal` ends an iteration,
   * also in the middle of a page. `originOf` says where a page is from, for errors.
   */
  constructor(
    operation: string,
    start: string | undefined,
    get: (cursor: string | undefined) => Promise<P>,
    signal?: AbortSignal,
    originOf: (page: P) => Origin | undefined = () => undefined,
  ) {
    this.#operation = operation
    this.#start = start
    this.#get = get
    this.#originOf = originOf
    this.#signal = signal
    this.#cursor = start
  }

  /**
   * Where to resume later: pass it as `cursor`. It moves on when all records of a page have been
   * yielded, so nothing after it has been. Undefined at the start, null at the end.
   */
  get cursor(): string | null | undefined {
    return this.#cursor
  }

  // biome-ignore lint/suspicious/noThenProperty: it is meant to be awaited
  then<A = P, B = never>(onPage?: ((page: P) => A | PromiseLike<A>) | null, onError?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<A | B> {
    this.#first ??= this.#page(this.#start, new Set()).then((page) => {
      if (!this.#iterates) this.#cursor = page.cursor
      return page
    })
    return this.#first.then(onPage, onError)
  }

  catch<B = never>(onError?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<P | B> {
    return this.then(undefined, onError)
  }

  finally(onEnd?: (() => void) | null): Promise<P> {
    return this.then().finally(onEnd)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<P['result'][number], void, undefined> {
    for await (const { result } of this.pages()) {
      for (const record of result as P['result'][number][]) {
        this.#signal?.throwIfAborted()
        yield record
      }
    }
  }

  /** The pages in order, each requested when it is needed. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    const seen = new Set<string>()
    this.#iterates = true
    this.#cursor = this.#start
    for (let next: string | null | undefined = this.#start; next !== null; ) {
      const page: P = await this.#page(next, seen)
      yield page
      next = this.#cursor = page.cursor
    }
  }

  /**
   * Checks that a page has a consistent way to the next one, so that a list without an end is not
   * taken for a long one.
   */
  async #page(cursor: string | undefined, seen: Set<string>): Promise<P> {
    const page = await this.#get(cursor)
    const { cursor: next, hasNextPage } = page as P & Envelope
    if (cursor !== undefined) seen.add(cursor)
    if (next !== null && seen.has(next)) throw this.#fault('a cursor for the second time, so the list would never end', page)
    if (next === null && hasNextPage === true) throw this.#fault('no cursor, although there are more pages', page)
    return next !== null && hasNextPage === false ? { ...page, cursor: null } : page
  }

  #fault(what: string, page: P): MalformedReplyError {
    const { endpoint, attempts = 1 } = this.#originOf(page) ?? {}
    const error = new MalformedReplyError(`${this.#operation}: the service sent ${what}`, { method: this.#operation, endpoint })
    return Object.assign(error, { attempts })
  }
}
