import { fileName } from './aligned-range.ts'
import { blockCutter, type Wanted } from './cut-block.ts'
import type { DatasetHeader } from './manifest.ts'
import { createLines, wantedForLines } from './ndjson-files.ts'
import type { CreateFile } from './range-files.ts'
import type { TableName } from './tables.ts'

/** How the rows of a dataset are cut out of blocks and written, in its format. */
export async function rowsOf(
  header: DatasetHeader,
  stream: { readonly full: boolean; readonly receipts: boolean },
): Promise<{ readonly cutter: ReturnType<typeof blockCutter>; createFile(dir: string): CreateFile }> {
  const { format, tables } = header
  const wantedFor = (wanted: (table: TableName) => Wanted) => Object.fromEntries(tables.map((table) => [table, wanted(table)]))
  return {
    cutter: blockCutter(
      wantedFor((table) => wantedForLines(table, tables)),
      stream,
    ),
    createFile: (dir) => (table, range) => createLines(dir, fileName(table, range, format), table, format),
  }
}
