import {
  type Abi,
  type AbiEvent,
  type BlockNumber,
  type BlockTag,
  type ContractEventName,
  encodeEventTopics,
  type GetContractEventsParameters,
  type GetContractEventsReturnType,
  type GetLogsParameters,
  type GetLogsReturnType,
  getAbiItem,
  parseEventLogs,
  type Log as ViemLog,
} from 'viem'
import { checkLogOptions, type GetLogsOptions } from '../../../src/bulk/get-logs.ts'
import type { AuditLevel, AuditReport } from '../../../src/bulk/logs/audit.ts'
import { decodedLogs } from '../../../src/bulk/logs/decoded-logs.ts'
import { type LogProgress, LogStream } from '../../../src/bulk/logs/log-stream.ts'
import * as check from '../../../src/check.ts'
import type { Client as HexlineClient } from '../../../src/client/client.ts'
import { OptionError } from '../../../src/errors.ts'
import type { Log } from '../../../src/eth/objects.ts'
import { asViem } from '../format/format-log.ts'
import { streamError, withParameterName } from './stream-error.ts'

/**
 * What `getLogsInRange` takes in addition to the parameters of viem's `getLogs` or
 * `getContractEvents`.
 */
export interface LogRangeOptions {
  /** How to prove that no log is missing. Default: by blooms if the range is final. */
  readonly audit?: AuditLevel | undefined
  /** Ends the iteration; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** Limit for replies requested ahead of the consumer, in bytes. Default 32 MiB. */
  readonly maxBytes?: number | undefined
  /** Called after each page. */
  readonly onProgress?: ((progress: LogProgress) => void) | undefined
}

/** Logs of a range. Iterate them once, or their pages. */
export interface LogsInRange<log> extends AsyncIterable<log> {
  [Symbol.asyncIterator](): AsyncGenerator<log, void, undefined>
  /** The logs in pages that tile the range, also where there are none. */
  pages(): AsyncGenerator<{ readonly fromBlock: bigint; readonly toBlock: bigint; readonly logs: log[] }, void, undefined>
  /** What has been proven so far. */
  readonly audit: AuditReport
}

/** A method type with two signatures, as `getLogs` and `getContractEvents` have them. */
export interface GetLogsInRange {
  /**
   * Streams the logs of a range of any length in order, each once, as viem's `getLogs` returns
   * them, decoded by `event` or `events`:
   *
   *     for await (const log of client.getLogsInRange({ address, event: transfer, fromBlock: 0n, toBlock: 'finalized' })) …
   *
   * The range is requested in parts that the node accepts. `audit` proves that nothing is missing,
   * and adds what is.
   *
   * Throws `OptionError` at once for invalid parameters. The iteration rejects with viem's errors
   * when a call fails, and with hexline's `IntegrityError` or `CodecError` when replies contradict
   * each other or cannot be decoded.
   */
  <
    const abiEvent extends AbiEvent | undefined = undefined,
    const abiEvents extends readonly AbiEvent[] | readonly unknown[] | undefined = abiEvent extends AbiEvent ? [abiEvent] : undefined,
    strict extends boolean | undefined = undefined,
    fromBlock extends BlockNumber | BlockTag | undefined = undefined,
    toBlock extends BlockNumber | BlockTag | undefined = undefined,
  >(
    parameters: GetLogsParameters<abiEvent, abiEvents, strict, fromBlock, toBlock> & LogRangeOptions & { readonly abi?: undefined },
  ): LogsInRange<GetLogsReturnType<abiEvent, abiEvents, strict>[number]>
  /** The same for the events of a contract, as viem's `getContractEvents` takes them. */
  <
    const abi extends Abi | readonly unknown[],
    eventName extends ContractEventName<abi> | undefined = undefined,
    strict extends boolean | undefined = undefined,
  >(
    parameters: GetContractEventsParameters<abi, eventName, strict> & LogRangeOptions,
  ): LogsInRange<GetContractEventsReturnType<abi, eventName, strict>[number]>
}

/** The parameters of both signatures. */
type Parameters = Omit<GetLogsParameters, 'event' | 'events' | 'args' | 'strict'> &
  LogRangeOptions & {
    readonly abi?: Abi
    readonly eventName?: string
    readonly event?: AbiEvent
    readonly events?: readonly AbiEvent[]
    readonly args?: unknown
    readonly strict?: boolean
  }

const NAMES = [
  'address',
  'abi',
  'eventName',
  'event',
  'events',
  'args',
  'strict',
  'fromBlock',
  'toBlock',
  'blockHash',
  'audit',
  'signal',
  'maxBytes',
  'onProgress',
]

export function logsInRange(client: HexlineClient, parameters: Parameters): LogsInRange<ViemLog> {
  check.onlyKnown('parameters', parameters, NAMES, { refused: { from: 'it is called `fromBlock` here', to: 'it is called `toBlock` here' } })
  const { address, blockHash, fromBlock, toBlock, audit, signal, maxBytes, onProgress, args, strict = false } = parameters
  check.flag('strict', strict)
  const { events, topics } = selectionOf(parameters)
  const stream = streamOf(client, {
    ...(address !== undefined && { address }),
    ...(topics.length > 0 && { topics }),
    ...(blockHash === undefined ? { from: fromBlock === 'earliest' ? 0n : (fromBlock as bigint), to: (toBlock ?? 'latest') as bigint } : { blockHash }),
    ...(audit !== undefined && { audit }),
    ...(signal !== undefined && { signal }),
    ...(maxBytes !== undefined && { maxBytes }),
    ...(onProgress !== undefined && { onProgress }),
  })

  // For errors: the parameters as they were given.
  const asked = { method: 'eth_getLogs', params: [{ address, topics, ...(blockHash === undefined ? { fromBlock, toBlock } : { blockHash }) }] }
  async function* pages(): AsyncGenerator<{ fromBlock: bigint; toBlock: bigint; logs: ViemLog[] }, void, undefined> {
    try {
      for await (const { from, to, items } of stream.pages()) {
        const logs = items.map(asViem)
        const decoded = events === undefined ? logs : (parseEventLogs({ abi: events, args, logs, strict } as never) as ViemLog[])
        yield { fromBlock: BigInt(from), toBlock: BigInt(to), logs: decoded }
      }
    } catch (error) {
      throw streamError(error, client, asked)
    }
  }
  return {
    async *[Symbol.asyncIterator]() {
      for await (const { logs } of pages())
        for (const log of logs) {
          signal?.throwIfAborted()
          yield log
        }
    },
    pages,
    get audit() {
      return stream.audit
    },
  }
}

function streamOf(client: HexlineClient, options: GetLogsOptions): LogStream<Log> {
  try {
    return new LogStream(client, checkLogOptions(options), decodedLogs())
  } catch (error) {
    throw withParameterName(error)
  }
}

/** The events to decode, and the topics that select them, as viem's actions make them. */
export function selectionOf({ abi, eventName, event, events, args }: Pick<Parameters, 'abi' | 'eventName' | 'event' | 'events' | 'args'>): {
  events: readonly AbiEvent[] | undefined
  topics: NonNullable<GetLogsOptions['topics']>
} {
  if (abi !== undefined) {
    const one = eventName === undefined ? undefined : (getAbiItem({ abi, name: eventName, args } as never) as AbiEvent | undefined)
    if (eventName !== undefined && one === undefined) throw new OptionError('eventName', 'the name of an event of abi', JSON.stringify(eventName))
    const all = abi.filter((item): item is AbiEvent => item.type === 'event')
    if (all.length === 0) throw new OptionError('abi', 'at least one event', 'none')
    return selectionOf(one === undefined ? { events: all } : { event: one, args })
  }
  if (events?.length === 0) throw new OptionError('events', 'at least one event; omit the parameter for all logs', 'an empty array')
  if (events !== undefined) return { events, topics: [events.flatMap((each) => topicsOf(each, undefined))] as never }
  if (event === undefined) return { events: undefined, topics: [] }
  const topics = topicsOf(event, args)
  if (topics.some((topic) => Array.isArray(topic) && topic.length === 0))
    throw new OptionError('args', 'at least one value of each argument; omit those that may have any', 'an empty array')
  return { events: [event], topics: topics as never }
}

function topicsOf(event: AbiEvent, args: unknown): readonly unknown[] {
  return encodeEventTopics({ abi: [event], eventName: event.name, args } as never)
}
