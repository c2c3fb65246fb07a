import { createReadStream } from 'node:fs'
import { link, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { falsehood } from '../falsehood.ts'
import { DataFile } from './data-file.ts'
import { writing } from './disk.ts'
import { MENDING } from './folder.ts'
import type { FileEntry } from './manifest.ts'

/** Bytes that are copied at a time. */
const PIECE = 1024 * 1024

/**
 * Puts a file of one folder into another, under the same name: a second name of the same file, or a
 * copy on another file system. What an earlier run has left at its place is replaced. Throws
 * `IntegrityError` if what it copies has another digest.
 */
export async function placeFile(from: string, to: string, file: FileEntry): Promise<void> {
  const [source, target] = [join(from, file.name), join(to, file.name)]
  const isLinked = await writing(target, async () => {
    await rm(target, { force: true })
    return await tryLink(source, target)
  })
  if (!isLinked) await copy(from, to, file)
}

async function tryLink(source: string, target: string): Promise<boolean> {
  try {
    await link(source, target)
    return true
  } catch (error) {
    if (WITHOUT_LINKS.includes((error as NodeJS.ErrnoException).code)) return false
    throw error
  }
}

/** The errors of `link` to another file system, and where there are no hard links or no more. */
const WITHOUT_LINKS: readonly unknown[] = ['EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']

async function copy(from: string, to: string, { name, rows, sha256 }: FileEntry): Promise<void> {
  const file = await DataFile.create(to, name)
  try {
    for await (const piece of createReadStream(join(from, name), { highWaterMark: PIECE })) await file.write(piece)
    const copied = await file.finish(rows)
    if (copied.sha256 !== sha256) throw falsehood({ file: join(from, name) }, 'sha256', sha256, copied.sha256, `. ${MENDING}`)
    await file.publish()
  } catch (error) {
    await file.abandon()
    throw error
  }
}
