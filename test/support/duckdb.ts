import { DuckDBInstance } from '@duckdb/node-api'

/** The rows of a query by DuckDB, in this process: of a database, or of what it names itself. */
export async function query(sql: string, database?: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(database)
  const connection = await instance.connect()
  try {
    return (await connection.runAndReadAll(sql)).getRowObjectsJson()
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}
