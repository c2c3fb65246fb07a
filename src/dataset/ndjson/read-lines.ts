import { constants } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline, type Readable, type Transform } from 'node:stream'
import zlib from 'node:zlib'
import { plain } from '../../verify/mismatch.ts'
import { falsehood } from '../falsehood.ts'
import { cannotRead } from '../folder/disk.ts'
import type { DatasetFormat } from '../folder/manifest.ts'

const NEWLINE = 0x0a

/** Bytes that are read at a time. */
const PIECE = 256 * 1024

/**
 * The longest line, in bytes: Node.js has no longer strings. A few compressed bytes may claim
 * gigabytes.
 */
const LONGEST = constants.MAX_STRING_LENGTH

const decompress: Readonly<Partial<Record<DatasetFormat, () => Transform>>> = {
  'ndjson.gz': () => zlib.createGunzip(),
  'ndjson.zst': () => (zlib as unknown as { createZstdDecompress(): Transform }).createZstdDecompress(),
}

/**
 * The lines of a file without their ends, some at a time. Throws `IntegrityError` for a file that
 * does not end with a line, has one of more than `longest` bytes, or cannot be decompressed to its
 * end.
 */
export async function* readLines(dir: string, file: string, format: DatasetFormat, longest = LONGEST): AsyncGenerator<readonly Buffer[]> {
  let rest: Buffer[] = []
  let length = 0
  for await (const piece of bytesOf(dir, file, format)) {
    let end = piece.indexOf(NEWLINE)
    length += end < 0 ? piece.length : end
    if (length > longest) throw falsehood({ file }, 'content', plain(`lines of at most ${longest} bytes`), plain('a longer one'))
    if (end < 0) {
      rest.push(piece)
      continue
    }
    const lines = [rest.length === 0 ? piece.subarray(0, end) : Buffer.concat([...rest, piece.subarray(0, end)])]
    let start = end + 1
    for (end = piece.indexOf(NEWLINE, start); end >= 0; end = piece.indexOf(NEWLINE, start)) {
      lines.push(piece.subarray(start, end))
      start = end + 1
    }
    rest = start < piece.length ? [piece.subarray(start)] : []
    length = piece.length - start
    yield lines
  }
  if (rest.length > 0) throw falsehood({ file }, 'content', plain('whole lines'), plain('a last line without its end'))
}

async function* bytesOf(dir: string, file: string, format: DatasetFormat): AsyncGenerator<Buffer> {
  const path = join(dir, file)
  const source: Readable = createReadStream(path, { highWaterMark: PIECE })
  const decoder = decompress[format]?.()
  if (decoder === undefined) {
    try {
      yield* source
    } catch (error) {
      throw cannotRead(path, error)
    }
    return
  }
  // Errors of either end both.
  pipeline(source, decoder, () => {})
  try {
    const { size } = await stat(path)
    yield* decoder as AsyncIterable<Buffer>
    // Node's decoders end without an error after one frame of Zstandard, or zeros behind gzip.
    // Others read on.
    const { bytesWritten } = decoder as Transform & { readonly bytesWritten: number }
    if (bytesWritten !== size)
      throw falsehood({ file }, 'content', plain('compressed lines to its end'), plain(`others behind its first ${bytesWritten} bytes`))
  } catch (error) {
    if (!/^(?:Z_|ERR_ZLIB|ZSTD)/.test((error as NodeJS.ErrnoException).code ?? '')) throw cannotRead(path, error)
    throw falsehood({ file }, 'content', plain('compressed lines'), plain((error as Error).message))
  } finally {
    source.destroy()
  }
}
