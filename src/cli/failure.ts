import { excerpt, OptionError } from '../errors.ts'

/** Ended by the user: Ctrl-C, or SIGTERM. */
export class Interrupted extends Error {
  /** 128 and the number of the signal, as shells count. */
  readonly exitCode: number

  constructor(message: string, exitCode: number) {
    super(message)
    this.exitCode = exitCode
  }
}

/** 2 for wrong usage, 128 + signal when interrupted, else 1. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Interrupted) return error.exitCode
  return error instanceof OptionError ? 2 : 1
}

/** One line that says what went wrong. Options are named as on the command line. */
export function messageOf(error: unknown): string {
  if (error instanceof OptionError) return flagOf(error.option) + error.message.slice(error.option.length)
  return error instanceof Error ? excerpt(error.message) : String(error)
}

const flags: Readonly<Record<string, string>> = { endpoint: '--rpc', from: '--from', to: '--to', transactions: '--transactions' }

function flagOf(option: string): string {
  return Object.hasOwn(flags, option) ? (flags[option] as string) : option
}
