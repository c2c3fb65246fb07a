import { harmlessJson } from '../../text.ts'

/** A value as JSON in one harmless line. Amounts become strings: they are larger than a number of JSON is read as. */
export function toJson(value: unknown): string {
  return harmlessJson(JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? item.toString() : item)))
}

/** A line of a server's own JSON, as a terminal may have it: it means the same, and has nothing that a terminal obeys. */
export function lineForTerminal(pieces: readonly Uint8Array[]): Uint8Array {
  return Buffer.from(`${harmlessJson(Buffer.concat(pieces).toString('utf8').trimEnd())}\n`)
}
