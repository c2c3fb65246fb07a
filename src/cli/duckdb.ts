import { existsSync, realpathSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { DuckDBConnection, DuckDBResult, DuckDBValueConverter, Json } from '@duckdb/node-api'
import { OptionError } from '../errors.ts'
import { excerpt } from '../text.ts'

/** The module of DuckDB. */
export type DuckDb = typeof import('@duckdb/node-api')

/**
 * Loads `@duckdb/node-api`, an optional peer dependency, from beside the program or the working
 * directory. Undefined if it is not installed. Throws if it is, but cannot be loaded.
 */
export async function loadDuckDb(from: readonly string[] = places()): Promise<DuckDb | undefined> {
  const path = from.map(resolved).find((each) => each !== undefined)
  if (path === undefined) return undefined
  try {
    return (await import(pathToFileURL(path).href)) as DuckDb
  } catch (error) {
    throw new Error(`@duckdb/node-api cannot be loaded: ${excerpt((error as Error).message)}`)
  }
}

/** An installed command is started through a link. */
function places(): string[] {
  const [, program] = process.argv
  const folder = join(process.cwd(), 'package.json')
  return program !== undefined && existsSync(program) ? [realpathSync(program), folder] : [folder]
}

function resolved(from: string): string | undefined {
  try {
    return createRequire(from).resolve('@duckdb/node-api')
  } catch {
    return undefined
  }
}

/** A value of an answer: text for bytes, times, and numbers that JSON readers may round. */
export type Value = Json

interface AnswerColumn {
  readonly name: string
  readonly isNumber: boolean
}

/** What a query returns, some rows at a time. */
export interface Answer {
  readonly columns: readonly AnswerColumn[]
  readonly rows: AsyncIterable<readonly (readonly Value[])[]>
}

/** Interval between two interrupts, in ms. */
const INTERRUPT_EVERY = 20

/**
 * Runs one query in memory after the statements of `setup`, and gives the answer to `take`, which
 * reads as much of it as it needs. Rejects with `OptionError` for anything but one query that
 * reads, with the signal's reason, and with an `Error` of DuckDB's own message, shortened.
 */
export async function ask(
  duckDb: DuckDb,
  setup: readonly string[],
  query: string,
  signal: AbortSignal,
  take: (answer: Answer) => Promise<void>,
): Promise<void> {
  signal.throwIfAborted()
  // Where DuckDB would put what does not fit into memory: the working directory may be a dataset.
  const spill = join(tmpdir(), `hexline-sql-${process.pid}`)
  const instance = await duckDb.DuckDBInstance.create(':memory:', { temp_directory: spill })
  const connection = await instance.connect()
  // Again and again: DuckDB forgets an interrupt that comes before its work has begun.
  let interrupts: NodeJS.Timeout | undefined
  const interrupt = () => {
    interrupts = setInterval(() => connection.interrupt(), INTERRUPT_EVERY)
  }
  signal.addEventListener('abort', interrupt)
  try {
    for (const statement of setup) await connection.run(statement)
    await checkReads(duckDb, connection, query)
    signal.throwIfAborted()
    // Not `stream`: there a failure after the first rows looks like the end of them.
    const result = await connection.run(query)
    await take({ columns: columnsOf(duckDb, result), rows: result.yieldConvertedRows(converterOf(duckDb)) })
  } catch (error) {
    throw signal.aborted ? signal.reason : inOneLine(error)
  } finally {
    signal.removeEventListener('abort', interrupt)
    clearInterval(interrupts)
    connection.closeSync()
    instance.closeSync()
    await rm(spill, { recursive: true, force: true })
  }
}

/**
 * No setting keeps `COPY` from writing to files that may be read, so nothing but a query is run.
 */
async function checkReads({ StatementType }: DuckDb, connection: DuckDBConnection, query: string): Promise<void> {
  // One more than there are: DuckDB does not accept a text without statements.
  const statements = await connection.extractStatements(`${query}\n;SELECT 0`)
  const queries = statements.count - 1
  if (queries !== 1) throw new OptionError('<query>', 'one query', queries === 0 ? 'none' : `${queries}`)
  const { statementType } = await statements.prepare(0)
  if (statementType !== StatementType.SELECT) throw new OptionError('<query>', 'a query that only reads', `a statement of type ${StatementType[statementType]}`)
}

function columnsOf({ DuckDBTypeId: { TINYINT, SMALLINT, INTEGER, BIGINT, HUGEINT, ...ids } }: DuckDb, result: DuckDBResult): AnswerColumn[] {
  const { UTINYINT, USMALLINT, UINTEGER, UBIGINT, UHUGEINT, FLOAT, DOUBLE, DECIMAL } = ids
  const numbers: readonly number[] = [
    ...[TINYINT, SMALLINT, INTEGER, BIGINT, HUGEINT],
    ...[UTINYINT, USMALLINT, UINTEGER, UBIGINT, UHUGEINT, FLOAT, DOUBLE, DECIMAL],
  ]
  return result.deduplicatedColumnNames().map((name, i) => ({ name, isNumber: numbers.includes(result.columnTypeId(i)) }))
}

/** Bytes become hex, and times are those of UTC; the rest is DuckDB's own text or JSON. */
function converterOf({ DuckDBBlobValue, DuckDBTimestampTZValue, DuckDBTimestampValue, JsonDuckDBValueConverter }: DuckDb): DuckDBValueConverter<Json> {
  return (value, type, self) => {
    if (value instanceof DuckDBBlobValue) return `0x${Buffer.from(value.bytes).toString('hex')}`
    if (value instanceof DuckDBTimestampTZValue && value.isFinite) return `${new DuckDBTimestampValue(value.micros)}+00`
    return JsonDuckDBValueConverter(value, type, self)
  }
}

/**
 * DuckDB's message, with the number of the line instead of an excerpt of the query: none for the
 * first.
 */
function inOneLine(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof OptionError) return error
  const [said = '', place = ''] = error.message.replace(/^Failed to extract statements: /, '').split('\n\nLINE ')
  const line = Number.parseInt(place, 10)
  return new Error(`${excerpt(said)}${line > 1 ? ` (line ${line} of the query)` : ''}`)
}
