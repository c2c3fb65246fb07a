import { MalformedReplyError } from '../errors.ts'

/** A page of records. */
export interface Page<T> {
  readonly result: T[]
  /** Of the next page; null on the last one. */
  readonly cursor: string | null
}

/** What a page says about the one after it. */
interface Envelope {
  readonly cursor: string | null
  readonly hasNextPage?: boolean | null | undefined
}

/**
 * A list of the service, of which nothing is asked before it is used: `await` gives its first page, `for await` all records of all pages,
 * `pages()` the pages.
 */
export class Paged<P extends Page<unknown>> implements PromiseLike<P>, AsyncIterable<P['result'][number]> {
  readonly #operation: string
  readonly #start: string | undefined
  readonly #get: (cursor: string | undefined) => Promise<P>
  #first: Promise<P> | undefined
  #cursor: string | null | undefined
  /** Once records are handed out one by one, the cursor is theirs. */
  #iterates = false

  /** `get` asks for the page with the cursor; for the first one without, unless the caller has one. */
  constructor(operation: string, start: string | undefined, get: (cursor: string | undefined) => Promise<P>) {
    this.#operation = operation
    this.#start = start
    this.#get = get
    this.#cursor = start
  }

  /**
   * Where to go on later, given as `cursor`: nothing after it has been handed out. It moves when all records of a page have been.
   * Undefined at the very beginning, null at the end.
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
    for await (const { result } of this.pages()) yield* result as P['result'][number][]
  }

  /** The pages in order, each asked for when it is wanted. */
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

  /** Checks what leads on from a page: a list that does not end must not look like one that goes on. */
  async #page(cursor: string | undefined, seen: Set<string>): Promise<P> {
    const page = await this.#get(cursor)
    const { cursor: next, hasNextPage } = page as P & Envelope
    if (cursor !== undefined) seen.add(cursor)
    if (next !== null && seen.has(next)) throw this.#fault('a cursor that came before: the list would never end')
    if (next === null && hasNextPage === true) throw this.#fault('more pages, and no cursor for the next one')
    return next !== null && hasNextPage === false ? { ...page, cursor: null } : page
  }

  #fault(what: string): MalformedReplyError {
    return new MalformedReplyError(`${this.#operation}: the service gave ${what}`, { method: this.#operation })
  }
}
