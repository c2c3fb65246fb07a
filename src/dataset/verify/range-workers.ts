import { Worker } from 'node:worker_threads'
import type { DatasetHeader, RangeEntry } from '../folder/manifest.ts'
import type { CountedChecks } from './check-counts.ts'
import type { ChosenBlock } from './verify-range.ts'

/** What a worker gets when it starts. */
export interface RangeWorkerOptions {
  readonly dir: string
  readonly header: DatasetHeader
  readonly senders: boolean
}

/** A range to verify, and the blocks in it whose rows are wanted. */
export interface RangeTask {
  readonly range: RangeEntry
  readonly chosen: readonly number[]
}

/**
 * What a worker reports of its range, in order: a number of further blocks; one that is chosen,
 * after which it waits; in the end what was proven, or that it has failed.
 */
export type RangeNews = { readonly blocks: number } | { readonly chosen: ChosenBlock } | { readonly counts: CountedChecks } | { readonly failed: true }

/** A range that a worker has, and its state. */
export class RangeRun {
  readonly task: RangeTask
  readonly #told: RangeEvent[] = []
  #wake = () => {}

  constructor(task: RangeTask) {
    this.task = task
  }

  /** What was reported next. */
  async next(): Promise<RangeEvent> {
    for (;;) {
      const event = this.#told.shift()
      if (event !== undefined) return event
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  tell(event: RangeEvent): void {
    this.#told.push(event)
    this.#wake()
  }
}

/** The same as news, but of a chosen block what the comparison found. */
export type RangeEvent = Exclude<RangeNews, { chosen: unknown }> | { readonly compared: Promise<{ readonly fault?: unknown }> }

/** What a worker does. */
export interface RangeWork {
  /** The next range; undefined if there is none. */
  readonly take: () => RangeRun | undefined
  /** Compares a chosen block. */
  readonly compare: (block: ChosenBlock, range: RangeEntry) => Promise<void>
}

/**
 * Starts a thread that takes one range after another. A range of a thread that dies has failed.
 * Returns what ends it. Throws where threads cannot be started.
 */
export function startRangeWorker(file: string, options: RangeWorkerOptions, { take, compare }: RangeWork): () => void {
  // Options such as `--input-type` are those of the program.
  const worker = new Worker(file, { workerData: options, execArgv: [] })
  let run: RangeRun | undefined
  const begin = () => {
    run = take()
    if (run === undefined) end()
    else worker.postMessage(run.task)
  }
  worker.on('message', (news: RangeNews) => {
    if (run === undefined) return
    if (!('chosen' in news)) {
      run.tell(news)
      if (!('blocks' in news)) begin()
      return
    }
    const compared = compare(news.chosen, run.task.range).then(
      () => ({}),
      (fault: unknown) => ({ fault }),
    )
    run.tell({ compared })
    void compared.then(() => worker.postMessage('go on'))
  })
  worker.on('error', end)
  worker.on('exit', end)
  begin()
  return end

  function end(): void {
    run?.tell({ failed: true })
    run = undefined
    // A thread that has ended already rejects nothing.
    void worker.terminate()
  }
}
