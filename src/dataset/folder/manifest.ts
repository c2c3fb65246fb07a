import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { IntegrityError } from '../../errors.ts'
import type { Missing } from '../checks.ts'
import type { DatasetTable } from '../tables.ts'
import { lookAt, reading, replaceFile } from './disk.ts'

/*
 * manifest.json is the truth about a dataset: what it does not name does not belong to it. Each
 * range is a line of its own, and the last line is the SHA-256 of all lines before it.
 *
 * It depends on the chain and the options alone: no times, no URLs, no order of events.
 */

export const MANIFEST = 'manifest.json'

export const formats = ['ndjson', 'ndjson.gz', 'ndjson.zst', 'parquet'] as const

/** Format of the files of a dataset. */
export type DatasetFormat = (typeof formats)[number]

/** What a dataset is; a later run must have the same. */
export interface DatasetHeader {
  /** Version of this layout. */
  readonly schema: 1
  readonly chainId: number
  readonly format: DatasetFormat
  /** Compression of the pages of Parquet files; null for other formats. */
  readonly compression: 'zstd' | 'snappy' | null
  /** First block. */
  readonly from: number
  readonly blocksPerFile: number
  readonly tables: readonly DatasetTable[]
  /** The columns of each table in Parquet files, in their order; null for other formats. */
  readonly columns: Readonly<Partial<Record<DatasetTable, readonly string[]>>> | null
  /**
   * What each offline check lacks, as `table` or `table.column`: with nothing missing, it can be
   * made.
   */
  readonly checks: Readonly<Record<string, Missing>>
}

/** A file, by its path in the folder. */
export interface FileEntry {
  readonly name: string
  readonly rows: number
  readonly bytes: number
  readonly sha256: string
}

/** What was checked while the blocks of a range were exported, in blocks. */
export interface ChecksMade {
  /** Checks that passed. */
  readonly made: Readonly<Record<string, number>>
  /** Checks that could not be made, by their reasons. */
  readonly skipped: Readonly<Record<string, Readonly<Record<string, number>>>>
}

export interface RangeEntry {
  readonly from: number
  readonly to: number
  /** Hash of the block before the first one, and of the first and last one. */
  readonly parentHash: string
  readonly firstHash: string
  readonly lastHash: string
  /** In the order of `tables`. */
  readonly files: readonly FileEntry[]
  readonly checks: ChecksMade
  /** Values that a column could not hold as a number, by `table.column`. */
  readonly nulls: Readonly<Record<string, number>>
  /** Version of the hexline that wrote it. */
  readonly tool: string
}

export interface Manifest extends DatasetHeader {
  /** In order and without gaps. */
  readonly ranges: readonly RangeEntry[]
}

/** The last block; the one before the first if there is none. */
export function lastOf({ from, ranges }: Pick<Manifest, 'from' | 'ranges'>): number {
  return ranges.at(-1)?.to ?? from - 1
}

/** The manifest of a folder; undefined if it has none. Throws for one that is damaged. */
export async function readManifest(dir: string): Promise<Manifest | undefined> {
  const path = join(dir, MANIFEST)
  const there = await lookAt(path)
  if (there === undefined) return undefined
  if (!there.isFile()) throw new Error(`${path} is not a file; nothing was changed`)
  return parseManifest(await reading(path, () => readFile(path, 'utf8')), path)
}

/** What all ranges of a dataset have in common. */
export function headerOf({ ranges: _, ...header }: Manifest): DatasetHeader {
  return header
}

/**
 * Throws `IntegrityError` with `path` for a text that `ManifestFile` did not write; `note` ends its
 * message.
 */
export function parseManifest(text: string, path: string, note = '; nothing was changed'): Manifest {
  const damaged = (what: string, expected: string, found: string) =>
    new IntegrityError(`${path} is damaged: ${what}${note}`, { file: MANIFEST, field: 'sha256', expected, found })
  const at = text.lastIndexOf(DIGEST)
  const said = /^([0-9a-f]{64})"\n}\n$/.exec(at < 0 ? '' : text.slice(at + DIGEST.length))?.[1]
  if (said === undefined) throw damaged('it does not end with its own SHA-256', 'a SHA-256', 'none')
  const digest = digestOf(text.slice(0, at))
  if (digest !== said) throw damaged('its lines do not have the SHA-256 that it ends with', said, digest)
  const { hexline, sha256: _, ...manifest } = JSON.parse(text) as Manifest & { hexline: string; sha256: string }
  if (hexline !== 'dataset' || manifest.schema !== 1)
    throw new Error(`${path} has schema ${JSON.stringify(manifest.schema)}, which this version of hexline does not know: it needs a newer one`)
  return manifest
}

const DIGEST = '"sha256": "'

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Makes the text of a manifest to which ranges are added, each of which becomes a line once. */
export class ManifestFile {
  readonly #path: string
  readonly #head: string
  readonly #lines: string[]
  readonly manifest: Manifest & { readonly ranges: RangeEntry[] }

  constructor(dir: string, { ranges, ...header }: Manifest) {
    this.#path = join(dir, MANIFEST)
    this.manifest = { ...header, ranges: [...ranges] }
    const fields = Object.entries({ hexline: 'dataset', ...header }).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)},\n`)
    this.#head = `{\n${fields.join('')}"ranges": [\n`
    this.#lines = ranges.map((range) => JSON.stringify(range))
  }

  get text(): string {
    const text = `${this.#head}${this.#lines.join(',\n')}${this.#lines.length === 0 ? '' : '\n'}],\n`
    return `${text}${DIGEST}${digestOf(text)}"\n}\n`
  }

  /** Adds a range, which is on the disk with the next `write`. */
  add(range: RangeEntry): void {
    this.#lines.push(JSON.stringify(range))
    this.manifest.ranges.push(range)
  }

  write(): Promise<void> {
    return replaceFile(this.#path, this.text)
  }
}
