import { Command, Help, type Option } from 'commander'
import { nearestName } from '../nearest-name.ts'
import { UsageError } from './output/failure.ts'
import type { Io } from './output/io.ts'
import type { Messages } from './output/messages.ts'
import { redact, redactUsage } from './output/redact.ts'

/** The commands, in the order of the help. Each has a module, which is loaded when it is needed. */
const COMMANDS: Readonly<Record<string, (io: Io) => Promise<Command>>> = {
  call: async (io) => (await import('./call.ts')).callCommand(io),
  blocks: async (io) => (await import('./blocks.ts')).blocksCommand(io),
  logs: async (io) => (await import('./logs.ts')).logsCommand(io),
  follow: async (io) => (await import('./follow.ts')).followCommand(io),
  export: async (io) => (await import('./export.ts')).exportCommand(io),
  worker: async (io) => (await import('./worker.ts')).workerCommand(io),
  jobs: async (io) => (await import('./jobs.ts')).jobsCommand(io),
  merge: async (io) => (await import('./merge.ts')).mergeCommand(io),
  verify: async (io) => (await import('./verify.ts')).verifyCommand(io),
  plan: async (io) => (await import('./plan.ts')).planCommand(io),
  sql: async (io) => (await import('./sql.ts')).sqlCommand(io),
  probe: async (io) => (await import('./probe.ts')).probeCommand(io),
  tokens: async (io) => (await import('./tokens.ts')).tokensCommand(io),
  tx: async (io) => (await import('./tokens.ts')).txCommand(io),
  nft: async (io) => (await import('./nft.ts')).nftCommand(io),
  streams: async (io) => (await import('./nft.ts')).streamsCommand(io),
  sandbox: async (io) => (await import('./sandbox.ts')).sandboxCommand(io),
  completion: async (io) => (await import('./completion.ts')).completionCommand(io),
}

/**
 * The command line: with the command that `io.args` names, or with all where they name none. A
 * usage error is reported to `messages` and thrown as `CommanderError`, and so is the end of a help
 * that was asked for, whose text goes to `take`.
 */
export async function createProgram(version: string, messages: Messages, io: Io, take: (text: string) => void): Promise<Command> {
  const program = new Command('hexline').description('Talks to Ethereum nodes over JSON-RPC, and to a data service over REST.').version(version)
  for (const name of neededFor(io.args)) program.addCommand(await (COMMANDS[name] as (io: Io) => Promise<Command>)(io))
  for (const command of [program, ...program.commands, ...program.commands.flatMap(({ commands }) => commands)]) {
    command.configureHelp({ subcommandTerm: (below) => below.name(), minWidthToWrap: NARROW, formatItem, optionDescription })
    command.configureOutput({
      writeOut: take,
      // Help where a command is missing, or where one was asked for that does not exist.
      writeErr(help) {
        const unknown = askedFor(io.args)
        if (unknown === undefined) io.stderr.write(help)
        // Its examples come by themselves.
        else if (help.startsWith('Usage:')) messages.fail(new UsageError(withHelp(redactUsage(unknownText('command', unknown, namesOf(command))), command)))
      },
      getOutHelpWidth: () => io.stdout.columns ?? 80,
      outputError(text) {
        const mistyped = flagWithValue(command, text) ?? mistypedOption(command, text, io.args)
        const message = redactUsage(mistyped ?? text.replace(/^error: /, '').trim())
        messages.fail(new UsageError(withHelp(message + (mistyped === undefined ? insteadOf(command, text, io.args) : ''), command).replaceAll('\n', ' ')))
      },
    })
    command.exitOverride()
    refuseFlagsAsValues(command, io.args)
  }
  return program
}

/** For a flag in the place of a value: `--out --force` would write a file called `--force`. */
function refuseFlagsAsValues(command: Command, args: readonly string[]): void {
  const flags = new Set(new Help().visibleOptions(command).flatMap(({ long, short }) => [long, short]))
  for (const option of command.options)
    if (option.required)
      command.on(`option:${option.name()}`, (value: string) => {
        if (flags.has(value) && !args.includes(`${option.long}=${value}`)) command.error(`error: option '${option.flags}' argument missing`)
      })
}

/** Names of the commands to load: loading all takes as long as a short call. */
function neededFor([first, ...others]: readonly string[]): string[] {
  if ((first === '--version' || first === '-V') && others.length === 0) return []
  // The script of `completion` has all.
  return first !== undefined && first !== 'completion' && Object.hasOwn(COMMANDS, first) ? [first] : Object.keys(COMMANDS)
}

/** Least width in which sentences of the help are wrapped. */
const NARROW = 20

/** An item of the help: what it is about beside it, or below it where the terminal is narrow. */
function formatItem(this: Help, term: string, termWidth: number, description: string, helper: Help): string {
  const { helpWidth = 80 } = this
  const indent = ' '.repeat(6)
  if (description === '' || helpWidth - termWidth >= 2 * NARROW) return Help.prototype.formatItem.call(this, term, termWidth, description, helper)
  return `  ${term}\n${indent}${helper.boxWrap(description, helpWidth - indent.length).replaceAll('\n', `\n${indent}`)}`
}

/** What an option does. That a flag is off unless it is given goes without saying. */
function optionDescription(this: Help, option: Option): string {
  return Help.prototype.optionDescription.call(this, option).replace(' (default: false)', '')
}

/** To commander, a flag with a value is an unknown option, which may be like that flag. */
function flagWithValue(command: Command, text: string): string | undefined {
  const [, name] = /^error: unknown option '(--[^=]*)=/.exec(text) ?? []
  return command.options.some(({ long }) => long === name) ? `option '${name}' takes no value` : undefined
}

/** Where an option is missing, commander does not tell of one that is only mistyped. */
function mistypedOption(command: Command, text: string, args: readonly string[]): string | undefined {
  if (!text.startsWith('error: required option')) return undefined
  const { options } = command
  for (let i = 0; i < args.length && args[i] !== '--'; i++) {
    const [name = ''] = (args[i] as string).split('=', 1)
    if (!name.startsWith('-')) continue
    const option = options.find(({ long, short }) => name === long || name === short)
    if (option === undefined) {
      const known = options.map(({ long }) => long ?? '')
      return unknownText('option', name, known)
    }
    // Its value may begin with a dash, too.
    if (option.required && name === args[i]) i++
  }
  return undefined
}

/** What to do about a missing or unknown option, or which argument is too many, if known. */
function insteadOf(command: Command, text: string, args: readonly string[]): string {
  if (text.startsWith('error: too many arguments')) {
    const [first = '', ...others] = command.args.slice(command.registeredArguments.length)
    return ` Not expected: ${redact(first)}${others.length === 0 ? '' : ` and ${others.length} more`}`
  }
  const [, unknown] = /^error: unknown option '(--?[^'=]+)/.exec(text) ?? []
  const having = command.commands.filter(({ options }) => options.some(({ long }) => long === unknown))
  const below = having.find((candidate) => args.includes(candidate.name())) ?? having[0]
  if (below !== undefined) return `: it goes after the name of a command, as in '${pathOf(below)} ${unknown}'`
  const flagsOf = (name: string) => command.options.find(({ long }) => long === name)?.flags
  const last = flagsOf('--last')
  if (last !== undefined && text.startsWith("error: required option '--from")) return `, nor '${last}'`
  const against = flagsOf('--against')
  if (!/^error: unknown option '--rpc['=]/.test(text)) return ''
  if (against !== undefined) return `: here '${against}' names the node`
  if (flagsOf('--data-url') ?? flagsOf('--nft-url') ?? flagsOf('--streams-url')) return ': this command reads from the REST service, not from a node'
  return ''
}

/** The command that `hexline help COMMAND` asks for. */
function askedFor(args: readonly string[]): string | undefined {
  const at = args.indexOf('help')
  const name = at < 0 ? undefined : args.slice(at + 1).find((arg) => !arg.startsWith('-'))
  return name === 'help' ? undefined : name
}

function namesOf(command: Command): string[] {
  return command.commands.map((below) => below.name())
}

/** Says where the commands are listed, for an unknown one that is like none of them. */
function withHelp(message: string, command: Command): string {
  if (!message.startsWith('unknown command') || message.includes('Did you mean')) return message
  return `${message}; '${pathOf(command)} --help' lists the commands`
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
}

/** In commander's words. */
function unknownText(what: string, given: string, names: readonly string[]): string {
  const near = nearestName(given, names)
  return `unknown ${what} '${given}'${near === undefined ? '' : ` (Did you mean ${near}?)`}`
}
