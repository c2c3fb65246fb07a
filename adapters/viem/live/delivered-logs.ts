import { keyOf, type RawLog } from '../../raw-log.ts'

/** The logs of the last blocks that a subscriber has, each once. */
export class DeliveredLogs {
  /** Logs by the number of their block, and by their key. */
  readonly #blocks = new Map<number, Map<string, RawLog>>()
  #size = 0

  /** How many they are. */
  get size(): number {
    return this.#size
  }

  /** The number of the first block with a log. */
  get oldest(): number | undefined {
    return this.#size === 0 ? undefined : [...this.#blocks.keys()].reduce((one, other) => Math.min(one, other))
  }

  /** The number of the last block with a log. */
  get newest(): number | undefined {
    return this.#size === 0 ? undefined : [...this.#blocks.keys()].reduce((one, other) => Math.max(one, other))
  }

  has(log: RawLog): boolean {
    return this.#blocks.get(Number(log.blockNumber))?.has(keyOf(log)) ?? false
  }

  /** Whether a log is of another block with the same number. */
  hasOther({ blockNumber, blockHash }: RawLog): boolean {
    for (const known of this.#blocks.get(Number(blockNumber))?.values() ?? []) return known.blockHash !== blockHash
    return false
  }

  add(log: RawLog): void {
    const number = Number(log.blockNumber)
    const logs = this.#blocks.get(number) ?? new Map<string, RawLog>()
    this.#blocks.set(number, logs)
    this.#size -= logs.size
    logs.set(keyOf(log), log)
    this.#size += logs.size
  }

  /** Returns whether it was there. */
  delete(log: RawLog): boolean {
    const number = Number(log.blockNumber)
    const logs = this.#blocks.get(number)
    if (!logs?.delete(keyOf(log))) return false
    this.#size--
    if (logs.size === 0) this.#blocks.delete(number)
    return true
  }

  /** The logs of the blocks from this number on, newest first. */
  newestFirst(from: number): RawLog[] {
    const numbers = [...this.#blocks.keys()].filter((number) => number >= from).sort((one, other) => other - one)
    return numbers.flatMap((number) => [...(this.#blocks.get(number)?.values() ?? [])].reverse())
  }

  /** Forgets the logs of the blocks before this number. */
  forgetBefore(number: number): void {
    for (const [each, logs] of this.#blocks) {
      if (each >= number) continue
      this.#size -= logs.size
      this.#blocks.delete(each)
    }
  }
}
