#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { blocksCommand } from './blocks.ts'
import { exitCodeOf, messageOf } from './failure.ts'

const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }

const program = new Command('hexline').description('Talks to Ethereum nodes over JSON-RPC.').version(version).addCommand(blocksCommand())
for (const command of [program, ...program.commands]) {
  command.configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'hexline: ')) })
  // Wrong usage ends with 2, so that scripts can tell it from a failed job.
  command.exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))
}

try {
  await program.parseAsync()
} catch (error) {
  process.stderr.write(`hexline: ${messageOf(error)}\n`)
  process.exitCode = exitCodeOf(error)
}
