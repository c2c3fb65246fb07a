import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { IntegrityError } from '../../errors.ts'
import { plain } from '../../verify/mismatch.ts'
import { fileName, rangeFrom } from '../aligned-range.ts'
import { missingOf } from '../checks.ts'
import { falsehood, kindOf } from '../falsehood.ts'
import { type DatasetTable, tableNames, tables } from '../tables.ts'
import { lookAt, reading } from './disk.ts'
import { type DatasetHeader, formats, MANIFEST, type Manifest, ManifestFile, parseManifest, type RangeEntry, readManifest } from './manifest.ts'

const HASH = /^0x[0-9a-fA-F]{64}$/
const SHA256 = /^[0-9a-f]{64}$/

const HEADER_FIELDS = ['schema', 'chainId', 'format', 'compression', 'from', 'blocksPerFile', 'tables', 'columns', 'checks']
const RANGE_FIELDS = ['from', 'to', 'parentHash', 'firstHash', 'lastHash', 'files', 'checks', 'nulls', 'tool']
const FILE_FIELDS = ['name', 'rows', 'bytes', 'sha256']

/** The checked manifest of a folder; undefined if it has none. */
export async function findManifest(dir: string): Promise<Manifest | undefined> {
  // Its own digest first, which tells damage from what was never written by hexline.
  return (await readManifest(dir)) && (await readCheckedManifest(dir))
}

/**
 * The manifest of a folder. Checks its own digest, the form of each field, that the ranges tile,
 * and the names of the files. Throws `IntegrityError`; and an `Error` for a manifest of another
 * version.
 */
export async function readCheckedManifest(dir: string): Promise<Manifest> {
  const path = join(dir, MANIFEST)
  const there = await lookAt(path)
  if (there === undefined) throw falsehood({ file: MANIFEST }, 'file', plain('a file'), plain('none'), `; is ${dir} a folder that hexline export wrote?`)
  if (!there.isFile()) throw falsehood({ file: MANIFEST }, 'file', plain('a file'), plain(kindOf(there)))
  const text = await reading(path, () => readFile(path, 'utf8'))
  const manifest = parsed(text)
  checkHeader(manifest)
  manifest.ranges.forEach((range, i) => {
    checkRange(manifest, range, i)
  })
  // No field is written twice, or in a form that a reader of JSON would not expect.
  if (new ManifestFile(dir, manifest).text !== text) throw wrong('text', 'the text that its values make', 'another')
  return manifest
}

function parsed(text: string): Manifest {
  try {
    return parseManifest(text, MANIFEST, '')
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error
    throw wrong('text', 'JSON of a manifest', error.message)
  }
}

function wrong(field: string, expected: string, found: unknown): IntegrityError {
  return falsehood({ file: MANIFEST }, field, plain(expected), typeof found === 'string' ? plain(found) : found)
}

function check(isRight: boolean, field: string, expected: string, found: unknown): asserts isRight {
  if (!isRight) throw wrong(field, expected, found)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Not `RegExp.test` alone, which makes a text of anything. */
function isText(value: unknown, form: RegExp): boolean {
  return typeof value === 'string' && form.test(value)
}

/** Checks an object of counts. */
function checkCounts(field: string, counts: unknown, most: number): void {
  check(isRecord(counts), field, 'an object', counts)
  for (const [name, count] of Object.entries(counts)) check(isWhole(count, 1) && count <= most, `${field}.${name}`, `a number from 1 to ${most}`, count)
}

/** Whether this is `table.column` of a stored decimal. */
function isDecimal({ columns }: DatasetHeader, path: string): boolean {
  const [table, name] = path.split('.') as [DatasetTable, string]
  return columns?.[table]?.includes(name) === true && path === `${table}.${name}` && tables[table].some((each) => each.name === name && each.type === 'decimal')
}

function checkKeys(field: string, value: unknown, known: readonly string[]): void {
  const keys = isRecord(value) ? Object.keys(value) : []
  check(isRecord(value) && keys.length === known.length && known.every((key) => keys.includes(key)), field, `the fields ${known.join(', ')}`, keys.join(', '))
}

function isWhole(value: unknown, least: number): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= least
}

function checkHeader(manifest: Manifest): void {
  checkKeys('manifest', manifest, [...HEADER_FIELDS, 'ranges'])
  const { chainId, format, compression, from, blocksPerFile, tables: stored, columns, checks, ranges } = manifest
  check(isWhole(chainId, 0), 'chainId', 'a whole number', chainId)
  check(formats.includes(format), 'format', formats.join(', '), format)
  const isParquet = format === 'parquet'
  check(
    isParquet ? compression === 'zstd' || compression === 'snappy' : compression === null,
    'compression',
    isParquet ? 'zstd or snappy' : 'null',
    compression,
  )
  check(isWhole(from, 0), 'from', 'a whole number', from)
  check(isWhole(blocksPerFile, 1), 'blocksPerFile', 'a whole number', blocksPerFile)
  check(isSome(stored, tableNames), 'tables', `some of ${tableNames.join(', ')}`, stored)
  check(isParquet === (columns !== null), 'columns', isParquet ? 'an object' : 'null', columns)
  check(Array.isArray(ranges), 'ranges', 'an array', ranges)
  if (columns !== null) checkKeys('columns', columns, stored)
  for (const [table, names] of Object.entries(columns ?? {})) {
    const known = tables[table as DatasetTable].map(({ name }) => name)
    check(isSome(names, known), `columns.${table}`, 'columns of the table, in their order', names)
  }
  const missing = missingOf({ tables: stored, columns })
  checkKeys('checks', checks, Object.keys(missing))
  for (const [name, lack] of Object.entries(missing))
    check(JSON.stringify(checks[name]) === JSON.stringify(lack), `checks.${name}`, `[${lack.join(', ')}], as the columns make it`, checks[name])
}

/** Whether these are one or more of those names, in their order. */
function isSome(names: unknown, known: readonly string[]): boolean {
  return Array.isArray(names) && names.length > 0 && names.join() === known.filter((name) => names.includes(name)).join()
}

function checkRange(manifest: DatasetHeader & { readonly ranges: readonly RangeEntry[] }, range: RangeEntry, i: number): void {
  const at = `ranges[${i}]`
  checkKeys(at, range, RANGE_FIELDS)
  const { from, to, parentHash, firstHash, lastHash, files, checks, nulls, tool } = range
  const last = manifest.ranges[i - 1]
  const start = last === undefined ? manifest.from : last.to + 1
  check(from === start, `${at}.from`, `${start}, so that no block is missing or comes twice`, from)
  const end = rangeFrom(from, Number.MAX_SAFE_INTEGER, manifest.blocksPerFile).to
  check(isWhole(to, from) && to <= end, `${at}.to`, `a number from ${from} to ${end}`, to)
  for (const [name, hash] of Object.entries({ parentHash, firstHash, lastHash })) check(isText(hash, HASH), `${at}.${name}`, 'a hash of 32 bytes', hash)
  if (last !== undefined) check(parentHash === last.lastHash, `${at}.parentHash`, `${last.lastHash}, the last hash of the range before it`, parentHash)
  if (from === to) check(firstHash === lastHash, `${at}.lastHash`, `${firstHash}, the hash of the only block`, lastHash)
  check(Array.isArray(files) && files.length === manifest.tables.length, `${at}.files`, `${manifest.tables.length} files`, files)
  const blocks = to - from + 1
  for (const [j, table] of manifest.tables.entries()) {
    const file = files[j] as RangeEntry['files'][number]
    const path = `${at}.files[${j}]`
    checkKeys(path, file, FILE_FIELDS)
    const name = fileName(table, range, manifest.format)
    check(file.name === name, `${path}.name`, name, file.name)
    check(isWhole(file.rows, 0), `${path}.rows`, 'a whole number', file.rows)
    check(isWhole(file.bytes, 0), `${path}.bytes`, 'a whole number', file.bytes)
    check(isText(file.sha256, SHA256), `${path}.sha256`, 'a SHA-256', file.sha256)
    if (table === 'blocks') check(file.rows === blocks, `${path}.rows`, `${blocks}, one for each block`, file.rows)
  }
  checkKeys(`${at}.checks`, checks, ['made', 'skipped'])
  checkCounts(`${at}.checks.made`, checks.made, blocks)
  check(isRecord(checks.skipped), `${at}.checks.skipped`, 'an object', checks.skipped)
  for (const [name, reasons] of Object.entries(checks.skipped)) checkCounts(`${at}.checks.skipped.${name}`, reasons, blocks)
  checkCounts(`${at}.nulls`, nulls, Number.MAX_SAFE_INTEGER)
  for (const name of Object.keys(nulls)) check(isDecimal(manifest, name), `${at}.nulls.${name}`, 'a column of decimals', 'another')
  check(typeof tool === 'string', `${at}.tool`, 'a version', tool)
}
