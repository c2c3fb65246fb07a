import { Command, Option } from 'commander'
import type { TraceForm } from '../bulk/blocks/block-traces.ts'
import { blockLines } from '../bulk/blocks/lines.ts'
import type { Progress, StreamOptions } from '../bulk/blocks/range-stream.ts'
import { checkBlockOptions, type GetBlocksOptions } from '../bulk/get-blocks.ts'
import { createClient } from '../client/create-client.ts'
import type { ClientOptions } from '../client/options.ts'
import { OptionError } from '../errors.ts'
import { show } from '../text.ts'
import { FailureCount } from './failure-count.ts'
import { Meter } from './meter.ts'
import { METRICS_FLAG, type MetricsFlags, withMetrics } from './metrics.ts'
import { addNodeFlags, endpointFrom, type NodeFlags, numberFrom, timesFrom } from './node.ts'
import { Unfinished } from './output/failure.ts'
import type { Io } from './output/io.ts'
import { lineForTerminal } from './output/json.ts'
import { type MessageFlags, messagesFor } from './output/messages.ts'
import { outFile } from './output/open-output.ts'
import { count } from './output/units.ts'
import { blockFrom, type RangeFlags, rangeFlags, rangeFrom, rangeOfLast } from './range.ts'
import { runFollow } from './run-follow.ts'
import { type OutFlags, sharesTerminal, writeLines } from './write-lines.ts'

/** Flags that limit the load on the node. */
export interface LimitFlags extends NodeFlags {
  readonly rate?: string
  readonly concurrency?: string
  readonly batch?: string
}

/** The flags that say which blocks. */
export interface BlocksFlags extends LimitFlags, RangeFlags {
  readonly transactions: 'full' | 'hashes'
  readonly receipts: boolean
  readonly traces?: TraceForm
  readonly verify: 'link' | 'header' | 'full'
}

interface Flags extends BlocksFlags, OutFlags, MessageFlags, MetricsFlags {}

/**
 * Bytes to fetch ahead of the file. Lines are written as fast as they arrive, and holding fewer
 * bytes saves garbage collection.
 */
const EXPORT_AHEAD = 16 * 1024 * 1024

/** `hexline blocks`: a range of blocks as NDJSON. */
export function blocksCommand(io: Io): Command {
  const command = new Command('blocks')
    .summary('a range of blocks as NDJSON')
    .description('Writes a range of blocks as NDJSON, one block per line, to stdout or to a file. The file appears once it is complete.')
  return blocksFlags(command, true)
    .option(...METRICS_FLAG)
    .option('--quiet', 'print errors only')
    .option('--json', 'print progress and errors as lines of JSON on stderr')
    .addHelpText(
      'after',
      `
Examples:
  hexline blocks --rpc http://127.0.0.1:8545 --from 0 --to latest --out blocks.ndjson
  hexline blocks --rpc http://127.0.0.1:8545 --last 100 --traces callTracer | jq -c .traces[].result
  HEXLINE_RPC_URL=https://rpc.example.com/KEY hexline blocks --from 21000000 --to 21000999 --receipts | gzip > blocks.ndjson.gz
  HEXLINE_API_KEY=… hexline blocks --base-url https://rpc.example.com --chain base --from 20000000 --to finalized --rate 100`,
    )
    .action((flags: Flags) => withMetrics(flags, io, () => writeBlocks(flags, io)))
}

/** Adds the flags that say which blocks, and where to; with `orFollow`, `--to follow`, too. */
export function blocksFlags(command: Command, orFollow = false): Command {
  return limitFlags(
    rangeFlags(addNodeFlags(command), orFollow)
      .addOption(new Option('--transactions <kind>', 'whole transactions, or their hashes').choices(['full', 'hashes']).default('full'))
      .option('--receipts', 'include the receipts of each block', false)
      .addOption(
        new Option('--traces <form>', 'include the traces of each block: call frames, or a list of calls as in Parity').choices(['callTracer', 'parity']),
      )
      .addOption(
        new Option('--verify <level>', 'what to check: links between blocks, also the hash of each header, or every hash and root')
          .choices(['link', 'header', 'full'])
          .default('link'),
      )
      .option('--out <file>', 'write to a file instead of stdout (-)')
      .option('--force', 'replace the file if it exists', false),
  )
}

/** Which blocks, as options of `getBlocks`. */
export function blocksOptionsFrom(flags: BlocksFlags): GetBlocksOptions {
  return {
    ...rangeFrom(flags),
    transactions: flags.transactions,
    receipts: flags.receipts,
    ...(flags.traces !== undefined && { traces: flags.traces }),
    verify: flags.verify,
  }
}

async function writeBlocks(flags: Flags, io: Io): Promise<void> {
  if (flags.to === 'follow') return followBlocks(flags, io)
  const messages = messagesFor(flags, io)
  const stop = new AbortController()
  const failures = new FailureCount()
  const place = { ...flags, sharesTerminal: sharesTerminal(flags, io) }
  const meter = new Meter(io, messages, place, failures, flags.verify === 'link' ? undefined : verifiedOf)
  const checked = checkBlockOptions({
    ...blocksOptionsFrom(flags),
    signal: stop.signal,
    maxBytes: EXPORT_AHEAD,
    onProgress: (progress) => meter.update(progress),
  })
  const client = createClient(endpointFrom(flags, io.env, messages), { ...limitsFrom(flags), layers: (defaults) => [...defaults, failures.layer] })
  let options: StreamOptions | undefined
  await writeLines(flags, io, {
    client,
    stop,
    messages,
    meter,
    async write(output) {
      options = await rangeOfLast(checked, flags, client.with({ signal: stop.signal }))
      for await (const line of blockLines(client, options)) {
        meter.writing()
        await output.write(output.isTerminal ? [lineForTerminal(line)] : line)
        meter.written()
      }
    },
    unfinished: (error, { lines, isCut }) => (options === undefined ? error : new Unfinished(error, options.range.from + BigInt(lines), isCut)),
  })
}

/** `--to follow` is short for `hexline follow`. */
function followBlocks(flags: Flags, io: Io): Promise<void> {
  if (outFile(flags.out) !== undefined)
    throw new OptionError('--out', 'redirected output with --to follow, as in `>> blocks.ndjson`, since it has no end', 'a file')
  if (flags.last !== undefined) throw new OptionError('--last', 'no --last with --to follow', show(flags.last))
  if (flags.traces !== undefined) throw new OptionError('--traces', 'no --traces with --to follow', show(flags.traces))
  if (flags.verify !== 'link') throw new OptionError('--verify', "'link' with --to follow", show(flags.verify))
  const options = { from: blockFrom(flags.from as string) as bigint, transactions: flags.transactions, receipts: flags.receipts }
  return runFollow({ flags, limits: limitsFrom(flags), options, cursor: undefined }, io)
}

/** What was proven, and what was not. */
function verifiedOf({ verified }: Progress): { readonly text: string; readonly json: object } {
  if (verified === undefined) return { text: '', json: {} }
  const skipped = Object.entries(verified.skipped).map(([reason, blocks]) => `${reason} (${count(blocks)} ${blocks === 1 ? 'block' : 'blocks'})`)
  const proven = Object.keys(verified.checks).join(', ') || 'nothing'
  return { text: `verified: ${proven}${skipped.length === 0 ? '' : ` | not verified: ${skipped.join('; ')}`}`, json: { verified } }
}

/** Adds the flags that limit the load on the node. */
export function limitFlags(command: Command): Command {
  return command
    .option('--rate <calls>', 'at most this many calls per second')
    .option('--concurrency <posts>', 'at most this many POSTs in flight (default: 8)')
    .option('--batch <calls>', 'at most this many calls in a batch; 1 for no batches (default: 100)')
}

/** The limits as options of `createClient`. Throws `OptionError`. */
export function limitsFrom({ rate, concurrency, batch, ...flags }: LimitFlags): ClientOptions {
  return {
    ...(rate !== undefined && { rate: { callsPerSecond: numberFrom('--rate', rate) } }),
    ...(concurrency !== undefined && { concurrency: numberFrom('--concurrency', concurrency) }),
    ...(batch !== undefined && { batch: { maxCalls: numberFrom('--batch', batch) } }),
    ...timesFrom(flags),
  }
}
