/** What may be dropped while other things of the same block are kept, such as `state`. */
export type Resource = string

/**
 * How long a floor is believed, in ms: several nodes may stand behind one URL, and a node may fetch
 * old blocks after all.
 */
const REMEMBERED_MS = 600_000

/**
 * Part of the distance to the newest block by which a floor rises when it is not told: a job that
 * goes from old blocks to new ones then meets it a few times, not at each block.
 */
const STEP = 1 / 4

interface Floor {
  /** The oldest block that the endpoint has, as far as is known. */
  oldest: number
  /** When that was learnt. */
  at: number
}

/** How far back an endpoint's data reach, for each resource. */
export class History {
  /** As the user says. */
  readonly #since: number
  readonly #floors = new Map<Resource, Floor>()

  constructor(since = 0) {
    this.#since = since
  }

  /** As far as is known, it does not have this block's resource. */
  lacks(resource: Resource, block: number, now: number): boolean {
    if (block < this.#since) return true
    const floor = this.#floors.get(resource)
    return floor !== undefined && block < floor.oldest && now - floor.at < REMEMBERED_MS
  }

  /**
   * It does not have this block's resource. `told` is the oldest block that it has, if it said so;
   * `newest` is the newest block of all endpoints, or negative.
   */
  fails(resource: Resource, block: number, newest: number, told: number | undefined, now: number): void {
    const floor = this.#floors.get(resource)
    const known = floor === undefined || now - floor.at >= REMEMBERED_MS ? 0 : floor.oldest
    // Nothing can start after the newest block.
    const isPlausible = told !== undefined && told > block && (newest < 0 || told <= newest)
    const oldest = isPlausible ? told : Math.max(known, block + 1, Math.floor(block + STEP * (newest - block)))
    this.#floors.set(resource, { oldest, at: now })
  }

  /** It has answered for this block. */
  has(resource: Resource, block: number): void {
    const floor = this.#floors.get(resource)
    if (floor !== undefined && block < floor.oldest) floor.oldest = block
  }

  /** It has told the oldest block of a resource; infinite if it has none. */
  reachesTo(resource: Resource, oldest: number, now: number): void {
    this.#floors.set(resource, { oldest, at: now })
  }
}
