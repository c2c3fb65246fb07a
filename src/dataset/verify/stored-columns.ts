import type { DatasetHeader } from '../folder/manifest.ts'
import { type DatasetTable, tables } from '../tables.ts'

type Stored = Pick<DatasetHeader, 'tables' | 'columns'>

/** Whether a dataset stores a column, as `table.column`. Of NDJSON, each field is stored. */
export function storesColumn({ tables: stored, columns }: Stored, column: string): boolean {
  const [table, name] = column.split('.') as [DatasetTable, string]
  return stored.includes(table) && (columns === null || (columns[table] ?? []).includes(name))
}

/** The columns of a table that are not stored. None for NDJSON. */
export function absentColumns(dataset: Stored, table: DatasetTable): readonly string[] {
  if (dataset.columns === null) return []
  return tables[table].map(({ name }) => name).filter((name) => !storesColumn(dataset, `${table}.${name}`))
}
