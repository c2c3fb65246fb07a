#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { blocksCommand } from './blocks.ts'
import { callCommand } from './call.ts'
import { exitCodeOf, UsageError } from './failure.ts'
import { withoutValues } from './given.ts'
import { messagesFor } from './messages.ts'
import { nftCommand, streamsCommand } from './nft.ts'
import { probeCommand } from './probe.ts'
import { sandboxCommand } from './sandbox.ts'
import { tokensCommand, txCommand } from './tokens.ts'

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }
const messages = messagesFor({ json: process.argv.includes('--json') }, process.stderr)

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

try {
  await program.parseAsync()
} catch (error) {
  messages.fail(error)
  process.exitCode = exitCodeOf(error)
}
