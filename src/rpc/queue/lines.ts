import type { HexlineError } from '../../errors.ts'
import type { Call, PooledCall } from '../call.ts'
import type { Caller } from './caller.ts'
import { Entry, mayShare } from './entry.ts'
import { Line } from './line.ts'

/** The lines of calls that wait together: interactive ones, which go first, and bulk ones. */
export interface LinePair {
  readonly interactive: Line
  readonly bulk: Line
}

/** The lines of an endpoint: two, and two more for each method whose calls are to wait apart. */
export class Lines implements LinePair {
  readonly interactive: Line
  readonly bulk: Line
  readonly #dedupe: boolean
  readonly #onDropped: () => void
  readonly #apart = new Map<string, LinePair>()
  #methodsApart: ReadonlySet<string> = new Set()

  /** `onDropped` is called when the first or the last entry of a line has been dropped. */
  constructor(dedupe: boolean, onDropped: () => void) {
    this.#dedupe = dedupe
    this.#onDropped = onDropped
    this.interactive = new Line('interactive', onDropped)
    this.bulk = new Line('bulk', onDropped)
  }

  /** Calls of these methods, and of no others, wait apart from now on, each in its own lines. */
  keepApart(methods: ReadonlySet<string>): void {
    if (methods === this.#methodsApart) return
    this.#methodsApart = methods
    for (const [method, pair] of this.#apart) {
      if (methods.has(method)) continue
      this.#apart.delete(method)
      for (const line of bothOf(pair)) for (const entry of line.takeOut(() => true)) this.#lineOf(entry).insertByAge(entry)
    }
    for (const method of methods) {
      if (this.#apart.has(method)) continue
      this.#apart.set(method, { interactive: new Line('interactive', this.#onDropped), bulk: new Line('bulk', this.#onDropped) })
      for (const line of bothOf(this)) for (const entry of line.takeOut((each) => each.method === method)) this.#lineOf(entry).push(entry)
    }
  }

  /** The lines of calls that wait apart, by their methods. */
  get apart(): ReadonlyMap<string, LinePair> {
    return this.#apart
  }

  /** Does a call of another method wait? */
  hasOthers(method: string): boolean {
    return bothOf(this).some((line) => line.some((entry) => entry.method !== method))
  }

  #lineOf({ method, priority }: Pick<Call, 'method' | 'priority'>): Line {
    const apart = this.#apart.size === 0 ? undefined : this.#apart.get(method)
    const { interactive, bulk } = apart ?? this
    return priority === 'bulk' ? bulk : interactive
  }

  /**
   * Gives the caller's call, with its params as JSON, a place in its line, or lets it join an
   * identical one.
   */
  add(caller: Caller, json: string): void {
    const call: PooledCall = caller.call
    const line = this.#lineOf(call)
    const same = (this.#dedupe || call.joins) && line.size > 0 && mayShare(call) ? line.find(call, json) : undefined
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
    for (const { interactive, bulk } of this.#apart.values()) size += interactive.size + bulk.size
    return size
  }

  /** The line whose calls go first. */
  get first(): Line {
    return this.#all().find(({ size }) => size > 0) ?? this.bulk
  }

  /** A copy of what waits, in the order in which it goes. */
  list(): Entry[] {
    return this.#all().flatMap((line) => line.list())
  }

  #all(): readonly Line[] {
    return [this, ...this.#apart.values()].flatMap(bothOf)
  }

  /** The callers that wait in line. */
  get callers(): Caller[] {
    return this.list().flatMap(({ callers }) => callers)
  }

  /** Fails the calls that this gives a failure for. */
  fail(failureFor: (call: Call) => HexlineError | undefined): void {
    for (const caller of this.callers) {
      const failure = failureFor(caller.call)
      if (failure !== undefined) caller.cancel(failure)
    }
  }
}

function bothOf({ interactive, bulk }: LinePair): readonly Line[] {
  return [interactive, bulk]
}
