import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Manifest, ManifestFile, readManifest } from '../../src/dataset/folder/manifest.ts'
import type { DatasetTable } from '../../src/dataset/tables.ts'

export type Line = Record<string, unknown>

/**
 * Changes a dataset as a liar would who knows the format: the manifest gets its own digest again.
 */
export async function forgeManifest(dir: string, change: (manifest: Manifest) => Manifest): Promise<void> {
  const manifest = structuredClone((await readManifest(dir)) as Manifest)
  await writeFile(join(dir, 'manifest.json'), new ManifestFile(dir, change(manifest)).text)
}

/** Writes other bytes to the file of a table in one range, and their digest to the manifest. */
export async function forgeFile(dir: string, table: DatasetTable, bytes: Buffer, { range = 0, rows }: { range?: number; rows?: number } = {}): Promise<void> {
  const { tables, ranges } = (await readManifest(dir)) as Manifest
  const at = tables.indexOf(table)
  const file = ranges[range]?.files[at]
  if (file === undefined) throw new Error(`${table} has no file in range ${range}`)
  await writeFile(join(dir, file.name), bytes)
  const forged = { ...file, rows: rows ?? file.rows, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
  await forgeManifest(dir, (manifest) => ({
    ...manifest,
    ranges: manifest.ranges.map((each, i) => (i === range ? { ...each, files: each.files.map((old, j) => (j === at ? forged : old)) } : each)),
  }))
}

/** The same for the lines of a file of NDJSON. */
export async function forgeLines(dir: string, table: DatasetTable, change: (lines: Line[]) => Line[], range = 0): Promise<void> {
  const { tables, ranges } = (await readManifest(dir)) as Manifest
  const name = ranges[range]?.files[tables.indexOf(table)]?.name as string
  const lines = (await readFile(join(dir, name), 'utf8')).trimEnd().split('\n')
  const changed = change(lines.map((line) => JSON.parse(line)))
  await forgeFile(dir, table, Buffer.from(changed.map((line) => `${JSON.stringify(line)}\n`).join('')), { range, rows: changed.length })
}
