import { HexlineError, IntegrityError } from '../../errors.ts'
import { harmlessText } from '../../text.ts'
import { exitCodeOf, Interrupted, messageOf, NotFound, Unfinished, UsageError } from './failure.ts'
import type { Io } from './io.ts'
import { toJson } from './json.ts'
import { argumentScrubber } from './redact.ts'

/** What the command writes to stderr: sentences, or with `--json` one line of JSON each. */
export interface Messages {
  /** Not with `--quiet`. `--json` prints `facts` instead of the sentence. */
  tell(sentence: string, facts: Readonly<Record<string, unknown>>): void
  /** Not with `--quiet`. */
  warn(sentence: string): void
  /** Always. */
  fail(error: unknown): void
  /** The sentence for an error, as `fail` prints it. */
  explain(error: unknown): string
}

export interface MessageFlags {
  readonly quiet?: boolean
  readonly json?: boolean
}

/** Arguments that may be secrets are hidden in the messages of a server that echoes them. */
export function messagesFor({ quiet = false, json = false }: MessageFlags, { stderr, args }: Pick<Io, 'stderr' | 'args'>): Messages {
  const scrub = argumentScrubber(args)
  const explain = (error: unknown) => messageOf(error, scrub)
  const print = (sentence: string, facts: object) => stderr.write(`${json ? toJson(facts) : harmlessText(sentence)}\n`)
  return {
    tell(sentence, facts) {
      if (!quiet) print(sentence, facts)
    },
    warn(sentence) {
      if (!quiet) print(`hexline: warning: ${sentence}`, { type: 'warning', message: sentence })
    },
    fail(error) {
      const message = explain(error)
      const cause = error instanceof Unfinished ? error.cause : error
      const hasKind = cause instanceof HexlineError || cause instanceof UsageError || cause instanceof NotFound
      const { kind, method, endpoint, attempts, retryAfterMs } = hasKind ? (cause as Partial<HexlineError>) : ({} as Partial<HexlineError>)
      const { next, isCut } = error instanceof Unfinished ? error : ({} as Partial<Unfinished>)
      const { file, block, field, expected, found } = cause instanceof IntegrityError ? cause : ({} as Partial<IntegrityError>)
      const facts = {
        file,
        block,
        field,
        expected,
        found,
        kind,
        method,
        endpoint,
        attempts,
        retryAfterMs,
        next,
        ...(isCut && { isCut }),
        exitCode: exitCodeOf(error),
      }
      print(`hexline: ${message}`, { type: cause instanceof Interrupted ? 'interrupted' : 'error', message, ...facts })
    },
    explain,
  }
}
