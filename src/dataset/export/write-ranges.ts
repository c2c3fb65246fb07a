import { join } from 'node:path'
import { rangeStream, type StreamOptions } from '../../bulk/blocks/range-stream.ts'
import type { Proof } from '../../bulk/blocks/verifying.ts'
import type { Client } from '../../client/client.ts'
import { type BlockRange, rangeFrom } from '../aligned-range.ts'
import { syncFolder } from '../folder/disk.ts'
import type { DatasetHeader, RangeEntry } from '../folder/manifest.ts'
import { addRange, NOTHING_WRITTEN, type Written } from '../folder/written.ts'
import type { CutBlock } from '../rows/cut-block.ts'
import { RangeFiles } from './range-files.ts'
import { rowsOf } from './rows-of.ts'

/** Where to write, and the callbacks during it. */
export interface WriteJob {
  /** The folder, with those of its tables. */
  readonly dir: string
  readonly header: DatasetHeader
  readonly stream: StreamOptions
  /** Called with the first block, before a file is created. */
  readonly checkFirst?: (block: CutBlock) => void
  /** Called when the files of a range are whole, before they get their names. */
  readonly beforePublish?: () => Promise<void>
  /** Called with each range whose files are durable under their names. */
  readonly onRange: (range: RangeEntry) => Promise<void>
}

/**
 * Fetches the blocks `from` to `to` and writes their files, one aligned range after another. When
 * it fails, the files of the range that it was in are removed.
 */
export async function writeRanges(client: Client, job: WriteJob, { from, to }: BlockRange): Promise<Written> {
  const { dir, header, stream, checkFirst, beforePublish, onRange } = job
  const { cutter, createFile } = await rowsOf(dir, header, stream)
  let written = NOTHING_WRITTEN
  let isFirst = true
  let files: RangeFiles | undefined
  let proof: Proof | undefined
  const onVerified = (proven: Proof) => {
    proof = proven
  }
  try {
    for await (const block of rangeStream(client, { ...stream, range: { ...stream.range, from: BigInt(from), to: BigInt(to) }, onVerified }, cutter)) {
      if (isFirst) checkFirst?.(block)
      isFirst = false
      files ??= await RangeFiles.create(header.tables, rangeFrom(block.number, to, header.blocksPerFile), createFile)
      const room = files.add(block, proof)
      if (room !== undefined) await room
      if (block.number < files.range.to) continue
      const entry = await files.finish()
      await beforePublish?.()
      await files.publish()
      for (const table of header.tables) await syncFolder(join(dir, table))
      await onRange(entry)
      files = undefined
      written = addRange(written, entry)
    }
  } finally {
    await files?.abandon()
  }
  return written
}
