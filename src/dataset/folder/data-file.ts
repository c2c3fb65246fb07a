import { createHash } from 'node:crypto'
import { type FileHandle, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openNew, PARTIAL, writing } from './disk.ts'
import type { FileEntry } from './manifest.ts'

/** Makes the bytes of a file from a piece of it. What it returns may be the piece itself. */
export type Encode = (piece: Buffer) => Buffer | Promise<Buffer>

/** Pieces that are encoded or written at a time. */
const MOST_AT_ONCE = 2

/**
 * A file that is written under a temporary name, piece by piece, and gets its own name when
 * `publish` is called. What is written depends on the pieces alone.
 */
export class DataFile {
  readonly #dir: string
  readonly #name: string
  readonly #handle: FileHandle
  readonly #encode: Encode
  readonly #hash = createHash('sha256')
  #bytes = 0
  /** The piece that was written last; resolves when all before it are written, too. */
  #last: Promise<void> = Promise.resolve()
  readonly #open: Promise<void>[] = []

  private constructor(dir: string, name: string, handle: FileHandle, encode: Encode) {
    this.#dir = dir
    this.#name = name
    this.#handle = handle
    this.#encode = encode
  }

  static async create(dir: string, name: string, encode: Encode = (piece) => piece): Promise<DataFile> {
    const aside = asideOf(dir, name)
    return new DataFile(dir, name, await writing(aside, () => openNew(aside)), encode)
  }

  /**
   * Takes a piece, which must not be changed until the returned promise resolves. Then there is
   * room for another.
   */
  async write(piece: Buffer): Promise<void> {
    const encoded = this.#encode(piece)
    const written = this.#append(this.#last, encoded)
    this.#last = written
    // A failure is thrown by the next call.
    written.catch(() => {})
    if (encoded === piece) return await written
    this.#open.push(written)
    await encoded
    if (this.#open.length > MOST_AT_ONCE) await this.#open.shift()
  }

  async #append(before: Promise<void>, encoded: Buffer | Promise<Buffer>): Promise<void> {
    // Awaited together, so that neither rejection is unhandled.
    const [bytes] = await Promise.all([encoded, before])
    this.#hash.update(bytes)
    this.#bytes += bytes.length
    await writing(asideOf(this.#dir, this.#name), async () => {
      for (let at = 0; at < bytes.length; ) at += (await this.#handle.write(bytes, at)).bytesWritten
    })
  }

  /** Makes it durable, under its temporary name. */
  async finish(rows: number): Promise<FileEntry> {
    await this.#last
    await writing(asideOf(this.#dir, this.#name), async () => {
      await this.#handle.sync()
      await this.#handle.close()
    })
    return { name: this.#name, rows, bytes: this.#bytes, sha256: this.#hash.digest('hex') }
  }

  /** Gives it its name. */
  async publish(): Promise<void> {
    const path = join(this.#dir, this.#name)
    await writing(path, () => rename(asideOf(this.#dir, this.#name), path))
  }

  /** Removes it, whatever state it is in. */
  async abandon(): Promise<void> {
    await this.#last.catch(() => {})
    await this.#handle.close().catch(() => {})
    await rm(asideOf(this.#dir, this.#name), { force: true }).catch(() => {})
  }
}

function asideOf(dir: string, name: string): string {
  return join(dir, `${name}.${process.pid}.${PARTIAL}`)
}
