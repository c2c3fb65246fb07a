import { Command } from 'commander'
import { blocksCommand } from './blocks.ts'
import { callCommand } from './call.ts'
import { nftCommand, streamsCommand } from './nft.ts'
import { UsageError } from './output/failure.ts'
import { withoutValues } from './output/given.ts'
import type { Io } from './output/io.ts'
import type { Messages } from './output/messages.ts'
import { probeCommand } from './probe.ts'
import { sandboxCommand } from './sandbox.ts'
import { tokensCommand, txCommand } from './tokens.ts'

/** The command with all that it can do. Wrong usage is told to `messages`, and a `CommanderError` is thrown. */
export function createProgram(version: string, messages: Messages, io: Io): Command {
  // What only some commands need, such as schemas, they load when they run.
  const program = new Command('hexline')
    .description('Talks to Ethereum nodes over JSON-RPC, and to a data service over REST.')
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .version(version)
    .addCommand(callCommand(io))
    .addCommand(blocksCommand(io))
    .addCommand(probeCommand(io))
    .addCommand(tokensCommand(io))
    .addCommand(txCommand(io))
    .addCommand(nftCommand(io))
    .addCommand(streamsCommand(io))
    .addCommand(sandboxCommand(io))
  for (const command of [program, ...program.commands, ...program.commands.flatMap(({ commands }) => commands)]) {
    command.configureOutput({
      writeOut: (text) => io.stdout.write(text),
      getOutHelpWidth: () => io.stdout.columns ?? 80,
      outputError: (text) => messages.fail(new UsageError(withoutValues(text.replace(/^error: /, '').trim()).replaceAll('\n', ' '))),
    })
    command.exitOverride()
  }
  return program
}
