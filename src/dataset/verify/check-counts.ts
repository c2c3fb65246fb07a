import type { BlockResult } from './check-block.ts'

/** What the counts are. Plain data. */
export type CountedChecks = Pick<CheckCounts, 'checks' | 'skipped' | 'uncovered'>

/** Counts, in blocks, what was proven and what was not. */
export class CheckCounts {
  readonly checks: Record<string, number> = {}
  /** By check and reason. */
  readonly skipped: Record<string, Record<string, number>> = {}
  readonly #uncovered = new Set<string>()

  prove(check: string, blocks = 1): void {
    this.checks[check] = (this.checks[check] ?? 0) + blocks
  }

  skip(check: string, reason: string, blocks = 1): void {
    const reasons = this.skipped[check] ?? {}
    reasons[reason] = (reasons[reason] ?? 0) + blocks
    this.skipped[check] = reasons
  }

  /** Adds a column whose values nothing proves. */
  addUncovered(column: string): void {
    this.#uncovered.add(column)
  }

  add({ proven, skipped, uncovered }: BlockResult): void {
    for (const check of proven) this.prove(check)
    for (const [check, reason] of skipped) this.skip(check, reason)
    for (const column of uncovered) this.addUncovered(column)
  }

  /** Adds other counts. */
  merge({ checks, skipped, uncovered }: CountedChecks): void {
    for (const [check, blocks] of Object.entries(checks)) this.prove(check, blocks)
    for (const [check, reasons] of Object.entries(skipped)) for (const [reason, blocks] of Object.entries(reasons)) this.skip(check, reason, blocks)
    for (const column of uncovered) this.addUncovered(column)
  }

  /** Columns, as `table.column`, with a value that nothing proves, or that they could not hold. */
  get uncovered(): string[] {
    return [...this.#uncovered].sort()
  }
}
