import * as check from '../check.ts'
import { type Client, checkClient } from '../client/client.ts'
import { OptionError } from '../errors.ts'
import { type Address, type Hash, isHash } from '../eth/codec/hex.ts'
import type { Quantity } from '../eth/codec/quantity.ts'
import type { MinedLog } from '../eth/objects.ts'
import { show } from '../text.ts'
import type { AuditLevel, AuditReport } from './logs/audit.ts'
import { decodedLogs } from './logs/decoded-logs.ts'
import { checkFilter } from './logs/log-filter.ts'
import { type LogProgress, LogStream, type LogStreamOptions } from './logs/log-stream.ts'
import { checkRange, type RangeEnd } from './range.ts'

/** Options of `getLogs`: of a range, or of the block with this hash. */
export type GetLogsOptions = LogsOptions & (LogRange | LogBlock)

/** The range of `getLogs`. */
export interface LogRange {
  /** First block. */
  readonly from: Quantity
  /** Last block, included: a number, or a tag that is resolved once, at the start. */
  readonly to: RangeEnd
  readonly blockHash?: undefined
}

/** The one block of `getLogs`, in place of a range. */
interface LogBlock {
  /** Only logs of the block with this hash. */
  readonly blockHash: Hash
  readonly from?: undefined
  readonly to?: undefined
}

/** What `getLogs` takes besides the range. */
export interface LogsOptions {
  /** Logs of this address, or of any of several; over 1,000 are split. Default: all addresses. */
  readonly address?: Address | readonly Address[] | undefined
  /** By position: one topic, any of several, or null for any. Default: any. */
  readonly topics?: readonly (Hash | readonly Hash[] | null)[] | undefined
  /**
   * How to find logs that are missing (default: `bloom` if `to` is final, else `none`):
   * - `none`: not at all.
   * - `bloom`: by the logs bloom of each header; receipts are fetched where it may match and no log
   *   was given. Finds every block that was left out as a whole.
   * - `receipts`: by the receipts of each block. Also finds single logs that were left out.
   * - `peer`: by the reply of a second endpoint of the client; receipts decide where they differ.
   */
  readonly audit?: AuditLevel | undefined
  /** Ends the iteration; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Limit for replies requested ahead of the consumer, in bytes. Default 32 MiB. */
  readonly maxBytes?: number | undefined
  /** Called after each page. */
  readonly onProgress?: ((progress: LogProgress) => void) | undefined
}

/** Logs of the blocks `from` to `to`, both included. */
export interface LogPage {
  readonly from: bigint
  readonly to: bigint
  readonly logs: MinedLog[]
}

/** The logs of a range. Iterate it once, or its pages. */
export interface Logs extends AsyncIterable<MinedLog> {
  [Symbol.asyncIterator](): AsyncGenerator<MinedLog, void, undefined>
  /** The logs in pages that tile the range, also where there are none. */
  pages(): AsyncGenerator<LogPage, void, undefined>
  /** What has been proven so far. */
  readonly audit: AuditReport
}

/**
 * Streams the logs of a range in order, each once:
 *
 *     for await (const log of getLogs(client, { address, topics: [transfer], from: 0n, to: 'finalized' })) …
 *
 * The range may have any length: it is requested in parts that grow and shrink with what the node
 * accepts, ahead of the consumer within `maxBytes`. A reply that may have been cut at a number of
 * results is requested again in halves. `audit` proves that no log is missing (`receipts`), or that
 * no block was left out as a whole (`bloom`), and adds what is missing.
 *
 * Throws `OptionError` at once for invalid options. The iteration rejects with `IntegrityError`
 * when replies contradict each other, for example after a reorganisation, and otherwise with the
 * same errors as `client.call`. To resume after a failure, start at the block after the last page.
 */
export function getLogs(client: Client, options: GetLogsOptions): Logs {
  checkClient(client)
  const checked = checkLogOptions(options)
  const stream = new LogStream(client, checked, decodedLogs())
  async function* pages(): AsyncGenerator<LogPage, void, undefined> {
    for await (const { from, to, items } of stream.pages()) yield { from: BigInt(from), to: BigInt(to), logs: items as MinedLog[] }
  }
  return {
    async *[Symbol.asyncIterator]() {
      for await (const { items } of stream.pages())
        for (const log of items as MinedLog[]) {
          checked.signal?.throwIfAborted()
          yield log
        }
    },
    pages,
    get audit() {
      return stream.audit
    },
  }
}

const MiB = 1024 * 1024
const LEVELS = ['none', 'bloom', 'receipts', 'peer'] as const
const NAMES = ['address', 'topics', 'from', 'to', 'blockHash', 'audit', 'signal', 'maxBytes', 'onProgress']

/** Checks the options and fills in the defaults. Throws `OptionError`. */
export function checkLogOptions(options: GetLogsOptions): LogStreamOptions {
  check.onlyKnown('options', options, NAMES, { refused: { fromBlock: 'it is called `from` here', toBlock: 'it is called `to` here' } })
  const { from, to, blockHash, audit, signal, maxBytes = 32 * MiB, onProgress } = options
  const filter = checkFilter(options)
  if (audit !== undefined) check.oneOf('audit', audit, LEVELS)
  if (signal !== undefined) check.signal(signal)
  check.bytes('maxBytes', maxBytes)
  if (onProgress !== undefined) check.callback('onProgress', onProgress)
  const common = { filter, audit, signal, maxBytes, onProgress }
  if (blockHash !== undefined) {
    if (from !== undefined || to !== undefined) throw new OptionError('blockHash', 'either blockHash, or from and to', 'both')
    if (!isHash(blockHash)) throw new OptionError('blockHash', 'a hash (32 bytes in hex)', show(blockHash))
    return { ...common, range: undefined, blockHash: blockHash.toLowerCase() as Hash }
  }
  return { ...common, range: checkRange(from as Quantity, to as RangeEnd), blockHash: undefined }
}
