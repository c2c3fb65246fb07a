import type { Argument, Command, Option } from 'commander'
import { methodNames } from '../eth/methods.ts'

/** What a shell may offer for a value: these words, names of files or of folders, or nothing. */
export type Values = readonly string[] | 'files' | 'folders'

/** An option as a shell completes it. */
interface CompletedOption {
  /** Such as `-h` and `--help`. */
  readonly names: readonly string[]
  readonly description: string
  /** What its value may be. `undefined` for an option without a value. */
  readonly values: Values | undefined
  /** Whether it may stand without its value: a word that starts with `-` is none. */
  readonly isOptional: boolean
}

/** A command as a shell completes it. */
export interface CompletedCommand {
  /** The words that lead to it, after `hexline`: none for the program itself. */
  readonly path: readonly string[]
  /** One line, for lists of commands. */
  readonly summary: string
  readonly options: readonly CompletedOption[]
  /** By position. The last one is that of all further arguments if `isVariadic`. */
  readonly args: readonly Values[]
  readonly isVariadic: boolean
  /** The commands below it. */
  readonly commands: readonly CompletedCommand[]
}

/** Everything that `command` accepts, as its help lists it. */
export function completionTree(command: Command): CompletedCommand {
  return treeOf(command, [], [])
}

/** `beside` names the commands beside it. */
function treeOf(command: Command, path: readonly string[], beside: readonly string[]): CompletedCommand {
  const help = command.createHelp()
  const commands = help.visibleCommands(command)
  const names = commands.map((below) => below.name())
  return {
    path,
    summary: command.summary() || command.description(),
    options: help.visibleOptions(command).map(completedOption),
    args: command.registeredArguments.map((argument) => completedArgument(argument, beside)),
    isVariadic: command.registeredArguments.at(-1)?.variadic === true,
    commands: commands.map((below) => treeOf(below, [...path, below.name()], names)),
  }
}

/** The command and all commands below it. */
export function allCommands(command: CompletedCommand): CompletedCommand[] {
  return [command, ...command.commands.flatMap(allCommands)]
}

function completedOption({ short, long, description, flags, argChoices, required, optional }: Option): CompletedOption {
  return {
    names: [short, long].filter((name) => name !== undefined),
    description,
    values: required || optional ? (argChoices ?? valuesNamed(/[<[]([\w-]+)/.exec(flags)?.[1])) : undefined,
    isOptional: optional,
  }
}

function completedArgument(argument: Argument, beside: readonly string[]): Values {
  // That of `help`, a command that commander makes.
  if (argument.name() === 'command') return beside
  return argument.argChoices ?? valuesNamed(argument.name())
}

/** By the placeholder that the help shows. */
function valuesNamed(placeholder: string | undefined): Values {
  if (placeholder === 'file') return 'files'
  if (placeholder === 'folder') return 'folders'
  return placeholder === 'method' ? methodNames : []
}
