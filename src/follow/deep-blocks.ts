import type { CheckedFilter } from '../bulk/logs/log-filter.ts'
import type { Client } from '../client/client.ts'
import { stopWith } from '../wait/stop-with.ts'
import { blocksOf, type FollowReader, LOGS_AHEAD, type SourceBlock, type SourceOptions, type Span } from './block-source.ts'
import { RangeLogs } from './range-logs.ts'
import { workAhead } from './work-ahead.ts'

/** Blocks far below the head, each linked to the one before it, with their logs, at bulk speed. */
export function deepBlocks<I, L>(
  client: Client,
  span: Span,
  options: SourceOptions,
  reader: FollowReader<never, never, I, L>,
  chainId?: number,
): AsyncGenerator<SourceBlock<I, L>, void, undefined> {
  const { filter, receipts } = options
  return filter === undefined || receipts ? blocksOf(client, span, options, reader) : withLogsOfRange(client, span, { ...options, filter, chainId }, reader)
}

async function* withLogsOfRange<I, L>(
  client: Client,
  span: Span,
  given: SourceOptions & { readonly filter: CheckedFilter; readonly chainId: number | undefined },
  reader: FollowReader<never, never, I, L>,
): AsyncGenerator<SourceBlock<I, L>, void, undefined> {
  const { from, to } = span
  const { stop, end } = stopWith(given.signal)
  // Blocks and logs wait for the consumer side by side.
  const options = { ...given, signal: stop.signal, maxBytes: given.maxBytes / 2 }
  const logs = new RangeLogs(client, { ...options, from, to }, reader.logs)
  const blocks = async function* () {
    for await (const block of blocksOf(client, span, options, reader)) yield { ...block, logs: await logs.next(block) }
  }
  try {
    yield* workAhead(blocks(), LOGS_AHEAD, async (block) => ({ ...block, logs: await logs.complete(block, block.logs) }), end)
  } finally {
    await logs.end()
  }
}
