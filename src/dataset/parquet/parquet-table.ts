import type { CutBlock, CutTable, Wanted } from '../rows/cut-block.ts'
import type { TableFile } from '../rows/table-file.ts'
import { unescaped } from '../rows/usual-spelling.ts'
import { type Column, type DatasetTable, fieldsElsewhere, tables } from '../tables.ts'
import { isHex } from './hex-values.ts'
import { ParquetColumn } from './parquet-column.ts'
import { type Compression, ParquetFile } from './parquet-file.ts'
import type { ParquetLibrary } from './parquet-form.ts'

/** A row group ends after the block with which it reaches this size, in bytes of values. */
const GROUP_BYTES = 16 * 1024 * 1024
/** And after this many rows, which is what DuckDB reads at a time. */
const GROUP_ROWS = 122_880

const SMALL_N = 0x6e
const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

/** Most topics of a log. */
const TOPICS = 4

/** What to find in the rows of a table for these columns. */
export function wantedForColumns(table: DatasetTable, names: readonly string[]): Wanted {
  const columns = chosen(table, names)
  const fieldsOf = (of: readonly Column[]) => of.flatMap(({ source }) => (source.from === 'field' ? [source.field] : []))
  // All known fields are found, so that the others are those for `extra`.
  const others = columns.some(({ source }) => source.from === 'extra')
  return { fields: [...new Set(others ? [...fieldsOf(tables[table]), ...fieldsElsewhere[table]] : fieldsOf(columns))], others, apart: [] }
}

function chosen(table: DatasetTable, names: readonly string[]): readonly Column[] {
  return tables[table].filter(({ name }) => names.includes(name))
}

/** A value that its column cannot hold. */
interface Misfit {
  readonly row: number
  readonly field: string
  readonly from: number
  readonly to: number
}

/** Creates the file of a table with these columns. */
export async function createParquet(
  library: ParquetLibrary,
  dir: string,
  name: string,
  { table, names, compression }: { readonly table: DatasetTable; readonly names: readonly string[]; readonly compression: Compression },
): Promise<TableFile> {
  const file = await ParquetFile.create(library, dir, name, compression)
  const rows = new TableColumns(table, chosen(table, names))

  return {
    add(block) {
      const part = block.tables[table]
      if (part === undefined || part.rows.count === 0) return undefined
      rows.add(block, part)
      return rows.isFull ? writeGroup() : undefined
    },
    async finish() {
      if (rows.count > 0) await writeGroup()
      return { entry: await file.finish(rows.columns), nulls: rows.nulls }
    },
    publish: () => file.publish(),
    abandon: () => file.abandon(),
  }

  async function writeGroup(): Promise<void> {
    await file.writeGroup(rows.columns)
    rows.clear()
  }
}

/** Fills the columns of a table from the rows of blocks. */
class TableColumns {
  readonly columns: readonly ParquetColumn[]
  readonly nulls: Record<string, number> = {}
  readonly #table: DatasetTable
  readonly #sources: readonly Column[]
  #misfits: Misfit[] = []
  /** Starts and ends of the topics of each log of a block; -1 where it has no more. */
  #topics = new Int32Array(2 * TOPICS * 256)
  /** Where they are, for the logs of the block that had them with escapes. */
  readonly #unescaped = new Map<number, Buffer>()

  constructor(table: DatasetTable, sources: readonly Column[]) {
    this.#table = table
    this.#sources = sources
    this.columns = sources.map(({ name, type }) => new ParquetColumn(name, type))
  }

  get count(): number {
    return this.columns[0]?.rows ?? 0
  }

  get isFull(): boolean {
    if (this.count >= GROUP_ROWS) return true
    let size = 0
    for (const column of this.columns) size += column.size
    return size >= GROUP_BYTES
  }

  clear(): void {
    for (const column of this.columns) column.clear()
  }

  /** Adds the rows of a block, column by column. */
  add(block: CutBlock, part: CutTable): void {
    this.#misfits = []
    if (this.#table === 'logs') this.#findTopics(part)
    for (const [i, column] of this.columns.entries()) {
      const from = this.#sources[i] as Column
      const { source } = from
      if (source.from === 'block') this.#addOfBlock(column, block, source.field, part.rows.count)
      else if (source.from === 'transactionCount') column.addNumber(block.transactionCount)
      else if (source.from === 'extra') this.#addExtra(column, part)
      else if (source.item !== undefined) this.#addTopics(column, part, source.item)
      else this.#addField(column, part, from, source.field)
    }
  }

  #addOfBlock(column: ParquetColumn, block: CutBlock, field: 'number' | 'hash' | 'timestamp', rows: number): void {
    const value = field === 'number' ? `0x${block.number.toString(16)}` : block[field]
    const json = Buffer.from(value === undefined ? '' : `"${value}"`)
    if (!column.add(json, 0, json.length)) column.addNull()
    column.repeat(rows - 1)
  }

  #addField(column: ParquetColumn, { bytes, rows }: CutTable, { name, isCopy = false }: Column, field: string): void {
    const index = rows.names.indexOf(field)
    for (let row = 0; row < rows.count; row++) {
      const from = rows.from(row, index)
      if (from < 0 || bytes[from] === SMALL_N) column.addNull()
      else if (!column.add(bytes, from, rows.to(row, index))) {
        column.addNull()
        if (column.type === 'decimal') this.#countNull(name)
        if (!isCopy) this.#misfits.push({ row, field, from, to: rows.to(row, index) })
      }
    }
  }

  #countNull(name: string): void {
    const key = `${this.#table}.${name}`
    this.nulls[key] = (this.nulls[key] ?? 0) + 1
  }

  /**
   * Finds the topics of each log. Unless they are a list of at most four strings, all are misfits.
   */
  #findTopics({ bytes, rows }: CutTable): void {
    const field = rows.names.indexOf('topics')
    this.#unescaped.clear()
    if (field < 0) return
    const width = 2 * TOPICS
    if (this.#topics.length < rows.count * width) this.#topics = new Int32Array(2 * rows.count * width)
    this.#topics.fill(-1, 0, rows.count * width)
    for (let row = 0; row < rows.count; row++) {
      const [from, to] = [rows.from(row, field), rows.to(row, field)]
      if (from < 0 || bytes[from] === SMALL_N) continue
      if (this.#splitTopics(bytes, from, to, row * width)) continue
      const usual = unescaped(bytes, from, to)
      if (usual !== undefined && this.#splitTopics(usual, 0, usual.length, row * width)) {
        this.#unescaped.set(row, usual)
        continue
      }
      this.#topics.fill(-1, row * width, (row + 1) * width)
      this.#misfits.push({ row, field: 'topics', from, to })
    }
  }

  #splitTopics(bytes: Buffer, from: number, to: number, at: number): boolean {
    if (bytes[from] !== OPEN_BRACKET) return false
    if (to === from + 2) return true
    let i = from + 1
    for (let topic = 0; topic < TOPICS; topic++) {
      // 32 bytes in hex, with quotes and 0x.
      const end = i + 68
      if (bytes[i] !== QUOTE || bytes[end - 1] !== QUOTE || !isHex(bytes, i + 1, end - 1)) return false
      this.#topics[at + 2 * topic] = i
      this.#topics[at + 2 * topic + 1] = end
      if (bytes[end] === CLOSE_BRACKET) return end === to - 1
      if (bytes[end] !== COMMA) return false
      i = end + 1
    }
    return false
  }

  #addTopics(column: ParquetColumn, { bytes, rows }: CutTable, item: number): void {
    for (let row = 0; row < rows.count; row++) {
      const at = 2 * (TOPICS * row + item)
      const from = this.#topics[at] as number
      const all = this.#unescaped.size === 0 ? bytes : (this.#unescaped.get(row) ?? bytes)
      if (from < 0 || !column.add(all, from, this.#topics[at + 1] as number)) column.addNull()
    }
  }

  /** The fields of each row that no other column holds, as an object. */
  #addExtra(column: ParquetColumn, { bytes, rows }: CutTable): void {
    const { others } = rows
    if (others.length === 0 && this.#misfits.length === 0) {
      for (let row = 0; row < rows.count; row++) column.addNull()
      return
    }
    const fields: string[][] = []
    for (let i = 0; i < others.length; i += 3) listOf(others[i] as number).push(bytes.toString('utf8', others[i + 1], others[i + 2]))
    for (const { row, field, from, to } of this.#misfits) listOf(row).push(`${JSON.stringify(field)}:${bytes.toString('utf8', from, to)}`)
    for (let row = 0; row < rows.count; row++) {
      const own = fields[row]
      const json = own && Buffer.from(`{${own.join(',')}}`)
      if (json === undefined) column.addNull()
      else column.add(json, 0, json.length)
    }

    function listOf(row: number): string[] {
      fields[row] ??= []
      return fields[row] as string[]
    }
  }
}
