/**
 * Filters to remember, at most: beyond, the oldest is forgotten. Nodes drop them after some minutes
 * themselves.
 */
const MOST = 10_000
/** Ids made here begin beyond what a node that counts up will reach. */
const FIRST_OWN = 2n ** 80n

/** A filter, its endpoint, and its id there. */
interface Filter<Endpoint> {
  readonly endpoint: Endpoint
  readonly id: unknown
}

/**
 * Which endpoint made a filter. Two endpoints may give the same id: the caller gets another one for
 * the second filter.
 */
export class Filters<Endpoint> {
  readonly #filters = new Map<string, Filter<Endpoint>>()
  #nextOwn = FIRST_OWN

  /** The id for the caller. */
  add(endpoint: Endpoint, id: unknown): unknown {
    if (typeof id !== 'string') return id
    const known = this.#filters.get(id)
    const given = known === undefined || known.endpoint === endpoint ? id : `0x${(this.#nextOwn++).toString(16)}`
    this.#filters.delete(given)
    this.#filters.set(given, { endpoint, id })
    if (this.#filters.size > MOST) this.#filters.delete(this.#filters.keys().next().value as string)
    return given
  }

  /** Undefined for a filter that was not made here. */
  find(given: unknown): Filter<Endpoint> | undefined {
    return this.#filters.get(given as string)
  }

  drop(given: unknown): void {
    this.#filters.delete(given as string)
  }
}
