import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { DataFile, type Encode } from '../folder/data-file.ts'
import type { DatasetFormat } from '../folder/manifest.ts'
import type { CutBlock, CutTable, Wanted } from '../rows/cut-block.ts'
import type { TableFile } from '../rows/table-file.ts'
import { type DatasetTable, listsApart } from '../tables.ts'
import { createZstd } from '../zstd.ts'

/** Size of a piece of a file, in bytes. */
const PIECE = 1024 * 1024

const NEWLINE = 0x0a
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const COMMA = 0x2c

/** Level of gzip: higher ones cost several times as much for a few percent. */
const GZIP_LEVEL = 4

const gzip = promisify<Buffer, { level: number }, Buffer>(zlib.gzip)

/** Makes the encoder of one file. A piece without bytes is its last. */
const encoders: Readonly<Partial<Record<DatasetFormat, () => Encode>>> = {
  // Each piece is a member, without a name or time.
  'ndjson.gz': () => (piece) => gzip(piece, { level: GZIP_LEVEL }),
  'ndjson.zst': () => oneFrame((createZstd as NonNullable<typeof createZstd>)()),
}

/** One frame for the whole file: Node's own decoder stops after the first one, without an error. */
function oneFrame(stream: Transform): Encode {
  let made: Buffer[] = []
  let fail = (_: Error) => {}
  stream.on('data', (bytes: Buffer) => made.push(bytes)).on('error', (error) => fail(error))
  return (piece) =>
    new Promise((resolve, reject) => {
      const take = () => {
        resolve(Buffer.concat(made))
        made = []
      }
      fail = reject
      if (piece.length === 0) stream.once('end', take).end()
      else stream.write(piece, () => take())
    })
}

/** What to find in the rows of a table for its lines. */
export function wantedForLines(table: DatasetTable, tables: readonly DatasetTable[]): Wanted {
  return { fields: [], others: false, apart: listsApart(table, tables) }
}

/**
 * Creates the file of a table: the node's own bytes of each row, in a line, without the lists that
 * have tables of their own. A withdrawal has no block number of its own, and gets one in front.
 */
export async function createLines(dir: string, name: string, table: DatasetTable, format: DatasetFormat): Promise<TableFile> {
  const encode = encoders[format]?.()
  const file = await DataFile.create(dir, name, encode)
  const pieces = new Pieces()
  let rows = 0

  const writeOut = async () => {
    for (let piece = pieces.shift(); piece !== undefined; piece = pieces.shift()) {
      await file.write(piece)
      pieces.release(piece)
    }
  }

  return {
    add(block) {
      const part = block.tables[table]
      if (part === undefined || part.rows.count === 0) return undefined
      rows += part.rows.count
      if (table === 'withdrawals') addNumbered(pieces, part, block)
      else if (part.rows.apart.length > 0) addWithout(pieces, part)
      else addWhole(pieces, part)
      return pieces.isFull ? writeOut() : undefined
    },
    async finish() {
      pieces.end()
      await writeOut()
      // A file without members would not be valid gzip, nor one of half a frame valid Zstandard.
      if (format === 'ndjson.zst' || (format === 'ndjson.gz' && rows === 0)) await file.write(Buffer.alloc(0))
      return { entry: await file.finish(rows), nulls: {} }
    },
    publish: () => file.publish(),
    abandon: () => file.abandon(),
  }
}

/** Size of the lines of these rows in a file without compression, in bytes. */
export function lineBytes(table: DatasetTable, { rows }: CutTable, block: number): number {
  let size = 0
  for (let row = 0; row < rows.count; row++) size += rows.end(row) - rows.start(row) + 1
  // Each list goes with the comma beside it.
  for (let i = 0; i < rows.apart.length; i += 3) size -= (rows.apart[i + 2] as number) - (rows.apart[i + 1] as number) + 1
  return table === 'withdrawals' ? size + rows.count * headOf(block).length : size
}

/** Rows stand in the bytes as they stand in a file, but with commas between them. */
function addWhole(pieces: Pieces, { bytes, rows }: CutTable): void {
  let first = 0
  for (let row = 0; row < rows.count; row++) {
    // Rows of several lists, as the logs of several receipts are, have more between them.
    if (row + 1 < rows.count && rows.start(row + 1) === rows.end(row) + 1) continue
    const from = rows.start(first)
    const size = rows.end(row) - from
    const at = pieces.reserve(size + 1)
    const { buffer } = pieces
    bytes.copy(buffer, at, from, from + size)
    for (let each = first; each <= row; each++) buffer[at + rows.end(each) - from] = NEWLINE
    first = row + 1
  }
}

/** Rows without the lists that are apart. */
function addWithout(pieces: Pieces, { bytes, rows }: CutTable): void {
  const { apart } = rows
  let next = 0
  for (let row = 0; row < rows.count; row++) {
    const start = rows.start(row)
    const end = rows.end(row)
    const at = pieces.reserve(end - start + 1)
    const { buffer } = pieces
    let to = at
    buffer[to++] = OPEN_BRACE
    // What is between the lists, without the commas around it.
    let from = start + 1
    const keep = (until: number) => {
      if (until <= from) return
      if (to > at + 1) buffer[to++] = COMMA
      to += bytes.copy(buffer, to, from, until)
    }
    for (; apart[next] === row; next += 3) {
      keep((apart[next + 1] as number) - 1)
      from = (apart[next + 2] as number) + 1
    }
    keep(end - 1)
    buffer[to++] = CLOSE_BRACE
    buffer[to++] = NEWLINE
    pieces.giveBack(at + end - start + 1 - to)
  }
}

/** Rows that begin with the number of their block. */
function addNumbered(pieces: Pieces, { bytes, rows }: CutTable, { number }: CutBlock): void {
  const head = headOf(number)
  for (let row = 0; row < rows.count; row++) {
    const start = rows.start(row) + 1
    const size = rows.end(row) - start
    const at = pieces.reserve(head.length + 1 + size + 1)
    const { buffer } = pieces
    let to = at + buffer.write(head, at, 'latin1')
    if (bytes[start] !== CLOSE_BRACE) buffer[to++] = COMMA
    to += bytes.copy(buffer, to, start, start + size)
    buffer[to++] = NEWLINE
    pieces.giveBack(at + head.length + 1 + size + 1 - to)
  }
}

function headOf(block: number): string {
  return `{"blockNumber":"0x${block.toString(16)}"`
}

/** Collects lines in pieces that end between lines. */
class Pieces {
  buffer: Buffer = Buffer.allocUnsafeSlow(PIECE)
  #size = 0
  readonly #full: Buffer[] = []
  readonly #free: Buffer[] = []

  get isFull(): boolean {
    return this.#full.length > 0
  }

  /** Makes room for `size` more bytes in `buffer`. Returns where they begin. */
  reserve(size: number): number {
    if (this.#size + size > this.buffer.length) {
      this.end()
      if (size > this.buffer.length) this.buffer = Buffer.allocUnsafeSlow(size)
    }
    const at = this.#size
    this.#size += size
    return at
  }

  /** Returns the last bytes of what was reserved. */
  giveBack(size: number): void {
    this.#size -= size
  }

  /** Ends the piece. */
  end(): void {
    if (this.#size === 0) return
    this.#full.push(this.buffer.subarray(0, this.#size))
    this.buffer = this.#free.pop() ?? Buffer.allocUnsafeSlow(PIECE)
    this.#size = 0
  }

  /** The next piece to write. */
  shift(): Buffer | undefined {
    return this.#full.shift()
  }

  /** Keeps the memory of a piece that was written. */
  release({ buffer }: Buffer): void {
    if (buffer.byteLength === PIECE) this.#free.push(Buffer.from(buffer))
  }
}
