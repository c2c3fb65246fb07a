import { Command, Option } from 'commander'
import { OptionError } from '../errors.ts'
import type { FollowOptions } from '../follow/follow.ts'
import { type LimitFlags, limitFlags, limitsFrom } from './blocks.ts'
import { filterFrom } from './log-flags.ts'
import { METRICS_FLAG, type MetricsFlags, withMetrics } from './metrics.ts'
import { addNodeFlags } from './node.ts'
import type { Io } from './output/io.ts'
import type { MessageFlags } from './output/messages.ts'
import { collect } from './params.ts'
import { blockFrom } from './range.ts'
import { runFollow } from './run-follow.ts'

interface Flags extends LimitFlags, MessageFlags, MetricsFlags {
  readonly from: string
  readonly transactions: 'full' | 'hashes'
  readonly receipts: boolean
  readonly logs: boolean
  readonly address?: readonly string[]
  readonly topic?: readonly string[]
  readonly event?: string
  readonly confirmations: string
  readonly cursor?: string
}

/** `hexline follow`: blocks and logs from history through the head. */
export function followCommand(io: Io): Command {
  const command = new Command('follow')
    .summary('blocks and logs as they come, as NDJSON')
    .description(
      'Writes each block as a line of JSON to stdout, from any past block through the head and onwards, without gaps. ' +
        'When the chain is reorganised, a line with "type":"rollback" names the blocks that were replaced, newest first. It runs until you stop it.',
    )
  return limitFlags(
    addNodeFlags(command)
      .option('--from <block>', 'first block: a number, in decimal or hex, or latest; a cursor file takes precedence', 'latest')
      .option('--cursor <file>', 'where to resume: written after each line, and read at the start')
      .option('--confirmations <blocks>', 'hold blocks back until this many follow them, or until they are safe or finalized', '0')
      .option('--logs', 'include all logs of each block', false)
      .option('--address <address>', 'include the logs of this contract; repeat it, or separate several with commas', collect)
      .option('--event <signature>', "include the logs of this event, such as 'Transfer(address,address,uint256)'")
      .option(
        '--topic <topic>',
        'the topic at the next position, after that of --event; repeat it. Separate alternatives with commas; `any` matches any topic, and an address is padded',
        collect,
      )
      .addOption(new Option('--transactions <kind>', 'whole transactions, or their hashes').choices(['full', 'hashes']).default('hashes'))
      .option('--receipts', 'include the receipts of each block, which contain its logs', false),
  )
    .option(...METRICS_FLAG)
    .option('--quiet', 'print errors only')
    .option('--json', 'print messages and errors as lines of JSON on stderr')
    .addHelpText(
      'after',
      `
Examples:
  hexline follow --rpc ws://127.0.0.1:8545
  HEXLINE_RPC_URL=wss://rpc.example.com/KEY hexline follow --from 21000000 --event 'Transfer(address,address,uint256)' --cursor usdt.cursor --address 0xdAC17F958D2ee523a2206206994597C13D831ec7 >> usdt.ndjson
  HEXLINE_API_KEY=… hexline follow --base-url https://rpc.example.com --chain base --confirmations finalized

With --cursor and >>, no line is missing or comes twice, however the last run ended. Into a pipe, the last line may come again.`,
    )
    .action((flags: Flags) =>
      withMetrics(flags, io, () => runFollow({ flags, limits: limitsFrom(flags), options: followOptionsFrom(flags), cursor: flags.cursor }, io)),
    )
}

/** What to follow, as options of `follow`. Throws `OptionError`. */
function followOptionsFrom(flags: Flags): FollowOptions {
  const filter = filterFrom(flags)
  const isFiltered = Object.keys(filter).length > 0
  if (flags.receipts && (isFiltered || flags.logs))
    throw new OptionError('--receipts', 'no --logs, --address, --event or --topic, since receipts have all logs', 'one of them')
  if (flags.logs && isFiltered) throw new OptionError('--logs', 'no --address, --event or --topic with it', 'one of them')
  return {
    from: blockFrom(flags.from) as bigint,
    logs: isFiltered ? filter : flags.logs,
    transactions: flags.transactions,
    receipts: flags.receipts,
    confirmations: (/^\d+$/.test(flags.confirmations) ? Number(flags.confirmations) : flags.confirmations) as number,
  }
}
