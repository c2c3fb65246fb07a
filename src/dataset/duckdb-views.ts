import { join } from 'node:path'
import type { Manifest } from './folder/manifest.ts'
import { type Column, type ColumnType, type DatasetTable, fieldsElsewhere, tables } from './tables.ts'

/*
 * A dataset as DuckDB sees it: a view of each table over the files that the manifest names, and
 * settings after which nothing else can be read.
 */

/** The type of a Parquet column in DuckDB. */
const parquetTypes: Readonly<Record<ColumnType, string>> = {
  bytes32: 'BLOB',
  bytes20: 'BLOB',
  bytes256: 'BLOB',
  bytes8: 'BLOB',
  bytes: 'BLOB',
  uint256: 'BLOB',
  decimal: 'DECIMAL(38,0)',
  int32: 'INTEGER',
  int64: 'BIGINT',
  boolean: 'BOOLEAN',
  timestamp: 'TIMESTAMP WITH TIME ZONE',
  json: 'VARCHAR',
}

/** A column of a view: its name and its type in DuckDB. */
export type ViewColumn = readonly [name: string, type: string]

/**
 * The statements that make the views `blocks`, `transactions` and so on, as far as the dataset has
 * these tables, and then lock the session: only the files of the manifest can be read, and no
 * setting can be changed. `dir` is an absolute path.
 */
export function duckDbViews(dir: string, manifest: Manifest): string[] {
  // A file without rows has nothing to add, and DuckDB takes no empty list.
  const files = manifest.ranges.flatMap((range) => range.files.filter(({ rows }) => rows > 0).map(({ name }) => name))
  const paths = files.map((name) => join(dir, name))
  return [
    // Days and hours are those of UTC on any machine.
    `SET TimeZone = 'UTC'`,
    ...manifest.tables.map((table) => {
      const own = files.filter((name) => name.startsWith(`${table}/`)).map((name) => join(dir, name))
      return `CREATE VIEW ${table} AS ${selectOf(own, manifest, table)}`
    }),
    // DuckDB looks up a pattern as it is written, and then what it has found. Not the folder: a
    // statement could make files in it while it is prepared.
    `SET allowed_paths = ${list([...new Set(paths.flatMap((path) => [path, pattern(path)]))])}`,
    'SET enable_external_access = false',
    'SET lock_configuration = true',
  ]
}

function selectOf(paths: readonly string[], manifest: Manifest, table: DatasetTable): string {
  const columns = viewColumns(manifest, table)
  if (paths.length === 0) return `SELECT ${columns.map(([name, type]) => `NULL::${type} AS ${quoted(name)}`).join(', ')} WHERE false`
  const files = list(paths.map(pattern))
  if (manifest.format === 'parquet') return `SELECT * FROM read_parquet(${files}, hive_partitioning = false)`
  const fields = columns.map(([name, type]) => `${quoted(name)}: ${literal(type)}`).join(', ')
  return `SELECT * FROM read_json(${files}, format = 'newline_delimited', compression = ${literal(compressions[manifest.format])}, columns = {${fields}}, hive_partitioning = false)`
}

const compressions = { ndjson: 'uncompressed', 'ndjson.gz': 'gzip', 'ndjson.zst': 'zstd' } as const

/**
 * The columns of a view. Those of NDJSON have the names of the node's fields, and its values:
 * quantities, hashes and bytes are text.
 */
export function viewColumns({ columns, tables: stored }: Pick<Manifest, 'columns' | 'tables'>, table: DatasetTable): ViewColumn[] {
  if (columns !== null) {
    const names = columns[table] ?? []
    return tables[table].filter(({ name }) => names.includes(name)).map(({ name, type }) => [name, parquetTypes[type]])
  }
  const fields = new Map(tables[table].flatMap(fieldOf))
  for (const name of fieldsElsewhere[table]) if (!fields.has(name) && !stored.some((each) => each === name)) fields.set(name, 'JSON')
  return [...fields]
}

/** The field of a column in the node's JSON, if it has one of its own. */
function fieldOf({ name, type, source, isCopy }: Column): ViewColumn[] {
  if (isCopy || source.from === 'transactionCount' || source.from === 'extra') return []
  if (source.from === 'block') return [[name, 'VARCHAR']]
  if (source.item !== undefined) return [[source.field, 'VARCHAR[]']]
  return [[source.field, type === 'json' ? 'JSON' : type === 'boolean' ? 'BOOLEAN' : 'VARCHAR']]
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

function list(texts: readonly string[]): string {
  return `[${texts.map(literal).join(', ')}]`
}

/** The pattern of this path alone, whatever characters are in it. */
function pattern(path: string): string {
  return path.replace(/[*?[]/g, '[$&]')
}
