import type { Clock } from '../wait/clock.ts'

/** Wrong answers in a row until an endpoint is avoided: fewer may be chance. */
const ENOUGH = 3
/** How long it is avoided at first, and at most, in ms. The time doubles. */
const FIRST_MS = 30_000
const LONGEST_MS = 600_000

/** The recent blocks of one endpoint. */
interface EndpointRecord {
  /** Wrong answers since the last right one. */
  wrong: number
  until: number
  nextMs: number
}

/**
 * The endpoints that repeatedly give blocks that do not follow the previous one: they are on
 * another branch than the blocks that were delivered, or on another chain. A job avoids them for
 * some time, since it would have to replace each of their blocks, one after the other.
 */
export class Suspects {
  readonly #clock: Clock
  readonly #records = new Map<string, EndpointRecord>()
  #names: readonly string[] = []
  #version = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Grows when another endpoint becomes suspect. */
  get version(): number {
    return this.#version
  }

  /** Those that are to be avoided now. */
  get names(): readonly string[] {
    if (this.#names.length > 0) this.#names = this.#names.filter((name) => this.#isAvoided(name))
    return this.#names
  }

  /** The endpoint gave a block that did not follow, and another one gave the right one. */
  wrong(name: string): void {
    const record = this.#records.get(name) ?? { wrong: 0, until: 0, nextMs: FIRST_MS }
    this.#records.set(name, record)
    if (++record.wrong < ENOUGH || this.#isAvoided(name)) return
    record.until = this.#clock.now() + record.nextMs
    record.nextMs = Math.min(LONGEST_MS, record.nextMs * 2)
    this.#names = [...this.names, name]
    this.#version++
  }

  /** The endpoint gave a block that follows. */
  right(name: string | undefined): void {
    if (this.#records.size === 0 || name === undefined) return
    const record = this.#records.get(name)
    if (record !== undefined) record.wrong = 0
  }

  #isAvoided(name: string): boolean {
    return this.#clock.now() < (this.#records.get(name)?.until ?? 0)
  }
}
