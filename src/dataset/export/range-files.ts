import type { Proof } from '../../bulk/blocks/verifying.ts'
import { VERSION } from '../../version.ts'
import type { BlockRange } from '../aligned-range.ts'
import type { ChecksMade, RangeEntry } from '../folder/manifest.ts'
import type { CutBlock } from '../rows/cut-block.ts'
import type { TableFile } from '../rows/table-file.ts'
import type { DatasetTable } from '../tables.ts'

export type CreateFile = (table: DatasetTable, range: BlockRange) => Promise<TableFile>

/** The files of a range while they are written, one for each table. */
export class RangeFiles {
  readonly range: BlockRange
  readonly #files: readonly TableFile[]
  /** Not the blocks themselves, which hold their bytes. */
  #parentHash = ''
  #firstHash = ''
  #lastHash = ''
  readonly #checks = new Checks()

  private constructor(range: BlockRange, files: readonly TableFile[]) {
    this.range = range
    this.#files = files
  }

  static async create(tables: readonly DatasetTable[], range: BlockRange, createFile: CreateFile): Promise<RangeFiles> {
    const files: TableFile[] = []
    try {
      for (const table of tables) files.push(await createFile(table, range))
    } catch (error) {
      for (const file of files) await file.abandon()
      throw error
    }
    return new RangeFiles(range, files)
  }

  /** Adds the rows of the next block. A promise resolves when there is room for more. */
  add(block: CutBlock, proof?: Proof): Promise<unknown> | undefined {
    this.#checks.add(proof)
    if (block.number === this.range.from) {
      this.#parentHash = block.parentHash
      this.#firstHash = block.hash
    }
    this.#lastHash = block.hash
    let rooms: Promise<void>[] | undefined
    for (const file of this.#files) {
      const room = file.add(block)
      if (room === undefined) continue
      rooms ??= []
      rooms.push(room)
    }
    return rooms && Promise.all(rooms)
  }

  /** Makes all files durable, under their temporary names. */
  async finish(): Promise<RangeEntry> {
    const finished = await Promise.all(this.#files.map((file) => file.finish()))
    const { from, to } = this.range
    return {
      from,
      to,
      parentHash: this.#parentHash,
      firstHash: this.#firstHash,
      lastHash: this.#lastHash,
      files: finished.map(({ entry }) => entry),
      checks: this.#checks.made,
      nulls: Object.fromEntries(finished.flatMap(({ nulls }) => Object.entries(nulls))),
      tool: VERSION,
    }
  }

  /** Gives all files their names. */
  async publish(): Promise<void> {
    for (const file of this.#files) await file.publish()
  }

  /** Removes all files. */
  async abandon(): Promise<void> {
    for (const file of this.#files) await file.abandon()
  }
}

/** What was checked of the blocks of a range, in blocks. */
class Checks {
  #blocks = 0
  readonly #made = new Map<string, number>()
  readonly #skipped = new Map<string, Map<string, number>>()

  /** Without a proof, a block was checked by its links alone. */
  add(proof: Proof | undefined): void {
    this.#blocks++
    for (const check of proof?.checks ?? []) increase(this.#made, check)
    for (const { check, reason } of proof?.skipped ?? []) {
      const reasons = this.#skipped.get(check) ?? new Map<string, number>()
      this.#skipped.set(check, reasons)
      increase(reasons, reason)
    }
  }

  /** In the order of their names: which check was made first depends on the first block. */
  get made(): ChecksMade {
    return {
      made: { link: this.#blocks, ...sorted(this.#made) },
      skipped: Object.fromEntries(inOrder(this.#skipped).map(([check, reasons]) => [check, sorted(reasons)])),
    }
  }
}

function increase(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

function inOrder<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1))
}

function sorted(counts: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries(inOrder(counts))
}
