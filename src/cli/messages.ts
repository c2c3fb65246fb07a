import { HexlineError } from '../errors.ts'
import { exitCodeOf, messageOf, Unfinished } from './failure.ts'

/** What the command says on stderr: sentences for a person, or one line of JSON each. */
export interface Messages {
  /** Says it unless `--quiet`. `facts` are what `--json` prints in its place. */
  tell(sentence: string, facts: Readonly<Record<string, unknown>>): void
  /** Says it unless `--quiet`. */
  warn(sentence: string): void
  /** Always says it. */
  fail(error: unknown): void
}

export interface MessageFlags {
  readonly quiet?: boolean
  readonly json?: boolean
}

export function messagesFor({ quiet = false, json = false }: MessageFlags, stream: NodeJS.WritableStream): Messages {
  const print = (sentence: string, facts: object) => stream.write(`${json ? JSON.stringify(facts) : sentence}\n`)
  return {
    tell(sentence, facts) {
      if (!quiet) print(sentence, facts)
    },
    warn(sentence) {
      if (!quiet) print(`hexline: warning: ${sentence}`, { type: 'warning', message: sentence })
    },
    fail(error) {
      const message = messageOf(error)
      const cause = error instanceof Unfinished ? error.cause : error
      const { kind, method, endpoint, attempts } = cause instanceof HexlineError ? cause : ({} as Partial<HexlineError>)
      const next = error instanceof Unfinished ? error.next.toString() : undefined
      print(`hexline: ${message}`, { type: 'error', message, kind, method, endpoint, attempts, next, exitCode: exitCodeOf(error) })
    },
  }
}
