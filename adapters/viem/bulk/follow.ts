import {
  type AbiEvent,
  type Address,
  type Chain,
  type ContractEventArgs,
  type GetBlockReturnType,
  type GetLogsReturnType,
  type GetTransactionReceiptReturnType,
  parseEventLogs,
  type Log as ViemLog,
} from 'viem'
import type { Linked } from '../../../src/bulk/link.ts'
import { decodedLogs } from '../../../src/bulk/logs/decoded-logs.ts'
import * as check from '../../../src/check.ts'
import type { Client as HexlineClient } from '../../../src/client/client.ts'
import type { Hash } from '../../../src/eth/codec/hex.ts'
import type { Log } from '../../../src/eth/objects.ts'
import type { FollowReader } from '../../../src/follow/block-source.ts'
import type { FollowCursor } from '../../../src/follow/cursor.ts'
import { checkFollowOptions, type FollowOptions, type FollowRollback, rollbackOf } from '../../../src/follow/follow.ts'
import { followStream } from '../../../src/follow/follow-stream.ts'
import type { FollowJob, FollowProgress } from '../../../src/follow/job.ts'
import type { Formatted } from '../format/chain-format.ts'
import { asViem } from '../format/format-log.ts'
import { type FormattedReceipts, formattedReader, withReceipts } from '../format/formatted-reader.ts'
import { selectionOf } from './logs-in-range.ts'
import { streamError, withParameterName } from './stream-error.ts'

/** Which logs to deliver with each block: as viem's `getLogs` selects them. */
export interface FollowLogsParameters {
  readonly address?: Address | readonly Address[] | undefined
  readonly event?: AbiEvent | undefined
  readonly events?: readonly AbiEvent[] | undefined
  /** Values of the indexed arguments of `event`. */
  readonly args?: ContractEventArgs | undefined
  /** Leaves out logs that the event cannot decode. Default false. */
  readonly strict?: boolean | undefined
  readonly abi?: undefined
  readonly eventName?: undefined
}

/** Parameters of `client.follow`. */
export interface FollowParameters<
  includeTransactions extends boolean = boolean,
  includeReceipts extends boolean = boolean,
  logs extends FollowLogsParameters | boolean = FollowLogsParameters | boolean,
> {
  /**
   * The first block: a number; `latest`; or a cursor, to resume after the item that it came with.
   */
  readonly fromBlock: bigint | 'earliest' | 'latest' | FollowCursor
  /** Whether each block comes with its logs: all (true), or those selected. Default false. */
  readonly logs?: logs | undefined
  /** Whether blocks hold whole transactions or their hashes. Default false (hashes). */
  readonly includeTransactions?: includeTransactions | undefined
  /**
   * Whether each block comes with its receipts, in the order of its transactions. Default false.
   */
  readonly includeReceipts?: includeReceipts | undefined
  /** Holds blocks back until this many follow them, or until the node calls them so. Default 0. */
  readonly confirmations?: number | 'safe' | 'finalized' | undefined
  /** Ends the iteration; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Called after each item, and with the `failure` of each attempt that fails. */
  readonly onProgress?: ((progress: FollowProgress) => void) | undefined
}

type LogsOf<logs> = logs extends { readonly event: infer event extends AbiEvent }
  ? GetLogsReturnType<event, [event], StrictOf<logs>>
  : logs extends { readonly events: infer events extends readonly AbiEvent[] }
    ? GetLogsReturnType<undefined, events, StrictOf<logs>>
    : GetLogsReturnType

type StrictOf<logs> = logs extends { readonly strict: true } ? true : undefined

/** Blocks and logs as viem's `getBlock` and `getLogs` return them, and rollbacks. */
export type FollowReturnType<
  chain extends Chain | undefined = undefined,
  includeTransactions extends boolean = boolean,
  includeReceipts extends boolean = boolean,
  logs extends FollowLogsParameters | boolean = FollowLogsParameters | boolean,
> = AsyncGenerator<
  | ({
      readonly type: 'block'
      readonly block: GetBlockReturnType<chain, includeTransactions> &
        (includeReceipts extends true ? { receipts: GetTransactionReceiptReturnType<chain>[] } : unknown)
      /** Where it resumes after this block: plain JSON. */
      readonly cursor: FollowCursor
    } & ([logs] extends [false] ? unknown : { readonly logs: LogsOf<logs> }))
  | FollowRollback,
  void,
  undefined
>

const NAMES = ['fromBlock', 'logs', 'includeTransactions', 'includeReceipts', 'confirmations', 'signal', 'onProgress']
const LOG_NAMES = ['address', 'event', 'events', 'args', 'strict']
const AS_EVENT = 'give the event itself: `event: getAbiItem({ abi, name })`'

export function followBlocks(
  client: HexlineClient,
  chain: Chain | undefined,
  likeViem: boolean,
  parameters: FollowParameters,
): AsyncGenerator<unknown, void, undefined> {
  check.onlyKnown('parameters', parameters, NAMES, { refused: { from: 'it is called `fromBlock` here', cursor: 'it is given as `fromBlock`' } })
  const { fromBlock, logs = false, includeTransactions = false, includeReceipts = false, confirmations, signal, onProgress } = parameters
  check.flag('includeTransactions', includeTransactions)
  try {
    const selection = typeof logs === 'object' ? logSelection(logs) : undefined
    const job = checkFollowOptions({
      from: fromBlock === 'earliest' ? 0n : fromBlock,
      logs: selection?.filter ?? (logs as boolean),
      transactions: includeTransactions ? 'full' : 'hashes',
      receipts: includeReceipts,
      ...(confirmations !== undefined && { confirmations }),
      ...(signal !== undefined && { signal }),
      ...(onProgress !== undefined && { onProgress }),
    })
    return items(client, job, formatting(chain, likeViem, job), selection?.decode ?? ((own) => own))
  } catch (error) {
    throw withParameterName(error)
  }
}

/** The filter of the parameters, and what makes viem's logs of those that it selects. */
function logSelection(logs: FollowLogsParameters) {
  check.onlyKnown('logs', logs, LOG_NAMES, { orElse: ', true or false', refused: { abi: AS_EVENT, eventName: AS_EVENT } })
  const { address, event, events: several, args, strict = false } = logs
  check.flag('strict', strict)
  const { events, topics } = selectionOf({ ...(event && { event }), ...(several && { events: several }), args })
  const filter: Exclude<FollowOptions['logs'], boolean | undefined> = { ...(address !== undefined && { address }), ...(topics.length > 0 && { topics }) }
  const decode = (own: ViemLog[]) => (events === undefined ? own : (parseEventLogs({ abi: events, args, logs: own, strict } as never) as ViemLog[]))
  return { filter, decode }
}

async function* items(
  client: HexlineClient,
  job: FollowJob,
  reader: FollowReader<never, never, object, Log>,
  decode: (logs: ViemLog[]) => ViemLog[],
): AsyncGenerator<unknown, void, undefined> {
  try {
    yield* followStream(client, job, reader, (item) => {
      if (item.type === 'rollback') return rollbackOf(item)
      const { type, block, logs, cursor } = item
      // Logs of receipts have viem's format already.
      return logs === undefined
        ? { type, block, cursor }
        : { type, block, logs: decode(job.receipts ? (logs as unknown as ViemLog[]) : logs.map(asViem)), cursor }
    })
  } catch (error) {
    throw streamError(error, client)
  }
}

function formatting(chain: Chain | undefined, likeViem: boolean, job: FollowJob): FollowReader<never, never, object, Log> {
  const { filter } = job
  const reader: FollowReader<Formatted<object, Linked>, FormattedReceipts, object, Log> = {
    blocks: {
      ...formattedReader(chain, job.full, likeViem),
      item(block, receipts) {
        const { value, linked } = block
        const { number, hash, parentHash, transactions } = linked
        const item = withReceipts(block, receipts)
        const logs =
          filter && receipts?.values.flatMap((receipt) => (receipt as { readonly logs?: Log[] | null }).logs ?? []).filter((log) => filter.matches(log))
        const { logsBloom = '0x', receiptsRoot = '0x' } = value as { readonly logsBloom?: Hash; readonly receiptsRoot?: Hash }
        // Transactions are only counted.
        return { number, hash: hash as Hash, parentHash: parentHash as Hash, logsBloom, receiptsRoot, transactions: transactions as Hash[], item, logs }
      },
    },
    logs: decodedLogs(),
  }
  return reader as unknown as FollowReader<never, never, object, Log>
}
