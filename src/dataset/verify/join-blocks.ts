import { plain } from '../../verify/mismatch.ts'
import { falsehood } from '../falsehood.ts'
import type { DatasetHeader, RangeEntry } from '../folder/manifest.ts'
import type { Fields } from '../parquet/column-rows.ts'
import { type DatasetTable, numberColumn } from '../tables.ts'
import { isPlaced, type Row, readRows, type TableSource } from './table-rows.ts'

/** The rows of a block in each table that is stored; undefined for tables that cannot be joined. */
export interface StoredBlock {
  readonly number: bigint
  readonly blocks?: readonly Fields[]
  readonly transactions?: readonly Fields[]
  readonly receipts?: readonly Fields[]
  readonly logs?: readonly Fields[]
  readonly withdrawals?: readonly Fields[]
}

/** More rows than a block can have in a table: those of a block are in memory together. */
const MOST_ROWS = 1024 * 1024

/** The name of each table's file in a range. */
export type FileNames = Readonly<Partial<Record<DatasetTable, string>>>

export function fileNamesOf({ tables }: DatasetHeader, { files }: RangeEntry): FileNames {
  return Object.fromEntries(tables.map((table, i) => [table, files[i]?.name]))
}

/**
 * Reads the files of a range together, and joins their rows block by block, in bounded memory. The
 * rows of each table must be in the order of their blocks, and of blocks of the range. A table
 * whose rows do not say their block is read to its end first. Throws `IntegrityError`.
 */
export async function* joinBlocks(
  dir: string,
  header: DatasetHeader,
  range: RangeEntry,
  { onMisfit, mostRows = MOST_ROWS }: Pick<TableSource, 'onMisfit'> & { readonly mostRows?: number } = {},
): AsyncGenerator<StoredBlock> {
  const cursors: [DatasetTable, Cursor][] = []
  try {
    for (const [i, table] of header.tables.entries()) {
      const file = range.files[i] as RangeEntry['files'][number]
      const rows = readRows({ dir, header, range, table, file, onMisfit })
      if (isPlaced(header, table)) cursors.push([table, new Cursor(table, file.name, rows, mostRows)])
      else for await (const _ of rows);
    }
    for (let number = BigInt(range.from); number <= BigInt(range.to); number++) {
      const block: { number: bigint } & Partial<Record<DatasetTable, Fields[]>> = { number }
      for (const [table, cursor] of cursors) block[table] = await cursor.take(number)
      yield block
    }
    for (const [, cursor] of cursors) await cursor.end(BigInt(range.to))
  } finally {
    for (const [, cursor] of cursors) await cursor.close()
  }
}

/** Takes rows block by block. */
class Cursor {
  readonly #table: DatasetTable
  readonly #file: string
  readonly #rows: AsyncGenerator<readonly Row[]>
  readonly #most: number
  #some: readonly Row[] = []
  #next = 0
  /** Rows before `#some`. */
  #before = 0

  constructor(table: DatasetTable, file: string, rows: AsyncGenerator<readonly Row[]>, most: number) {
    this.#table = table
    this.#file = file
    this.#rows = rows
    this.#most = most
  }

  /** The rows of a block. Those of earlier ones must have been taken. */
  async take(number: bigint): Promise<Fields[]> {
    const taken: Fields[] = []
    for (;;) {
      const row = this.#some[this.#next]
      if (row === undefined) {
        if (!(await this.#more())) return taken
      } else if (row.number === number) {
        if (taken.length === this.#most) throw falsehood({ file: this.#file, block: number }, 'rows', plain(`at most ${this.#most} rows`), plain('more'))
        taken.push(row.fields)
        this.#next++
      } else if (row.number > number) return taken
      else throw this.#misplaced(number, row.number, `at least ${number}, as the rows before it`)
    }
  }

  /** Throws `IntegrityError` if there are more rows. */
  async end(last: bigint): Promise<void> {
    while (this.#some[this.#next] === undefined) if (!(await this.#more())) return
    throw this.#misplaced(last, (this.#some[this.#next] as Row).number, `at most ${last}, the last block of the file`)
  }

  async close(): Promise<void> {
    await this.#rows.return(undefined)
  }

  async #more(): Promise<boolean> {
    this.#before += this.#some.length
    const { done, value } = await this.#rows.next()
    this.#some = done ? [] : value
    this.#next = 0
    return !done
  }

  #misplaced(block: bigint, found: bigint, expected: string): Error {
    const name = numberColumn(this.#table)
    return falsehood({ file: this.#file, block }, `row ${this.#before + this.#next}: ${name}`, plain(expected), plain(`${found}`))
  }
}
