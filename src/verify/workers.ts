import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { BytesVerifierOptions } from './bytes-verifier.ts'
import type { Verification } from './verification.ts'
import { workerFile } from './worker-file.ts'

/** What a worker gets when it starts. */
export type WorkerOptions = BytesVerifierOptions

/** The JSON of a block and its receipts. The memory moves to the worker. */
export interface VerifyJob {
  readonly block: ArrayBuffer
  readonly receipts: ArrayBuffer | undefined
}

/** What a worker says of a block: what it proved, or undefined for a block that is wrong. */
export type WorkerVerdict = Pick<Verification, 'checks' | 'skipped'> | undefined

/** Most workers. One decodes and verifies about as fast as the main thread fetches and decodes. */
const MOST_WORKERS = 3
/** Most blocks that a worker has: the one at work, and the next one. */
const MOST_JOBS = 2

/** Threads that verify blocks beside the main thread, which goes on fetching. */
export class VerifyWorkers {
  readonly #workers: VerifyWorker[]

  /** `count` workers; by default one for each core but the main thread's, at most 3. */
  constructor(options: WorkerOptions, count = Math.min(MOST_WORKERS, availableParallelism() - 1)) {
    const file = count > 0 ? workerFile('worker') : undefined
    this.#workers = file === undefined ? [] : Array.from({ length: count }, () => new VerifyWorker(file, options))
  }

  /** Most blocks that can be at work at a time. */
  get capacity(): number {
    return this.#workers.length * MOST_JOBS
  }

  /**
   * The verdict on a block; undefined if no worker is free. `copy` gives the memory to hand over.
   * Resolves to undefined if the block is wrong, or if the worker has failed: the caller verifies
   * it then.
   */
  verify(copy: () => VerifyJob): Promise<WorkerVerdict> | undefined {
    let free: VerifyWorker | undefined
    for (const worker of this.#workers) if (worker.jobs < (free?.jobs ?? MOST_JOBS)) free = worker
    return free?.verify(copy())
  }

  end(): void {
    for (const worker of this.#workers) worker.end()
  }
}

/** One thread. Its verdicts come in the order of its blocks. */
class VerifyWorker {
  readonly #waiting: ((verdict: WorkerVerdict) => void)[] = []
  #worker: Worker | undefined

  constructor(file: string, options: WorkerOptions) {
    try {
      // Options such as `--input-type` are those of the program.
      this.#worker = new Worker(file, { workerData: options, execArgv: [] })
      this.#worker.on('message', (verdict: WorkerVerdict) => this.#answer(verdict))
      this.#worker.on('error', () => this.end())
      this.#worker.on('exit', () => this.end())
      this.#worker.unref()
    } catch {
      // Threads are not permitted: the main thread does all.
    }
  }

  /** Blocks that it has; Infinity once it has ended. */
  get jobs(): number {
    return this.#worker === undefined ? Number.POSITIVE_INFINITY : this.#waiting.length
  }

  verify(job: VerifyJob): Promise<WorkerVerdict> {
    return new Promise((resolve) => {
      // It keeps the process alive only while there is something to wait for.
      if (this.#waiting.push(resolve) === 1) this.#worker?.ref()
      this.#worker?.postMessage(job, job.receipts === undefined ? [job.block] : [job.block, job.receipts])
    })
  }

  #answer(verdict: WorkerVerdict): void {
    this.#waiting.shift()?.(verdict)
    if (this.#waiting.length === 0) this.#worker?.unref()
  }

  /** Ends the thread; blocks that it still has are the caller's. */
  end(): void {
    const worker = this.#worker
    this.#worker = undefined
    worker?.unref()
    // A thread that has ended already rejects nothing.
    void worker?.terminate()
    for (const resolve of this.#waiting.splice(0)) resolve(undefined)
  }
}
