import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { plain } from '../../verify/mismatch.ts'
import { falsehood, kindOf } from '../falsehood.ts'
import { lookAt, namesIn, reading } from '../folder/disk.ts'
import { isPartial, MENDING } from '../folder/folder.ts'
import { LOCK } from '../folder/lock.ts'
import { type FileEntry, MANIFEST, type Manifest } from '../folder/manifest.ts'
import { PARTS } from '../folder/parts.ts'

/**
 * Checks that a folder holds what the manifest names, with the right sizes, and nothing else. What
 * is elsewhere, behind a symbolic link, is not in the folder. Throws `IntegrityError`.
 */
export async function checkFolder(dir: string, { tables, ranges }: Manifest): Promise<void> {
  const files = new Map(ranges.flatMap((range) => range.files.map((file) => [file.name, file])))
  for (const table of tables) {
    const there = await lookAt(join(dir, table))
    if (there !== undefined && !there.isDirectory()) throw falsehood({ file: table }, 'file', plain('a folder'), plain(kindOf(there)))
  }
  for (const { name, bytes } of files.values()) {
    const there = await lookAt(join(dir, name))
    if (!there?.isFile()) throw falsehood({ file: name }, 'file', plain('a file'), plain(there === undefined ? 'none' : kindOf(there)), `. ${MENDING}`)
    if (there.size !== bytes) throw falsehood({ file: name }, 'bytes', bytes, there.size, `. ${MENDING}`)
  }
  for (const name of await reading(dir, () => readdir(dir))) {
    if (name === LOCK || name.startsWith(`${LOCK}.`))
      throw falsehood({ file: name }, 'file', plain('none'), plain('a lock: an export is running here, or was killed: run it again first'))
    if (name === PARTS)
      throw falsehood({ file: name }, 'file', plain('none'), plain('a folder of shards, which run here or were killed: run `hexline merge` first'))
    if (name !== MANIFEST && !tables.some((table) => table === name)) throw unnamed(name)
  }
  for (const table of tables) for (const name of await namesIn(join(dir, table))) if (!files.has(`${table}/${name}`)) throw unnamed(`${table}/${name}`)
}

function unnamed(name: string): Error {
  if (isPartial(name)) return falsehood({ file: name }, 'file', plain('none'), plain('a part of a file: an export was killed: run it again first'))
  return falsehood({ file: name }, 'file', plain('none, since the manifest does not name it'), plain('a file or folder'))
}

/** Bytes that are read at a time. */
const PIECE = 1024 * 1024

/** Checks the bytes of a file. Throws `IntegrityError` unless they have the manifest's SHA-256. */
export async function checkDigest(dir: string, { name, bytes, sha256 }: FileEntry, signal: AbortSignal | undefined): Promise<void> {
  const hash = createHash('sha256')
  const path = join(dir, name)
  await reading(path, async () => {
    for await (const piece of createReadStream(path, { highWaterMark: Math.min(PIECE, bytes + 1), ...(signal && { signal }) })) hash.update(piece)
  })
  const digest = hash.digest('hex')
  if (digest !== sha256) throw falsehood({ file: name }, 'sha256', sha256, digest, `. ${MENDING}`)
}
