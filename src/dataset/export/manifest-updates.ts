import type { Clock } from '../../wait/clock.ts'
import type { Lock } from '../folder/lock.ts'
import type { ManifestFile, RangeEntry } from '../folder/manifest.ts'

/**
 * After the manifest was written, at least this many times as long passes before it is written
 * again: writing takes a twentieth of the time at most.
 */
const REST = 19

/**
 * Names finished ranges in the manifest. Each time, all of it is written, which takes a tenth of a
 * second for 25,000 ranges. So where it is large, several ranges are named at once, and a process
 * that is killed has to export those of the last moment again.
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
    this.#dueAt = endedAt + REST * (endedAt - startedAt)
  }
}
