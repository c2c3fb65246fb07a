import cliProgress from 'cli-progress'
import type { Progress } from '../bulk/blocks/range-stream.ts'
import type { FailureCount } from './failure-count.ts'
import { warnOfOtherChain } from './other-chain.ts'
import { canRedraw, type Io, type TextStream } from './output/io.ts'
import type { MessageFlags, Messages } from './output/messages.ts'
import { failuresText, progressLine, waitingLine } from './output/progress-line.ts'
import { count, countOf, durationOf, sizeOf } from './output/units.ts'
import { Standstill } from './standstill.ts'
import { timeLeft } from './time-left.ts'

interface MeterFlags extends MessageFlags {
  /**
   * The job's lines go to the same terminal. A bar would stand among them, and cut each to the
   * width of the terminal.
   */
  readonly sharesTerminal?: boolean
}

/** Progress of a job, which others may have begun. */
interface MeterProgress extends Progress {
  /** Blocks of `done` that were done before the job was looked at. Default 0. */
  readonly before?: number
}

/** Interval at which the display is updated, in ms. */
const TICK = 500
/** Interval between two lines where there is no bar, in ms. */
const LINE_EVERY = 5000

/**
 * Shows the progress of a bulk job: a bar on a terminal, elsewhere a line every few seconds. While
 * nothing arrives, it says why, as far as calls have failed.
 */
export class Meter<P extends MeterProgress = Progress> {
  readonly #stream: TextStream
  readonly #messages: Messages
  readonly #failures: FailureCount
  readonly #hasBar: boolean
  /** What else there is to say about the progress. */
  readonly #detailOf: ((progress: P) => { readonly text: string; readonly json: object }) | undefined
  #bar: cliProgress.SingleBar | undefined
  #isWaitingShown = false
  #ticker: NodeJS.Timeout | undefined
  #endWarnings = () => {}
  #startedAt = 0
  #saidAt = 0
  #progress: P | undefined
  readonly #standstill: Standstill

  constructor(
    io: Pick<Io, 'stderr' | 'env'>,
    messages: Messages,
    { quiet, json, sharesTerminal = false }: MeterFlags,
    failures: FailureCount,
    detailOf?: (progress: P) => { readonly text: string; readonly json: object },
  ) {
    this.#detailOf = detailOf
    this.#stream = io.stderr
    this.#messages = messages
    this.#failures = failures
    this.#hasBar = canRedraw(io) && !quiet && !json && !sharesTerminal
    const tell: Messages['tell'] = (sentence, facts) => {
      this.makeRoom()
      messages.tell(sentence, facts)
    }
    this.#standstill = new Standstill({ tell, explain: messages.explain }, failures)
  }

  /** Begins, or begins anew. */
  start(): void {
    this.clear()
    this.#progress = undefined
    this.#standstill.start()
    this.#startedAt = this.#saidAt = performance.now()
    this.#ticker = setInterval(() => this.#tick(), TICK)
    this.#ticker.unref()
    this.#endWarnings = warnOfOtherChain((sentence) => {
      this.makeRoom()
      this.#messages.warn(sentence)
    })
  }

  update(progress: P): void {
    const isFirst = this.#progress === undefined
    if (progress.done !== this.#progress?.done) this.#standstill.moved()
    this.#progress = progress
    if (!this.#hasBar) return
    if (isFirst) this.#startBar(progress)
    else this.#bar?.update(progress.done)
  }

  /** What has arrived is written now: until `written`, the job waits for nothing else. */
  writing(): void {
    this.#standstill.writing()
  }

  written(): void {
    this.#standstill.written()
  }

  /** Ends what it shows. */
  clear(): void {
    clearInterval(this.#ticker)
    this.#endWarnings()
    this.makeRoom()
  }

  /** Removes the line that is kept up to date, so that a message can take its place. */
  makeRoom(): void {
    this.#bar?.stop()
    this.#bar = undefined
    if (this.#isWaitingShown) this.#stream.write('\r\x1b[K')
    this.#isWaitingShown = false
  }

  /** Removes the bar and prints a summary. */
  finish(): void {
    this.clear()
    const progress = this.#progress
    if (progress === undefined) return
    const { bytes } = progress
    const { done } = seenOf(progress)
    const ms = performance.now() - this.#startedAt
    const [seconds, rate] = [ms / 1000, rateOf(done, ms)]
    this.#messages.tell(
      `${countOf(done, 'block')}, ${sizeOf(bytes)} in ${seconds.toFixed(1)} s (${count(rate)} blocks/s)${this.#detail}${this.#failuresAfter(' | ')}`,
      {
        type: 'done',
        blocks: done,
        bytes: Math.round(bytes),
        seconds: Number(seconds.toFixed(3)),
        blocksPerSecond: rate,
        ...this.#detailOf?.(progress).json,
        ...this.#counts,
      },
    )
  }

  #tick(): void {
    const progress = this.#progress
    const waited = performance.now() - this.#saidAt
    this.#standstill.explain()
    if (this.#hasBar) {
      if (this.#bar !== undefined) this.#bar.update(progress?.done ?? 0)
      else if (progress !== undefined) this.#startBar(progress)
      else if (waited > 4 * TICK) this.#sayWaiting()
    } else if (waited >= LINE_EVERY) {
      this.#saidAt = performance.now()
      if (progress === undefined) this.#messages.tell(`waiting for the node${this.#failuresAfter(': ')}`, { type: 'waiting', ...this.#counts })
      else this.#reportProgress(progress)
    }
  }

  #reportProgress(progress: P): void {
    const { done, total, number, bytes } = progress
    const percent = Math.floor((100 * done) / total)
    const msLeft = this.#msLeft
    this.#messages.tell(
      `${percent} % | ${count(done)} of ${count(total)} blocks | ${count(this.#rate)} blocks/s${this.#detail}${this.#left}${this.#failuresAfter(' | ')}`,
      {
        type: 'progress',
        done,
        total,
        number: number.toString(),
        bytes: Math.round(bytes),
        blocksPerSecond: this.#rate,
        secondsLeft: msLeft === undefined ? null : Math.round(msLeft / 1000),
        ...this.#detailOf?.(progress).json,
        ...this.#counts,
      },
    )
  }

  #sayWaiting(): void {
    this.#isWaitingShown = true
    this.#stream.write(`\r${waitingLine(this.#failures, this.#stream.columns)}\x1b[K`)
  }

  #startBar({ done, total }: P): void {
    this.makeRoom()
    this.#bar = new cliProgress.SingleBar({
      stream: this.#stream,
      format: () => this.#line,
      hideCursor: true,
      clearOnComplete: true,
      gracefulExit: false,
    })
    this.#bar.start(total, done)
  }

  /** The bar with its figures. */
  get #line(): string {
    const { done = 0, total = 0, bytes = 0 } = this.#progress ?? {}
    const [rate, msLeft] = [this.#rate, this.#msLeft]
    return progressLine({ done, total, bytes, rate, msLeft, detail: this.#detailText, ...this.#counts }, this.#stream.columns)
  }

  get #counts() {
    return { retries: this.#failures.retries, throttled: this.#failures.throttled }
  }

  get #detail(): string {
    return this.#detailText === '' ? '' : ` | ${this.#detailText}`
  }

  get #detailText(): string {
    return this.#progress === undefined || this.#detailOf === undefined ? '' : this.#detailOf(this.#progress).text
  }

  #failuresAfter(before: string): string {
    const said = failuresText(this.#failures)
    return said === '' ? '' : before + said
  }

  /** Blocks per second so far. */
  get #rate(): number {
    return rateOf(this.#progress === undefined ? 0 : seenOf(this.#progress).done, performance.now() - this.#startedAt)
  }

  get #msLeft(): number | undefined {
    // Nobody knows how long it goes on like this.
    if (this.#standstill.isOn) return undefined
    return this.#progress && timeLeft(seenOf(this.#progress), performance.now() - this.#startedAt)
  }

  get #left(): string {
    const ms = this.#msLeft
    return ms === undefined ? '' : ` | ${durationOf(ms)} left`
  }
}

/** The blocks that were done, and are to be done, since the job was looked at. */
function seenOf({ done, total, before = 0 }: MeterProgress): { readonly done: number; readonly total: number } {
  return { done: done - before, total: total - before }
}

/** Blocks per second. */
function rateOf(blocks: number, ms: number): number {
  return Math.round((blocks * 1000) / Math.max(1, ms))
}
