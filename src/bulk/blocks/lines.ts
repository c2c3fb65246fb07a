import type { Client } from '../../client/client.ts'
import { type Copied, createCopier } from '../../eth/codec/reader.ts'
import type { Block, Receipt } from '../../eth/objects.ts'
import { tracesDecoder } from './block-traces.ts'
import { decodersOf } from './fields.ts'
import { rangeStream, type StreamOptions } from './range-stream.ts'
import type { BlockReader } from './read-block.ts'

const NEWLINE = Buffer.from('\n')
const RECEIPTS = Buffer.from(',"receipts":')
const TRACES = Buffer.from(',"traces":')
const END = Buffer.from('}\n')

/**
 * The blocks of a range as lines of JSON, each in one or more pieces: the node's own bytes without
 * white space outside strings, with the receipts and the traces as added fields. All bytes are
 * checked to be valid JSON. Number, hashes and receipts are checked as in `getBlocks`; of duplicate
 * names in an object, the last one counts. The bytes of a line are valid until the next line is
 * requested.
 */
export function blockLines(client: Client, options: StreamOptions): AsyncGenerator<readonly Uint8Array[], void, undefined> {
  return rangeStream(client, options, lineReader(options))
}

/** Makes these lines of blocks and receipts. */
export function lineReader(
  options: Pick<StreamOptions, 'full' | 'receipts' | 'traces'>,
): BlockReader<LinkedCopy<Block>, LinkedCopy<Receipt[]>, readonly Uint8Array[]> {
  const decode = decodersOf(['number'], options)
  const copyBlock = createCopier(decode.block)
  const copyReceipts = createCopier(decode.receipts)
  return {
    block: (bytes) => linkedCopy(copyBlock(bytes)),
    receipts: (bytes) => linkedCopy(copyReceipts(bytes)),
    traces: options.traces && { form: options.traces, read: copied(createCopier(tracesDecoder(options.traces))) },
    item(block, receipts, traces) {
      if (receipts === undefined && traces === undefined) return [block.json, NEWLINE]
      const pieces = [block.json.subarray(0, block.json.length - 1)]
      if (receipts !== undefined) pieces.push(RECEIPTS, receipts.json)
      if (traces?.json !== undefined) pieces.push(TRACES, traces.json)
      return [...pieces, END]
    },
  }
}

function copied<T>(copy: (bytes: Buffer) => Copied<T>): (bytes: Buffer) => LinkedCopy<T> {
  return (bytes) => linkedCopy(copy(bytes))
}

interface LinkedCopy<T> {
  /** Decoded, for the checks only. */
  readonly linked: T
  readonly json: Buffer
}

function linkedCopy<T>({ value, json }: Copied<T>): LinkedCopy<T> {
  return { linked: value, json }
}
