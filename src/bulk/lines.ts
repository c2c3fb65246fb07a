import type { Client } from '../client/client.ts'
import { type Copied, createCopier } from '../eth/codec/reader.ts'
import type { Block, Receipt } from '../eth/objects.ts'
import type { BlockReader } from './arrivals.ts'
import { decodersOf } from './fields.ts'
import { rangeStream, type StreamOptions } from './range-stream.ts'

const NEWLINE = Buffer.from('\n')
const RECEIPTS = Buffer.from(',"receipts":')
const END = Buffer.from('}\n')

/**
 * The blocks of a range as lines of JSON, each in one or more pieces: the node's own bytes without
 * white space outside strings, with the receipts as an added field. All bytes are checked to be
 * valid JSON. Number, hashes and receipts are checked as in `getBlocks`; of duplicate names in an
 * object, the last one counts. The bytes of a line are valid until the next line is requested.
 */
export function blockLines(client: Client, options: StreamOptions): AsyncGenerator<readonly Uint8Array[], void, undefined> {
  return rangeStream(client, options, lineReader(options))
}

/** Makes these lines of blocks and receipts. */
export function lineReader(options: Pick<StreamOptions, 'full' | 'receipts'>): BlockReader<LinkedCopy<Block>, LinkedCopy<Receipt[]>, readonly Uint8Array[]> {
  const decode = decodersOf(['number'], options)
  const copyBlock = createCopier(decode.block)
  const copyReceipts = createCopier(decode.receipts)
  return {
    block: (bytes) => linkedCopy(copyBlock(bytes)),
    receipts: (bytes) => linkedCopy(copyReceipts(bytes)),
    item: (block, receipts) => (receipts === undefined ? [block.json, NEWLINE] : [block.json.subarray(0, block.json.length - 1), RECEIPTS, receipts.json, END]),
  }
}

interface LinkedCopy<T> {
  /** Decoded, for the checks only. */
  readonly linked: T
  readonly json: Buffer
}

function linkedCopy<T>({ value, json }: Copied<T>): LinkedCopy<T> {
  return { linked: value, json }
}
