import type { Clock } from '../../wait/clock.ts'

/** Wrong answers in a row that are more than chance. */
const ENOUGH = 3
/** After this many right answers in a row, fewer wrong ones are needed again. */
const RIGHT_AGAIN = 100
/** How long it is avoided at first, and at most, in ms. The time doubles. */
const FIRST_MS = 30_000
const LONGEST_MS = 600_000

/** The recent blocks of one endpoint. */
interface EndpointRecord {
  /** Wrong answers since the last right one, where another endpoint then gave the right ones. */
  wrong: number
  /** The same, where it gave the right ones itself, when it was asked again. */
  corrected: number
  /** As many of either are more than chance. */
  enough: number
  /** Right answers since the last wrong one. */
  right: number
  /** When it is no longer avoided, and for how long it will be the next time. */
  until: number
  nextMs: number
  /** What arrived before this time is in doubt. */
  freshFrom: number
}

/**
 * Endpoints that repeatedly give wrong blocks, so that a job would have to replace their blocks one
 * after the other:
 * - One is on another branch than the blocks that were delivered, or on another chain: other
 *   endpoints give the right blocks. It is avoided for some time.
 * - One was wrong for a while, and gives the right blocks now: what came from it before is
 *   requested again.
 */
export class Suspects {
  readonly #clock: Clock
  readonly #endpoints: number
  readonly #records = new Map<string, EndpointRecord>()
  #names: readonly string[] = []
  #version = 0

  /** Of a client with this many endpoints. */
  constructor(clock: Clock, endpoints: number) {
    this.#clock = clock
    this.#endpoints = endpoints
  }

  /** Grows when other answers become doubtful. */
  get version(): number {
    return this.#version
  }

  /** Those that are to be avoided now. */
  get names(): readonly string[] {
    if (this.#names.length > 0) this.#names = this.#names.filter((name) => this.#isAvoided(name))
    return this.#names
  }

  /** Is an answer of this endpoint that arrived at this time likely to be wrong? */
  isDoubtful(name: string | undefined, at: number): boolean {
    if (name === undefined || this.#records.size === 0) return false
    return at <= (this.#records.get(name)?.freshFrom ?? Number.NEGATIVE_INFINITY) || this.names.includes(name)
  }

  /** The endpoint `right` gave a right block, in place of wrong ones from these. */
  replaced(right: string | undefined, wrong: readonly string[]): void {
    if (right !== undefined && wrong.includes(right)) this.corrected(right)
    else this.right(right)
    for (const name of wrong) if (name !== right) this.wrong(name)
  }

  /** The endpoint gave a wrong block, or wrong receipts, and then the right ones. */
  corrected(name: string): void {
    const record = this.#recordOf(name)
    record.wrong = 0
    record.right = 0
    if (++record.corrected < record.enough) return
    record.corrected = 0
    // What is always wrong at first is not requested twice again and again.
    record.enough *= 2
    record.freshFrom = this.#clock.now()
    this.#version++
  }

  /** The endpoint gave a wrong block, and another one gave the right one. */
  wrong(name: string): void {
    const record = this.#recordOf(name)
    record.right = 0
    if (++record.wrong < record.enough || this.#isAvoided(name)) return
    // Of all endpoints, only the last one is avoided: others have just given the right blocks.
    if (this.names.length + 1 >= this.#endpoints) this.#readmitAll()
    record.until = this.#clock.now() + record.nextMs
    record.nextMs = Math.min(LONGEST_MS, record.nextMs * 2)
    this.#names = [...this.#names, name]
    this.#version++
  }

  /** The endpoint gave a right block, the first time that it was asked for it. */
  right(name: string | undefined): void {
    if (this.#records.size === 0 || name === undefined) return
    const record = this.#records.get(name)
    if (record === undefined) return
    record.wrong = 0
    record.corrected = 0
    if (++record.right % RIGHT_AGAIN === 0) record.enough = Math.max(ENOUGH, record.enough / 2)
  }

  #readmitAll(): void {
    for (const name of this.#names) this.#recordOf(name).until = 0
    // They may all be wrong for a while.
    for (const record of this.#records.values()) record.enough *= 2
    this.#names = []
  }

  #recordOf(name: string): EndpointRecord {
    let record = this.#records.get(name)
    if (record === undefined) {
      record = { wrong: 0, corrected: 0, enough: ENOUGH, right: 0, until: 0, nextMs: FIRST_MS, freshFrom: Number.NEGATIVE_INFINITY }
      this.#records.set(name, record)
    }
    return record
  }

  #isAvoided(name: string): boolean {
    return this.#clock.now() < (this.#records.get(name)?.until ?? 0)
  }
}
