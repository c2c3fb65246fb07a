import type { Caller } from './caller.ts'
import { Entry, mayShare } from './entry.ts'
import { Line } from './line.ts'

/** The two lines of an endpoint. */
export class Lines {
  readonly interactive: Line
  readonly bulk: Line
  readonly #dedupe: boolean

  /** `onDropped` is called when the first or the last entry of a line has been dropped. */
  constructor(dedupe: boolean, onDropped: () => void) {
    this.#dedupe = dedupe
    this.interactive = new Line(onDropped)
    this.bulk = new Line(onDropped)
  }

  /**
   * Gives the caller's call, with its params as JSON, a place in its line, or lets it join an
   * identical one.
   */
  add(caller: Caller, json: string): void {
    const { call } = caller
    const line = call.priority === 'bulk' ? this.bulk : this.interactive
    const same = this.#dedupe && line.size > 0 && mayShare(call) ? line.find(call, json) : undefined
    if (same !== undefined) {
      same.join(caller)
      return
    }
    const entry = new Entry(call, json, caller)
    // What comes back from a failure is older than what waits.
    if (call.tried.length > 0) line.insertByAge(entry)
    else line.push(entry)
  }

  get size(): number {
    return this.interactive.size + this.bulk.size
  }

  /** The line whose calls go first. */
  get first(): Line {
    return this.interactive.size > 0 ? this.interactive : this.bulk
  }

  /** A copy of what waits, in the order in which it goes. */
  list(): Entry[] {
    return [...this.interactive.list(), ...this.bulk.list()]
  }

  /** The callers that wait in line. */
  get callers(): Caller[] {
    return this.list().flatMap(({ callers }) => callers)
  }
}
