import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { link, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { openNew, PARTIAL, writing } from './disk.ts'
import { falsehood } from './falsehood.ts'
import type { FileEntry } from './manifest.ts'

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
  if (!isLinked) await copy(source, target, file)
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

async function copy(source: string, target: string, { name, sha256 }: FileEntry): Promise<void> {
  const aside = `${target}.${process.pid}.${PARTIAL}`
  const hash = createHash('sha256')
  async function* hashed(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      hash.update(piece)
      yield piece
    }
  }
  try {
    await writing(target, async () => {
      const handle = await openNew(aside)
      try {
        await pipeline(createReadStream(source), hashed, handle.createWriteStream({ autoClose: false, flush: true }))
      } finally {
        await handle.close()
      }
    })
    const digest = hash.digest('hex')
    if (digest !== sha256) throw falsehood({ file: name }, 'sha256', sha256, digest)
    await writing(target, () => rename(aside, target))
  } catch (error) {
    await rm(aside, { force: true }).catch(() => {})
    throw error
  }
}
