import { harmlessJson } from '../../text.ts'

/**
 * A value as one line of JSON, without characters that control a terminal. Bigints become strings,
 * since most programs read large JSON numbers imprecisely.
 */
export function toJson(value: unknown): string {
  return harmlessJson(JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? item.toString() : item)))
}

/**
 * A line of a server's JSON for a terminal: the same JSON, with characters that control a terminal
 * escaped.
 */
export function lineForTerminal(pieces: readonly Uint8Array[]): Uint8Array {
  return Buffer.from(`${harmlessJson(Buffer.concat(pieces).toString('utf8').trimEnd())}\n`)
}
