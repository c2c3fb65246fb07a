import type { Call } from '../call.ts'
import { type Entry, mayShare } from './entry.ts'

/**
 * The entries of a line that identical calls may join, by method and form of the result, and then
 * by params. Two lookups cost less than building one key of both.
 */
export class Joinable {
  readonly #entries = new Map<string, Map<string, Entry>>()

  /** The entry of a call that asks the same as this one, with its params as JSON. */
  find(call: Call, json: string): Entry | undefined {
    return this.#entries.get(askedBy(call))?.get(json)
  }

  /** In place of another one that asks the same. Not where none may join it. */
  add(entry: Entry): void {
    if (!mayShare(entry)) return
    const asked = askedBy(entry)
    let alike = this.#entries.get(asked)
    if (alike === undefined) {
      alike = new Map()
      this.#entries.set(asked, alike)
    }
    alike.set(entry.json, entry)
  }

  /** No call may join the entry, or the one that asks the same, any more. */
  delete(entry: Entry): void {
    if (mayShare(entry)) this.#entries.get(askedBy(entry))?.delete(entry.json)
  }
}

function askedBy({ as, method }: Call): string {
  return as === 'value' ? method : `${as} ${method}`
}
