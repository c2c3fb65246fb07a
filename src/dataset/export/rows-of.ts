import { fileName } from '../aligned-range.ts'
import type { DatasetHeader } from '../folder/manifest.ts'
import { createLines, wantedForLines } from '../ndjson/ndjson-files.ts'
import { loadParquet } from '../parquet/parquet-form.ts'
import { createParquet, wantedForColumns } from '../parquet/parquet-table.ts'
import { blockCutter, type Wanted } from '../rows/cut-block.ts'
import type { DatasetTable } from '../tables.ts'
import type { CreateFile } from './range-files.ts'

/** How the rows of a dataset are cut out of blocks, and its files created. */
export interface RowsOf {
  readonly cutter: ReturnType<typeof blockCutter>
  readonly createFile: CreateFile
}

/** The same for a dataset in `dir`, in its format. */
export async function rowsOf(dir: string, header: DatasetHeader, stream: { readonly full: boolean; readonly receipts: boolean }): Promise<RowsOf> {
  const { format, compression, columns, tables } = header
  const cutterFor = (wanted: (table: DatasetTable) => Wanted) => blockCutter(Object.fromEntries(tables.map((table) => [table, wanted(table)])), stream)
  if (columns === null || compression === null)
    return {
      cutter: cutterFor((table) => wantedForLines(table, tables)),
      createFile: (table, range) => createLines(dir, fileName(table, range, format), table, format),
    }
  const namesOf = (table: DatasetTable) => columns[table] ?? []
  const library = await loadParquet()
  return {
    cutter: cutterFor((table) => wantedForColumns(table, namesOf(table))),
    createFile: (table, range) => createParquet(library, dir, fileName(table, range, format), { table, names: namesOf(table), compression }),
  }
}
