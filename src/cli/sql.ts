import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { Command, Option } from 'commander'
import { duckDbViews } from '../dataset/duckdb-views.ts'
import { readCheckedManifest } from '../dataset/folder/check-manifest.ts'
import { lookAt } from '../dataset/folder/disk.ts'
import { checkFiles, checkIsFolder } from '../dataset/folder/folder.ts'
import { MANIFEST, type Manifest } from '../dataset/folder/manifest.ts'
import { hasParts } from '../dataset/folder/parts.ts'
import { tableNames } from '../dataset/tables.ts'
import { OptionError } from '../errors.ts'
import { harmlessText, shellWord } from '../text.ts'
import { type Answer, ask, loadDuckDb, type Value } from './duckdb.ts'
import { csvLine } from './output/csv.ts'
import { Interrupted } from './output/failure.ts'
import { type Io, widthOf } from './output/io.ts'
import { toJson } from './output/json.ts'
import { messagesFor } from './output/messages.ts'
import { print, printText } from './output/print.ts'
import { table } from './output/table.ts'
import { count, countOf } from './output/units.ts'
import { onSignals } from './signals.ts'

interface Flags {
  readonly json?: boolean
  readonly csv?: boolean
  readonly quiet?: boolean
}

/** Rows that a table shows: its widths need all of them in memory. */
const MOST_ROWS = 1000

/** A hash or an address in quotes, as one would write it. DuckDB compares it without a warning. */
const TEXT_FOR_BYTES = /^'0x([0-9a-f]{40}|[0-9a-f]{64})'$/i
/** Comments, quoted names and texts of a query. */
const QUOTED = /--.*|\/\*[\s\S]*?\*\/|"(?:[^"]|"")*"|'(?:[^']|'')*'/g

/** `hexline sql`: queries a folder of tables in SQL. */
export function sqlCommand(io: Io): Command {
  return new Command('sql')
    .summary('query a folder of tables in SQL')
    .description(
      `Runs an SQL query on a folder that hexline export wrote, with DuckDB: its tables are the views ${tableNames.join(', ')}. ` +
        'Needs @duckdb/node-api (npm install @duckdb/node-api); without it, prints a command that runs the same query with the duckdb program, and exits with 1. ' +
        'Bytes, such as hashes and addresses, are shown as hex. A query reads the folder and nothing else, and writes nothing.',
    )
    .argument('<folder>', 'the folder')
    .argument('<query>', 'one SELECT, or - to read it from standard input')
    .option('--json', 'print one line of JSON for each row')
    .addOption(new Option('--csv', 'print CSV, with the names of the columns first').conflicts('json'))
    .option('--quiet', 'print rows and errors only')
    .addHelpText(
      'after',
      `
Examples:
  hexline sql mainnet 'select "from", count(*) from transactions group by 1 order by 2 desc limit 10'
  hexline sql mainnet --csv - < transfers.sql > transfers.csv

Views, types and example queries are in docs/datasets.md.`,
    )
    .action((folder: string, query: string, flags: Flags) => askFolder(folder, query, flags, io))
}

async function askFolder(folder: string, given: string, flags: Flags, io: Io): Promise<void> {
  const messages = messagesFor(flags, io)
  const dir = resolve(folder)
  await checkIsFolder(folder, '<folder>')
  const manifest = await openDataset(dir)
  const query = given === '-' ? await text(process.stdin) : given
  if (manifest.ranges.length === 0) messages.warn(`${dir} has no blocks yet: an export or merge into it is running, or has to be run again`)
  const literal = manifest.format === 'parquet' ? textForBytes(query) : undefined
  if (literal !== undefined)
    messages.warn(`'0x${literal.slice(0, 8)}…' is text, which never equals a hash or address in bytes: to compare with one, write unhex('${literal}')`)
  const setup = duckDbViews(dir, manifest)
  const started = performance.now()
  const stop = new AbortController()
  const release = onSignals((name, code) => stop.abort(new Interrupted(`ended by ${name}`, code)))
  try {
    const duckDb = await loadDuckDb()
    if (duckDb === undefined) {
      await printText(io.stdout, shellCommand(setup, query, flags))
      throw new Error(
        '@duckdb/node-api is not installed (npm install @duckdb/node-api); the command on standard output runs the same query with the duckdb program',
      )
    }
    await ask(duckDb, setup, query, stop.signal, async (answer) => {
      const printed = await printAnswer(answer, flags, io)
      if (printed === undefined) return
      const { rows, isCut } = printed
      const seconds = ((performance.now() - started) / 1000).toFixed(2)
      const sentence = isCut ? `the first ${count(rows)} rows; --json and --csv print all` : `${countOf(rows, 'row')} in ${seconds} s`
      messages.tell(sentence, { type: 'done', rows, isCut, seconds: Number(seconds) })
    })
  } catch (error) {
    throw withAdvice(missingTable(error, dir, manifest), query)
  } finally {
    release()
  }
}

/** The digits of the first hash or address that a query has as text. */
function textForBytes(query: string): string | undefined {
  for (const [token] of query.matchAll(QUOTED)) {
    const digits = TEXT_FOR_BYTES.exec(token)?.[1]
    if (digits !== undefined) return digits
  }
  return undefined
}

/** The manifest of a folder whose files are there. */
async function openDataset(dir: string): Promise<Manifest> {
  const hasManifest = (await lookAt(resolve(dir, MANIFEST))) !== undefined
  if (!hasManifest && (await hasParts(dir))) throw new Error(`${dir} has parts of shards that are not merged: run \`hexline merge ${shellWord(dir)}\` first`)
  if (!hasManifest) throw new OptionError('<folder>', 'a folder that hexline export wrote', `one without ${MANIFEST}`)
  const manifest = await readCheckedManifest(dir)
  await checkFiles(dir, manifest)
  return manifest
}

/**
 * Prints the rows. Returns how many, and whether there are more; undefined if the reader closed the
 * output before, as `head` does.
 */
async function printAnswer({ columns, rows }: Answer, flags: Flags, { stdout }: Io): Promise<{ readonly rows: number; readonly isCut: boolean } | undefined> {
  const names = columns.map(({ name }) => name)
  let printed = 0
  let isCut = false
  let isDone = false
  await print(stdout, async (write) => {
    if (flags.json || flags.csv) {
      const lineOf = flags.csv
        ? (row: readonly Value[]) => shownOn(stdout, csvLine(row))
        : (row: readonly Value[]) => `${toJson(Object.fromEntries(names.map((name, i) => [name, row[i]])))}\n`
      if (flags.csv) await write(shownOn(stdout, csvLine(names)))
      for await (const some of rows) {
        await write(some.map(lineOf).join(''))
        printed += some.length
      }
      isDone = true
      return
    }
    const held: (readonly Value[])[] = []
    for await (const some of rows) {
      held.push(...some)
      if (held.length > MOST_ROWS) break
    }
    isCut = held.length > MOST_ROWS
    printed = Math.min(held.length, MOST_ROWS)
    const titled = columns.map(({ name, isNumber }, i) => ({ title: name, right: isNumber, of: (row: readonly Value[]) => row[i] }))
    await write(`${table(titled, held.slice(0, MOST_ROWS), widthOf(stdout))}\n`)
    isDone = true
  })
  return isDone ? { rows: printed, isCut } : undefined
}

/** A line of CSV, which on a terminal must not control it. */
function shownOn({ isTTY }: Io['stdout'], line: string): string {
  return isTTY ? `${harmlessText(line.trimEnd())}\n` : line
}

/** Says how to calculate with `value`, which DuckDB only knows as bytes. */
function withAdvice(error: unknown, query: string): unknown {
  const what =
    error instanceof Error ? /^Binder Error: No function matches .{0,60}'(\S{1,40}?\([^']{0,80}\bBLOB\b[^']{0,80}\))'/.exec(error.message)?.[1] : undefined
  if (what === undefined || !/\bvalue\b/i.test(query)) return error
  return new Error(`there is no ${what}: value is stored as bytes; to calculate with it, write "valueDecimal"`)
}

/** Says which tables there are, where DuckDB found none of that name. */
function missingTable(error: unknown, dir: string, { tables }: Manifest): unknown {
  const name = error instanceof Error ? /^Catalog Error: Table with name (\S+) does not exist!/.exec(error.message)?.[1] : undefined
  return name === undefined ? error : new Error(`there is no table ${name}: ${dir} has ${tables.join(', ')}`)
}

/**
 * A command for a POSIX shell that runs the same query with the duckdb program. The statements
 * stand in a here-document, since they may be longer than an argument can be, and need no quotes
 * there.
 */
export function shellCommand(setup: readonly string[], query: string, { json, csv }: Pick<Flags, 'json' | 'csv'>): string {
  const statements = [...setup, query.trim().replace(/;$/, '')].map((statement) => `${statement}\n;\n`).join('')
  let end = 'SQL'
  while (statements.split('\n').includes(end)) end += '_'
  return `duckdb -bail${json ? ' -jsonlines' : csv ? ' -csv' : ''} <<'${end}'\n${statements}${end}\n`
}
