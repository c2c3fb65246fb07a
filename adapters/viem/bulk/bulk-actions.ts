import type { BlockTag, Chain, Client, GetBlockReturnType, GetTransactionReceiptReturnType, Transport } from 'viem'
import { type Progress, rangeStream, type StreamOptions } from '../../../src/bulk/blocks/range-stream.ts'
import { checkBlockOptions } from '../../../src/bulk/get-blocks.ts'
import * as check from '../../../src/check.ts'
import { type Client as HexlineClient, isClient } from '../../../src/client/client.ts'
import { OptionError } from '../../../src/errors.ts'
import { isLikeViem } from '../format/chain-format.ts'
import { type FormattedReader, formattedReader, withReceipts } from '../format/formatted-reader.ts'
import { type FollowLogsParameters, type FollowParameters, type FollowReturnType, followBlocks } from './follow.ts'
import { type GetLogsInRange, logsInRange } from './logs-in-range.ts'
import { streamError, withParameterName } from './stream-error.ts'

/** Parameters of `client.getBlocks`. */
export interface GetBlocksParameters<includeTransactions extends boolean = boolean, includeReceipts extends boolean = boolean> {
  /** First block. */
  readonly fromBlock: bigint | 'earliest'
  /**
   * Last block, included: a number, or a tag that is resolved once, at the start. Default `latest`.
   */
  readonly toBlock?: bigint | Exclude<BlockTag, 'pending'> | undefined
  /** Whether blocks hold whole transactions or their hashes. Default false (hashes). */
  readonly includeTransactions?: includeTransactions | undefined
  /**
   * Whether each block comes with its receipts, in the order of its transactions. Default false.
   */
  readonly includeReceipts?: includeReceipts | undefined
  /** Ends the iteration; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Limit for replies requested ahead of the consumer, in bytes. Default 32 MiB. */
  readonly maxBytes?: number | undefined
  /** Called after each block. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
}

/** The blocks as viem's `getBlock` returns them, formatted for the client's chain. */
export type GetBlocksReturnType<
  chain extends Chain | undefined = undefined,
  includeTransactions extends boolean = boolean,
  includeReceipts extends boolean = boolean,
> = AsyncGenerator<
  GetBlockReturnType<chain, includeTransactions> & (includeReceipts extends true ? { receipts: GetTransactionReceiptReturnType<chain>[] } : unknown),
  void,
  undefined
>

/** A type alias, since viem's `extend` requires an index signature. */
export type BulkActions<chain extends Chain | undefined = Chain | undefined> = {
  /**
   * Streams the blocks of a range in order and without gaps, each as viem's `getBlock` returns it:
   *
   *     for await (const block of client.getBlocks({ fromBlock: 0n, toBlock: 'finalized' })) …
   *
   * Blocks are requested ahead of the consumer within `maxBytes`, in batches of a size that the
   * node accepts. Numbers, parent hashes and receipts are checked.
   *
   * Throws `OptionError` at once for invalid parameters. The iteration rejects with viem's errors
   * when a call fails, and with hexline's `IntegrityError` or `CodecError` when replies contradict
   * each other or cannot be decoded.
   */
  getBlocks<includeTransactions extends boolean = false, includeReceipts extends boolean = false>(
    parameters: GetBlocksParameters<includeTransactions, includeReceipts>,
  ): GetBlocksReturnType<chain, includeTransactions, includeReceipts>
  getLogsInRange: GetLogsInRange
  /**
   * Streams blocks from history through the head as one chain, with rollbacks, each block as viem's
   * `getBlock` returns it, and its logs as `getLogs` does, decoded by `event` or `events`:
   *
   *     for await (const item of client.follow({ fromBlock: saved ?? 21_000_000n, logs: { address, event: transfer } })) …
   *
   * No block is missing or comes twice, whatever the socket, the node or the process does: see
   * docs/follow.md. Throws `OptionError` at once for invalid parameters. The iteration rejects with
   * viem's errors when a call fails in a way that waiting cannot cure, and with hexline's
   * `IntegrityError` or `CodecError` when replies contradict each other again and again.
   */
  follow<includeTransactions extends boolean = false, includeReceipts extends boolean = false, const logs extends FollowLogsParameters | boolean = false>(
    parameters: FollowParameters<includeTransactions, includeReceipts, logs>,
  ): FollowReturnType<chain, includeTransactions, includeReceipts, logs>
}

/**
 * Bulk actions for a viem client with a hexline transport: `client.extend(bulkActions())`. Throws
 * `OptionError` for any other transport.
 */
export function bulkActions() {
  return <chain extends Chain | undefined = Chain | undefined>(client: Client<Transport, chain>): BulkActions<chain> => {
    const hexline = clientOf(client)
    const likeViem = isLikeViem()
    return {
      getBlocks: (parameters) => blocks(hexline, client.chain, likeViem, parameters) as never,
      getLogsInRange: ((parameters: never) => logsInRange(hexline, parameters)) as never,
      follow: (parameters) => followBlocks(hexline, client.chain, likeViem, parameters) as never,
    }
  }
}

function clientOf({ transport }: Client): HexlineClient {
  // Over a WebSocket, the type is that of viem's own transport.
  if (isClient(transport.client)) return transport.client
  const hint = transport.type === 'fallback' ? ' (several nodes are hexline([url, url]))' : ''
  throw new OptionError('transport', `hexline()${hint}`, `${transport.type}, which bulkActions cannot use`)
}

function blocks(client: HexlineClient, chain: Chain | undefined, likeViem: boolean, parameters: GetBlocksParameters): AsyncGenerator<unknown, void, undefined> {
  check.onlyKnown('parameters', parameters, ['fromBlock', 'toBlock', 'includeTransactions', 'includeReceipts', 'signal', 'maxBytes', 'onProgress'])
  const { fromBlock, toBlock = 'latest', includeTransactions = false, includeReceipts = false, signal, maxBytes, onProgress } = parameters
  check.flag('includeTransactions', includeTransactions)
  try {
    const options = checkBlockOptions({
      from: fromBlock === 'earliest' ? 0n : fromBlock,
      to: toBlock,
      transactions: includeTransactions ? 'full' : 'hashes',
      receipts: includeReceipts,
      ...(signal !== undefined && { signal }),
      ...(maxBytes !== undefined && { maxBytes }),
      ...(onProgress !== undefined && { onProgress }),
    })
    return formatted(client, options, formattedReader(chain, options.full, likeViem))
  } catch (error) {
    throw withParameterName(error)
  }
}

async function* formatted(client: HexlineClient, options: StreamOptions, reader: FormattedReader): AsyncGenerator<object, void, undefined> {
  try {
    yield* rangeStream(client, options, { ...reader, item: withReceipts })
  } catch (error) {
    throw streamError(error, client)
  }
}
