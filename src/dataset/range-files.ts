import { VERSION } from '../version.ts'
import type { BlockRange } from './aligned-range.ts'
import type { VerifyLevel } from './checks.ts'
import type { CutBlock } from './cut-block.ts'
import type { RangeEntry } from './manifest.ts'
import type { TableFile } from './table-file.ts'
import type { DatasetTable } from './tables.ts'

export type CreateFile = (table: DatasetTable, range: BlockRange) => Promise<TableFile>

/** The files of a range while they are written, one for each table. */
export class RangeFiles {
  readonly range: BlockRange
  readonly #files: readonly TableFile[]
  /** Not the blocks themselves, which hold their bytes. */
  #parentHash = ''
  #firstHash = ''
  #lastHash = ''

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
  add(block: CutBlock): Promise<unknown> | undefined {
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
  async finish(verify: VerifyLevel): Promise<RangeEntry> {
    const finished = await Promise.all(this.#files.map((file) => file.finish()))
    const { from, to } = this.range
    return {
      from,
      to,
      parentHash: this.#parentHash,
      firstHash: this.#firstHash,
      lastHash: this.#lastHash,
      files: finished.map(({ entry }) => entry),
      checks: { made: { [verify]: to - from + 1 }, skipped: {} },
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
