import { Command } from 'commander'
import { blocksCommand } from './blocks.ts'
import { callCommand } from './call.ts'
import { completionCommand } from './completion.ts'
import { exportCommand } from './export.ts'
import { followCommand } from './follow.ts'
import { jobsCommand } from './jobs.ts'
import { logsCommand } from './logs.ts'
import { mergeCommand } from './merge.ts'
import { nftCommand, streamsCommand } from './nft.ts'
import { UsageError } from './output/failure.ts'
import type { Io } from './output/io.ts'
import type { Messages } from './output/messages.ts'
import { redactUsage } from './output/redact.ts'
import { planCommand } from './plan.ts'
import { probeCommand } from './probe.ts'
import { sandboxCommand } from './sandbox.ts'
import { sqlCommand } from './sql.ts'
import { tokensCommand, txCommand } from './tokens.ts'
import { verifyCommand } from './verify.ts'
import { workerCommand } from './worker.ts'

/**
 * The command line with all its commands. A usage error is reported to `messages` and thrown as
 * `CommanderError`.
 */
export function createProgram(version: string, messages: Messages, io: Io): Command {
  // What only one command needs, such as the REST schemas, is loaded when that command runs.
  const program = new Command('hexline')
    .description('Talks to Ethereum nodes over JSON-RPC, and to a data service over REST.')
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .version(version)
    .addCommand(callCommand(io))
    .addCommand(blocksCommand(io))
    .addCommand(logsCommand(io))
    .addCommand(followCommand(io))
    .addCommand(exportCommand(io))
    .addCommand(workerCommand(io))
    .addCommand(jobsCommand(io))
    .addCommand(mergeCommand(io))
    .addCommand(verifyCommand(io))
    .addCommand(planCommand(io))
    .addCommand(sqlCommand(io))
    .addCommand(probeCommand(io))
    .addCommand(tokensCommand(io))
    .addCommand(txCommand(io))
    .addCommand(nftCommand(io))
    .addCommand(streamsCommand(io))
    .addCommand(sandboxCommand(io))
    .addCommand(completionCommand(io))
  for (const command of [program, ...program.commands, ...program.commands.flatMap(({ commands }) => commands)]) {
    command.configureOutput({
      writeOut(text) {
        // The reader of the help, such as `head`, has closed it.
        io.stdout.once('error', () => {})
        io.stdout.write(text)
      },
      getOutHelpWidth: () => io.stdout.columns ?? 80,
      outputError: (text) => messages.fail(new UsageError(redactUsage(text.replace(/^error: /, '').trim()).replaceAll('\n', ' '))),
    })
    command.exitOverride()
  }
  return program
}
