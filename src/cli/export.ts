import { Command, Option } from 'commander'
import type { Client } from '../client/client.ts'
import { createClient } from '../client/create-client.ts'
import { verifyLevels } from '../dataset/checks.ts'
import { type ExportSummary, runExport } from '../dataset/export/export-dataset.ts'
import { checkExportOptions, type ExportDatasetOptions, type ExportJob } from '../dataset/export/export-options.ts'
import { formats } from '../dataset/folder/manifest.ts'
import { MOST_SHARDS, type Shard } from '../dataset/shard.ts'
import { tableNames } from '../dataset/tables.ts'
import { IntegrityError, OptionError } from '../errors.ts'
import { follow } from '../follow/follow.ts'
import type { FollowProgress } from '../follow/job.ts'
import { isFailure, mayRepeat } from '../rpc/failure-kinds.ts'
import { show } from '../text.ts'
import { type LimitFlags, limitFlags, limitsFrom } from './blocks.ts'
import { exportByWorkers } from './export-queue.ts'
import { FailureCount } from './failure-count.ts'
import { Meter } from './meter.ts'
import { METRICS_FLAG, type MetricsFlags, withMetrics } from './metrics.ts'
import { addNodeFlags, endpointFrom, numberFrom } from './node.ts'
import { Interrupted } from './output/failure.ts'
import type { Io } from './output/io.ts'
import { type MessageFlags, type Messages, messagesFor } from './output/messages.ts'
import { countOf, sizeOf } from './output/units.ts'
import { blockFrom } from './range.ts'
import { type RedisFlags, redisFlags } from './redis.ts'
import { onSignals } from './signals.ts'
import { Trouble } from './trouble.ts'

/** The flags that say what to export. */
export interface ExportFlags extends LimitFlags {
  readonly from: string
  readonly to: string
  readonly tables: string
  readonly format: string
  readonly columns?: string
  readonly blocksPerFile?: string
  readonly verify: string
}

interface Flags extends ExportFlags, MessageFlags, MetricsFlags, RedisFlags {
  readonly out: string
  readonly attempts?: string
  readonly shard?: string
}

/** `hexline export`: a range of blocks as a folder of tables. */
export function exportCommand(io: Io): Command {
  const command = new Command('export')
    .summary('a range of blocks as a folder of tables')
    .description(
      'Writes a range of blocks to a folder, with one file for each table and thousand blocks, and manifest.json, which says what is there. ' +
        'Run again, the same command continues a folder, however the last run ended; with a larger --to, it extends the folder.',
    )
  const out = new Option('--out <folder>', 'a new or empty folder, or one to continue').makeOptionMandatory()
  return redisFlags(exportFlags(command, out, true), 'let workers export it (see `hexline worker`), through a queue on Redis')
    .option('--attempts <number>', 'with --redis: attempts for each range before it is set aside (default: 5)')
    .option('--shard <index/count>', 'export only this share of the ranges, from 1/8 to 8/8, beside other processes or machines; hexline merge joins them')
    .option(...METRICS_FLAG)
    .option('--quiet', 'print errors only')
    .option('--json', 'print progress and errors as lines of JSON on stderr')
    .addHelpText(
      'after',
      `
Examples:
  hexline export --rpc http://127.0.0.1:8545 --from 0 --to finalized --out mainnet
  hexline export --rpc http://127.0.0.1:8545 --from 0 --to finalized --out /mnt/mainnet --redis redis://10.0.0.5:6379
  HEXLINE_RPC_URL=https://rpc.example.com/KEY hexline export --from 21000000 --to 21099999 --out logs --tables blocks,receipts,logs
  HEXLINE_API_KEY=… hexline export --base-url https://rpc.example.com --chain base --from 20000000 --to finalized --out base --format ndjson.gz --rate 100

The folder is described in docs/datasets.md.`,
    )
    .action((flags: Flags, own: Command) =>
      withMetrics(flags, io, () => {
        if (flags.redis !== undefined) return exportByWorkers(flags, exportOptionsFrom(flags), io)
        checkAlone(flags, own)
        return exportFolder(flags, io)
      }).catch((error: unknown) => {
        throw namingDefault(error, own)
      }),
    )
}

/**
 * Throws `OptionError` for flags that only mean something with `--redis`: it alone says that
 * workers export.
 */
function checkAlone({ attempts, queue }: Flags, command: Command): void {
  if (attempts !== undefined) throw new OptionError('--attempts', 'no --attempts without --redis', attempts)
  if (command.getOptionValueSource('queue') === 'cli') throw new OptionError('--queue', 'no --queue without --redis', show(queue))
}

/** What differs from the folder may be a default, which the user has not typed. */
function namingDefault(error: unknown, command: Command): unknown {
  if (!(error instanceof OptionError) || command.getOptionValueSource(error.option) !== 'default') return error
  return new OptionError(error.option, error.expected, error.received.replace(/(?=; nothing was changed$)/, ', the default'))
}

/**
 * Adds the flags that say what to export, among them where to; with `orFollow`, `--to follow`, too.
 */
export function exportFlags(command: Command, out: Option, orFollow = false): Command {
  return limitFlags(
    addNodeFlags(command)
      .requiredOption('--from <block>', 'first block: a number, in decimal or hex')
      .requiredOption(
        '--to <block>',
        `last block, included: a number, or earliest, latest, safe, finalized${orFollow ? '; or follow, to add ranges as they become final' : ''}`,
      )
      .addOption(out)
      .option('--tables <names>', `which tables, separated by commas: ${tableNames.join(', ')}`, 'blocks,transactions')
      .addOption(new Option('--format <format>', 'how rows are stored').choices(formats).default('parquet'))
      .option('--columns <names>', 'Parquet: the columns to store, such as transactions.hash,transactions.value (default: all)')
      .option('--blocks-per-file <blocks>', 'blocks in each file (default: 1000)')
      .addOption(new Option('--verify <level>', 'how much to check of each block').choices(verifyLevels).default('link')),
  )
}

/** What to export, as options of `exportDataset`. Throws `OptionError`. */
export function exportOptionsFrom(flags: ExportFlags): Omit<ExportDatasetOptions, 'dir'> {
  return {
    from: blockFrom(flags.from) as bigint,
    to: blockFrom(flags.to) as bigint,
    format: flags.format as ExportDatasetOptions['format'] & string,
    tables: namesFrom(flags.tables) as ExportDatasetOptions['tables'] & string[],
    ...(flags.columns !== undefined && { columns: namesFrom(flags.columns) }),
    ...(flags.blocksPerFile !== undefined && { blocksPerFile: numberFrom('--blocks-per-file', flags.blocksPerFile) }),
    verify: flags.verify as ExportDatasetOptions['verify'] & string,
  }
}

async function exportFolder(flags: Flags, io: Io): Promise<void> {
  const messages = messagesFor(flags, io)
  const stop = new AbortController()
  const failures = new FailureCount()
  const meter = new Meter(io, messages, flags, failures)
  const follows = flags.to === 'follow'
  const shard = shardFrom(flags)
  const job = checkExportOptions({
    ...exportOptionsFrom(follows ? { ...flags, to: 'finalized' } : flags),
    dir: flags.out,
    ...(shard && { shard }),
    signal: stop.signal,
    onProgress: (progress) => meter.update(progress),
  })
  const client = createClient(endpointFrom(flags, io.env, messages), { ...limitsFrom(flags), layers: (defaults) => [...defaults, failures.layer] })
  const release = onSignals((name, code) => stop.abort(new Interrupted(`ended by ${name}; the same command continues ${flags.out}`, code)))
  const run = async (part: ExportJob) => {
    meter.start()
    try {
      const summary = await runExport(client, part)
      meter.finish()
      reportSummary(summary)
    } finally {
      meter.clear()
    }
  }
  try {
    if (follows) await exportWhatIsFinal(client, job, messages, run)
    else await run(job)
  } finally {
    meter.clear()
    release()
    await client.close()
  }

  function reportSummary({ from, to, ranges, files, rows, bytes }: ExportSummary): void {
    const range = to < from ? 'no blocks' : `blocks ${from} to ${to}`
    const has = shard === undefined ? `has ${range}` : `has shard ${flags.shard} of ${range}`
    const added = ranges === 0 ? 'nothing to add' : `added ${countOf(files, 'file')}, ${countOf(rows, 'row')}, ${sizeOf(bytes)}`
    messages.tell(`${flags.out} ${has}: ${added}`, {
      type: 'dataset',
      ...(shard && { shard }),
      from: from.toString(),
      to: to.toString(),
      ranges,
      files,
      rows,
      bytes,
    })
  }
}

/** The share of `--shard 3/8`. Throws `OptionError`. */
function shardFrom({ shard, to }: Flags): Shard | undefined {
  if (shard === undefined) return undefined
  if (to === 'follow') throw new OptionError('--shard', 'a last block or finalized with --to: shards share a range that has an end', '--to follow')
  const [, index, of] = /^(\d+)\/(\d+)$/.exec(shard)?.map(Number) ?? []
  if (index === undefined || of === undefined || index < 1 || index > of)
    throw new OptionError('--shard', 'a share such as 3/8, from 1/8 to 8/8', /^[\d./-]{1,20}$/.test(shard) ? shard : show(shard))
  if (of > MOST_SHARDS) throw new OptionError('--shard', `a share of at most ${MOST_SHARDS} shards`, shard)
  return { index, of }
}

/** Exports each whole range of blocks as soon as it is final, without end. */
async function exportWhatIsFinal(client: Client, job: ExportJob, messages: Messages, run: (part: ExportJob) => Promise<void>): Promise<void> {
  const { stream, header } = job
  const { from } = stream.range
  const trouble = new Trouble(messages)
  const onProgress = ({ failure }: FollowProgress) => trouble.tell(failure)
  const wanted = { from: 'latest', confirmations: 'finalized', onProgress, ...(stream.signal && { signal: stream.signal }) } as const
  let done = from - 1n
  for await (const item of follow(client, wanted)) {
    if (item.type === 'rollback') throw new IntegrityError(`the node has replaced blocks above ${item.to}, which it had called final: verify the dataset`)
    const to = lastOfWholeRanges(item.block.number, BigInt(header.blocksPerFile))
    if (to <= done) continue
    try {
      await run({ ...job, stream: { ...stream, range: { from, to } } })
      done = to
    } catch (error) {
      // What is down now is there again when the next block is final.
      if (!isFailure(error) || mayRepeat(error) !== true) throw error
      trouble.tell(error)
    }
  }
}

/** The last block of the aligned ranges that end at this block or before it. */
function lastOfWholeRanges(number: bigint, blocksPerFile: bigint): bigint {
  return number - ((number + 1n) % blocksPerFile)
}

function namesFrom(text: string): string[] {
  return text.split(',').map((name) => name.trim())
}
