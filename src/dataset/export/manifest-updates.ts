import type { Clock } from '../../wait/clock.ts'
import type { Lock } from '../folder/lock.ts'
import type { ManifestFile, RangeEntry } from '../folder/manifest.ts'

/** Most of the time that is spent on writing the manifest. */
const SHARE = 1 / 20

/**
 * Names finished ranges in the manifest. Each time, all of it is written, which takes a tenth of a
 * second for 25,000 ranges. So where it is large, several ranges are named at once, and a process
 * that is killed loses those of the last moment.
 */
export class ManifestUpdates {
  readonly #file: ManifestFile
  readonly #lock: Lock
  readonly #clock: Clock
  #dueAt = 0
  #isBehind = false

  constructor(file: ManifestFile, lock: Lock, clock: Clock) {
    this.#file = file
    this.#lock = lock
    this.#clock = clock
  }

  /** Whether the manifest on the disk lacks a range that was added. */
  get isBehind(): boolean {
    return this.#isBehind
  }

  /** Adds a range, and writes the manifest if that is due. */
  async add(range: RangeEntry): Promise<void> {
    this.#file.add(range)
    this.#isBehind = true
    if (this.#clock.now() >= this.#dueAt) await this.finish()
  }

  /** Writes what is not on the disk yet. Rejects if another process has taken the folder. */
  async finish(): Promise<void> {
    if (!this.#isBehind) return
    const startedAt = this.#clock.now()
    await this.#lock.check()
    await this.#file.write()
    const endedAt = this.#clock.now()
    this.#isBehind = false
    this.#dueAt = endedAt + (endedAt - startedAt) * (1 / SHARE - 1)
  }
}
