import { Command, Option } from 'commander'
import { checkBlockOptions } from '../bulk/get-blocks.ts'
import { checkLogOptions } from '../bulk/get-logs.ts'
import type { Client } from '../client/client.ts'
import { createClient } from '../client/create-client.ts'
import { checkExportOptions } from '../dataset/export/export-options.ts'
import { type CheckedPlanOptions, checkPlanOptions } from '../plan/plan.ts'
import { type BlocksPlan, runBlocksPlan } from '../plan/plan-blocks.ts'
import { type ExportPlan, runExportPlan } from '../plan/plan-export.ts'
import { type LogsPlan, runLogsPlan } from '../plan/plan-logs.ts'
import { type Provider, providers } from '../plan/provider.ts'
import { type BlocksFlags, blocksFlags, blocksOptionsFrom, type LimitFlags, limitsFrom } from './blocks.ts'
import { type ExportFlags, exportFlags, exportOptionsFrom } from './export.ts'
import { type LogsFlags, logsFlags, logsOptionsFrom } from './log-flags.ts'
import { endpointFrom, numberFrom } from './node.ts'
import { Interrupted } from './output/failure.ts'
import { type Io, widthOf } from './output/io.ts'
import { toJson } from './output/json.ts'
import { type MessageFlags, messagesFor } from './output/messages.ts'
import { printText } from './output/print.ts'
import { planText } from './plan-text.ts'
import { rangeOfLast } from './range.ts'
import { onSignals } from './signals.ts'

interface PlanFlags extends LimitFlags, MessageFlags {
  readonly sample?: string
  readonly provider?: string
}

type AnyPlan = ExportPlan | BlocksPlan | LogsPlan

/** `hexline plan`: what a job will take, before it starts. */
export function planCommand(io: Io): Command {
  const described = (name: string, of: string, flags = '') =>
    new Command(name)
      .summary(`what hexline ${name} will take`)
      .description(`Estimates what ${of} will take: calls, bytes over the wire and on disk, time, and what providers charge. Writes nothing.`)
      .addHelpText(
        'after',
        `
Examples:
  hexline plan ${name} --rpc http://127.0.0.1:8545${flags} --from 0 --to finalized
  HEXLINE_RPC_URL=https://rpc.example.com/KEY hexline plan ${name}${flags} --from 21000000 --to 21099999 --sample 50 --json`,
      )
  return new Command('plan')
    .summary('what an export, blocks or logs will take')
    .description(
      'Estimates what a job will take: calls, bytes over the wire and on disk, time, and what providers charge. ' +
        'It takes the options that say what to fetch, and how fast, asks the node for a sample of the range, and writes nothing.',
    )
    .addCommand(
      planFlags(exportFlags(described('export', 'an export into a new folder'), new Option('--out <folder>', 'not used')))
        .option('--shard <index/count>', 'not used: the plan is for all shards together')
        .action((flags: ExportFlags & PlanFlags) =>
          reportPlan(flags, io, (signal, plan) => {
            const job = checkExportOptions({ ...exportOptionsFrom(flags), dir: '.', signal })
            return (client) => runExportPlan(client, job, plan)
          }),
        ),
    )
    .addCommand(
      planFlags(blocksFlags(described('blocks', 'a range of blocks as NDJSON'))).action((flags: BlocksFlags & PlanFlags) =>
        reportPlan(flags, io, (signal, plan) => {
          const job = checkBlockOptions({ ...blocksOptionsFrom(flags), signal })
          return async (client) => runBlocksPlan(client, await rangeOfLast(job, flags, client.with({ signal })), plan)
        }),
      ),
    )
    .addCommand(
      planFlags(logsFlags(described('logs', 'the logs of a range, and each audit of them,', " --event 'Transfer(address,address,uint256)'"))).action(
        (flags: LogsFlags & PlanFlags) =>
          reportPlan(flags, io, (signal, plan) => {
            const job = checkLogOptions({ ...logsOptionsFrom(flags), signal })
            return async (client) => runLogsPlan(client, await rangeOfLast(job, flags, client.with({ signal })), plan)
          }),
      ),
    )
    .addHelpText(
      'after',
      `
Examples:
  hexline plan export --rpc http://127.0.0.1:8545 --from 0 --to finalized --tables blocks,receipts,logs
  HEXLINE_RPC_URL=https://rpc.example.com/KEY hexline plan blocks --from 21000000 --to 21099999 --receipts --rate 25
  hexline plan logs --rpc http://127.0.0.1:8545 --address 0xdAC17F958D2ee523a2206206994597C13D831ec7 --from 0 --to finalized --json

What the figures mean is described in docs/plan.md.`,
    )
}

function planFlags(command: Command): Command {
  // The options of the command itself may be kept, but a plan writes no file.
  for (const option of command.options) if (option.long === '--out' || option.long === '--force') option.description = 'not used'
  return command
    .option('--sample <blocks>', 'blocks to fetch whole; ten times as many headers are fetched (default: 20)')
    .option('--provider <name>', `whose units to count: ${providers.join(', ')} (default: that of the node, or all)`)
    .option('--json', 'print one JSON object')
    .option('--quiet', 'print the plan and errors only')
}

/** `check` throws `OptionError` before a client is made. */
async function reportPlan(
  flags: PlanFlags,
  io: Io,
  check: (signal: AbortSignal, options: CheckedPlanOptions) => (client: Client) => Promise<AnyPlan>,
): Promise<void> {
  const messages = messagesFor(flags, io)
  const stop = new AbortController()
  const options = checkPlanOptions({
    sample: flags.sample === undefined ? undefined : numberFrom('--sample', flags.sample),
    provider: flags.provider as Provider | undefined,
  })
  const run = check(stop.signal, options)
  const client = createClient(endpointFrom(flags, io.env, messages), limitsFrom(flags))
  const release = onSignals((name, code) => stop.abort(new Interrupted(`ended by ${name}; nothing was written`, code)))
  try {
    messages.tell(`asking ${client.endpoints.join(', ')} for at most ${options.sample} blocks and ${10 * options.sample} headers`, {
      type: 'sample',
      endpoints: client.endpoints,
      blocks: options.sample,
    })
    const plan = await run(client)
    if (plan.missing !== null) messages.warn(missingText(plan.missing))
    await printText(io.stdout, flags.json ? `${toJson(plan)}\n` : `${planText(plan, widthOf(io.stdout))}\n`)
  } finally {
    release()
    await client.close()
  }
}

function missingText({ blocks, from, to, why }: NonNullable<AnyPlan['missing']>): string {
  const which = blocks === 1 ? `block ${from} is` : `${blocks} of the sampled blocks, from ${from} to ${to}, are`
  return `${which} not there, and the job would fail (${why})`
}
