import type { Call } from '../call.ts'
import type { Caller } from './caller.ts'
import { Entry, mayShare } from './entry.ts'
import { Line } from './line.ts'

/** The lines of an endpoint: two, and one for each method whose calls are to wait apart. */
export class Lines {
  readonly interactive: Line
  readonly bulk: Line
  readonly #dedupe: boolean
  readonly #onDropped: () => void
  /** By their methods. They hold calls of both priorities. */
  readonly #apart = new Map<string, Line>()
  #methodsApart: ReadonlySet<string> = new Set()

  /** `onDropped` is called when the first or the last entry of a line has been dropped. */
  constructor(dedupe: boolean, onDropped: () => void) {
    this.#dedupe = dedupe
    this.#onDropped = onDropped
    this.interactive = new Line(onDropped)
    this.bulk = new Line(onDropped)
  }

  /** Calls of these methods, and only these, wait apart from now on, each in a line of its own. */
  keepApart(methods: ReadonlySet<string>): void {
    if (methods === this.#methodsApart) return
    this.#methodsApart = methods
    for (const [method, line] of this.#apart) {
      if (methods.has(method)) continue
      this.#apart.delete(method)
      for (const entry of line.takeOut(() => true)) this.#lineOf(entry).insertByAge(entry)
    }
    for (const method of methods) {
      if (this.#apart.has(method)) continue
      const line = new Line(this.#onDropped)
      for (const from of [this.interactive, this.bulk]) for (const entry of from.takeOut((each) => each.method === method)) line.push(entry)
      this.#apart.set(method, line)
    }
  }

  /** Those that wait apart, by their methods. */
  get apart(): ReadonlyMap<string, Line> {
    return this.#apart
  }

  /** Does a call of another method wait? */
  hasOthers(method: string): boolean {
    return [this.interactive, this.bulk].some((line) => line.some((entry) => entry.method !== method))
  }

  #lineOf({ method, priority }: Pick<Call, 'method' | 'priority'>): Line {
    const apart = this.#apart.size === 0 ? undefined : this.#apart.get(method)
    return apart ?? (priority === 'bulk' ? this.bulk : this.interactive)
  }

  /**
   * Gives the caller's call, with its params as JSON, a place in its line, or lets it join an
   * identical one.
   */
  add(caller: Caller, json: string): void {
    const { call } = caller
    const line = this.#lineOf(call)
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

  /** Puts entries of a batch from this line that did not run back: at the front. */
  putBack(line: Line, entries: readonly Entry[]): void {
    line.putBack(entries.filter((entry) => this.#lineOf(entry) === line))
    // What the batch has shown may have sent them to another line.
    for (const entry of entries) if (this.#lineOf(entry) !== line) this.#lineOf(entry).insertByAge(entry)
  }

  get size(): number {
    let size = this.interactive.size + this.bulk.size
    for (const line of this.#apart.values()) size += line.size
    return size
  }

  /** The line whose calls go first. */
  get first(): Line {
    if (this.interactive.size > 0) return this.interactive
    if (this.bulk.size > 0) return this.bulk
    for (const line of this.#apart.values()) if (line.size > 0) return line
    return this.bulk
  }

  /** A copy of what waits, in the order in which it goes. */
  list(): Entry[] {
    return [this.interactive, this.bulk, ...this.#apart.values()].flatMap((line) => line.list())
  }

  /** The callers that wait in line. */
  get callers(): Caller[] {
    return this.list().flatMap(({ callers }) => callers)
  }
}
