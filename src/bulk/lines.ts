import type { Client } from '../client/client.ts'
import { createCopier } from '../eth/codec/reader.ts'
import { asResult } from '../eth/methods.ts'
import { decodersOf } from './fields.ts'
import { type Checked, fetchRange, inBlock } from './get-blocks.ts'
import { Link } from './link.ts'

const NEWLINE = Buffer.from('\n')
const RECEIPTS = Buffer.from(',"receipts":')
const END = Buffer.from('}\n')

/**
 * The blocks of a range as lines of JSON, each in one or several pieces: the node's own bytes without white space outside
 * strings, receipts as one more field of their block. All of it is checked to be JSON. Number, hashes and receipts are read and
 * checked as `getBlocks` does it: of a name that comes twice in an object, the last one counts.
 */
export async function* blockLines(client: Client, options: Checked): AsyncGenerator<readonly Uint8Array[], void, undefined> {
  const decode = decodersOf(['number'], options)
  const copyBlock = createCopier(decode.block)
  const copyReceipts = createCopier(decode.receipts)
  const link = new Link()
  yield* fetchRange(client, options, (number, blockBytes, receiptBytes) => {
    const block = inBlock(number, () => asResult('eth_getBlockByNumber', () => copyBlock(blockBytes)))
    const receipts = receiptBytes && inBlock(number, () => asResult('eth_getBlockReceipts', () => copyReceipts(receiptBytes)), 'receipts')
    link.follow(number, block.value)
    if (receipts === undefined) return [block.json, NEWLINE]
    link.checkReceipts(block.value, receipts.value)
    return [block.json.subarray(0, block.json.length - 1), RECEIPTS, receipts.json, END]
  })
}
