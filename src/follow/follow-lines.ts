import { decodersOf } from '../bulk/blocks/fields.ts'
import { type CopiedLog, copiedLogs } from '../bulk/logs/log-lines.ts'
import type { Client } from '../client/client.ts'
import type { Hash } from '../eth/codec/hex.ts'
import { type Copied, createCopier } from '../eth/codec/reader.ts'
import type { Block, Receipt } from '../eth/objects.ts'
import type { FollowReader } from './block-source.ts'
import type { FollowCursor } from './cursor.ts'
import { followStream } from './follow-stream.ts'
import type { FollowJob } from './job.ts'

/** One line of JSON for each item of a stream. */
export interface FollowLine {
  readonly line: Uint8Array
  /** Where the stream resumes after this line. */
  readonly cursor: FollowCursor
  /** Number of blocks that this line rolls back. */
  readonly rolledBack: number
}

/** A block as the node's own bytes, which the copier has checked. */
interface CopiedBlock {
  readonly block: Buffer
  readonly receipts: Buffer | undefined
}

/**
 * What `follow` brings, as lines of JSON: `{"type":"block","block":{…},"logs":[…]}` with the node's
 * own bytes of the block, its receipts and its logs, without white space outside strings; and
 * `{"type":"rollback","to":…,"blocks":[{"number":…,"hash":…},…]}`.
 */
export function followLines(client: Client, job: FollowJob): AsyncGenerator<FollowLine, void, undefined> {
  return followStream(client, job, copying(job), (item) => {
    const { cursor } = item
    if (item.type === 'block') return { line: lineOf(item.block, item.logs), cursor, rolledBack: 0 }
    const { type, to, blocks } = item
    return { line: Buffer.from(`${JSON.stringify({ type, to, blocks })}\n`), cursor, rolledBack: blocks.length }
  })
}

const START = Buffer.from('{"type":"block","block":')
const RECEIPTS = Buffer.from(',"receipts":')
const LOGS = Buffer.from(',"logs":[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')
const BRACE = Buffer.from('}')
const END = Buffer.from('}\n')

function lineOf({ block, receipts }: CopiedBlock, logs: readonly CopiedLog[] | undefined): Buffer {
  const pieces = receipts === undefined ? [START, block] : [START, block.subarray(0, block.length - 1), RECEIPTS, receipts, BRACE]
  if (logs !== undefined) pieces.push(LOGS, ...logs.flatMap(({ json }, i) => (i === 0 ? [json] : [COMMA, json])), CLOSE)
  return Buffer.concat([...pieces, END])
}

/** Copies blocks, receipts and logs. */
function copying(job: FollowJob): FollowReader<never, never, CopiedBlock, CopiedLog> {
  // What an audit of logs needs.
  const fields = job.filter === undefined ? [] : (['receiptsRoot', job.full ? 'transactions.hash' : 'transactions'] as const)
  const decode = decodersOf(['logsBloom', ...fields], job)
  const copyBlock = createCopier(decode.block)
  const copyReceipts = createCopier(decode.receipts)
  const reader: FollowReader<{ linked: Block; json: Buffer }, { linked: Receipt[]; json: Buffer }, CopiedBlock, CopiedLog> = {
    blocks: {
      block: (bytes) => linkedCopy(copyBlock(bytes)),
      receipts: (bytes) => linkedCopy(copyReceipts(bytes)),
      // Copied once more: the bytes of a reply are used again.
      item: ({ linked: { number, hash, parentHash, logsBloom, receiptsRoot, transactions }, json }, receipts) => ({
        number,
        hash: hash as Hash,
        parentHash,
        logsBloom,
        receiptsRoot,
        transactions,
        item: { block: Buffer.from(json), receipts: receipts && Buffer.from(receipts.json) },
        logs: undefined,
      }),
    },
    logs: copiedLogs(),
  }
  return reader as unknown as FollowReader<never, never, CopiedBlock, CopiedLog>
}

function linkedCopy<T>({ value, json }: Copied<T>): { linked: T; json: Buffer } {
  return { linked: value, json }
}
