import { Command } from 'commander'
import { blocksCommand } from './blocks.ts'
import { callCommand } from './call.ts'
import { nftCommand, streamsCommand } from './nft.ts'
import { UsageError } from './output/failure.ts'
import { withoutValues } from './output/given.ts'
import type { Messages } from './output/messages.ts'
import { probeCommand } from './probe.ts'
import { sandboxCommand } from './sandbox.ts'
import { tokensCommand, txCommand } from './tokens.ts'

/** The command with all that it can do. Wrong usage is told to `messages` and ends the process. */
export function createProgram(version: string, messages: Messages): Command {
  // What only some commands need, such as schemas, they load when they run.
  const program = new Command('hexline')
    .description('Talks to Ethereum nodes over JSON-RPC, and to a data service over REST.')
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .version(version)
    .addCommand(callCommand())
    .addCommand(blocksCommand())
    .addCommand(probeCommand())
    .addCommand(tokensCommand())
    .addCommand(txCommand())
    .addCommand(nftCommand())
    .addCommand(streamsCommand())
    .addCommand(sandboxCommand())
  for (const command of [program, ...program.commands, ...program.commands.flatMap(({ commands }) => commands)]) {
    command.configureOutput({
      outputError: (text) => messages.fail(new UsageError(withoutValues(text.replace(/^error: /, '').trim()).replaceAll('\n', ' '))),
    })
    // Wrong usage ends with 2, so that scripts can tell it from a failed job.
    command.exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
  }
  return program
}
