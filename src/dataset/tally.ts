import type { BlockResult } from './check-block.ts'

/** Counts, in blocks, what was proven and what was not. */
export class Tally {
  readonly checks: Record<string, number> = {}
  /** By check and reason. */
  readonly skipped: Record<string, Record<string, number>> = {}
  readonly #uncovered = new Set<string>()

  prove(check: string): void {
    this.checks[check] = (this.checks[check] ?? 0) + 1
  }

  skip(check: string, reason: string): void {
    const reasons = this.skipped[check] ?? {}
    reasons[reason] = (reasons[reason] ?? 0) + 1
    this.skipped[check] = reasons
  }

  add({ proven, skipped, uncovered }: BlockResult): void {
    for (const check of proven) this.prove(check)
    for (const [check, reason] of skipped) this.skip(check, reason)
    for (const column of uncovered) this.#uncovered.add(column)
  }

  /** Columns, as `table.column`, with a value that nothing proves. */
  get uncovered(): string[] {
    return [...this.#uncovered].sort()
  }
}
