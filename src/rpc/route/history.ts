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

/**
 * How many times an endpoint must fail an old block until it is known not to have it: as many as
 * the attempts of a call, by default.
 */
const ENOUGH = 4
/**
 * How long a failure counts, in ms: longer than the wait for the next attempt, but short enough
 * that a block no longer requested does not keep others from being counted.
 */
const COUNTS_MS = 60_000

interface Floor {
  /** The oldest block that the endpoint has, as far as is known. */
  oldest: number
  /** Blocks below this one it does not have for sure: it has told so, or failed often enough. */
  sure: number
  /** When that was learnt. */
  at: number
}

const NO_FLOOR: Readonly<Floor> = { oldest: 0, sure: 0, at: 0 }

/** The oldest block of a resource that has failed, and how often in a row. */
interface Miss {
  readonly block: number
  readonly times: number
  /** When it failed last. */
  readonly at: number
}

/**
 * How far back an endpoint's data reach, for each resource. `lacks` asks; the methods in the past
 * tense report what the endpoint did.
 */
export class History {
  /** As the user says. */
  readonly #since: number
  readonly #onRaised: () => void
  readonly #floors = new Map<Resource, Floor>()
  readonly #misses = new Map<Resource, Miss>()
  /** The oldest block that was answered lately, and when. */
  readonly #oldestAnswered = new Map<Resource, { readonly block: number; readonly at: number }>()

  /** `onRaised` is called when it lacks blocks that it was not known to lack. */
  constructor(since = 0, onRaised = () => {}) {
    this.#since = since
    this.#onRaised = onRaised
  }

  /**
   * As far as is known, it does not have this block's resource. `whole` is what the resource is
   * part of; it tells where nothing is known of the resource itself.
   */
  lacks(resource: Resource, block: number, now: number, whole?: Resource): boolean {
    if (block < this.#since) return true
    const floor = this.#floorOf(resource, now)
    if (floor !== undefined) return block < floor.oldest
    return whole !== undefined && !this.#hasAnswered(resource, block, now) && this.lacks(whole, block, now)
  }

  /**
   * It does not have this block's resource. `told` is the oldest block that it has, if it said so;
   * `newest` is the newest block of all endpoints, or negative.
   */
  failed(resource: Resource, block: number, newest: number, told: number | undefined, now: number): void {
    const { oldest, sure } = this.#floorOf(resource, now) ?? NO_FLOOR
    // Nothing can start after the newest block.
    if (told !== undefined && told > block && (newest < 0 || told <= newest)) this.toldOldest(resource, told, now)
    else if (block >= sure) this.#setFloor(resource, { oldest: Math.max(oldest, block + 1, Math.floor(block + STEP * (newest - block))), sure, at: now })
  }

  /**
   * It has failed a block as if the block did not exist, though it exists. True once it is known
   * that asking again cannot help.
   *
   * A node that has dropped a block fails it each time. But one URL may stand for several nodes, of
   * which one lags behind, or one has dropped what another still has; then the next answer may be
   * right. These tell the difference:
   *
   * - A floor that the endpoint has told, or that the user has given: the block is below it.
   * - Depth: no node lags that far behind. The caller knows how deep the block is (`isDeep`).
   * - Repetition: of several nodes, one that has the block answers sooner or later. Only calls sent
   *   after the failure before count, since those sent together may all have met the same node.
   * - An answer for this block or an older one: nodes drop the oldest blocks first, so one of the
   *   nodes has the block, and nothing is known. Genesis is no such answer, since nodes keep it.
   */
  missed(resource: Resource, block: number, isDeep: boolean, askedAt: number, now: number): boolean {
    if (this.#hasAnswered(resource, block, now)) return false
    const { oldest, sure } = this.#floorOf(resource, now) ?? NO_FLOOR
    if (block < this.#since || block < sure) return true
    if (!this.#countMiss(resource, block, askedAt, now) || !isDeep) return false
    this.#misses.delete(resource)
    this.#setFloor(resource, { oldest: Math.max(oldest, block + 1), sure: block + 1, at: now })
    return true
  }

  /** It has answered for this block. */
  answered(resource: Resource, block: number, now: number): void {
    if (block === 0) return
    const miss = this.#misses.get(resource)
    if (miss !== undefined && block <= miss.block) this.#misses.delete(resource)
    const floor = this.#floors.get(resource)
    if (floor !== undefined) {
      floor.oldest = Math.min(floor.oldest, block)
      floor.sure = Math.min(floor.sure, block)
    }
    const answered = this.#oldestAnswered.get(resource)
    if (answered === undefined || block <= answered.block || now - answered.at >= REMEMBERED_MS) this.#oldestAnswered.set(resource, { block, at: now })
  }

  /** It has told the oldest block of a resource; infinite if it has none. */
  toldOldest(resource: Resource, oldest: number, now: number): void {
    this.#setFloor(resource, { oldest, sure: oldest, at: now })
  }

  /** It has answered for this block or an older one lately. */
  #hasAnswered(resource: Resource, block: number, now: number): boolean {
    const answered = this.#oldestAnswered.get(resource)
    return answered !== undefined && answered.block <= block && now - answered.at < REMEMBERED_MS
  }

  #setFloor(resource: Resource, floor: Floor): void {
    const known = this.#floorOf(resource, floor.at) ?? NO_FLOOR
    this.#floors.set(resource, floor)
    if (floor.oldest > known.oldest) this.#onRaised()
  }

  #floorOf(resource: Resource, now: number): Floor | undefined {
    const floor = this.#floors.get(resource)
    return floor === undefined || now - floor.at >= REMEMBERED_MS ? undefined : floor
  }

  /**
   * Counts a miss. True if the block has been missed often enough. Of a job's blocks only the
   * oldest one is counted: the job ends with it.
   */
  #countMiss(resource: Resource, block: number, askedAt: number, now: number): boolean {
    const known = this.#misses.get(resource)
    const last = known === undefined || now - known.at >= COUNTS_MS ? undefined : known
    if (last !== undefined && (block > last.block || (block === last.block && askedAt < last.at))) return false
    const times = block === last?.block ? last.times + 1 : 1
    this.#misses.set(resource, { block, times, at: now })
    return times >= ENOUGH
  }
}
