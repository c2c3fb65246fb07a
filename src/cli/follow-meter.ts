import type { FollowProgress } from '../follow/job.ts'
import type { FailureCount } from './failure-count.ts'
import { warnOfOtherChain } from './other-chain.ts'
import { canRedraw, type Io, type TextStream } from './output/io.ts'
import type { MessageFlags, Messages } from './output/messages.ts'
import { type FollowFigures, failuresText, followLine } from './output/progress-line.ts'
import { count, durationOf } from './output/units.ts'
import { Standstill } from './standstill.ts'
import { timeLeft } from './time-left.ts'

/** Interval at which the display is updated, in ms. */
const TICK = 500
/** Interval between two lines where no line is kept up to date, in ms. */
const LINE_EVERY = 5000

interface FollowMeterFlags extends MessageFlags {
  /** The blocks go to the same terminal, where a line of progress would stand among them. */
  readonly sharesTerminal: boolean
}

/**
 * Shows how far a job is that has no end: on a terminal in a line that is kept up to date,
 * elsewhere by a line every few seconds until it is at the head. While nothing arrives, it says
 * why, as far as calls have failed.
 */
export class FollowMeter {
  readonly #stream: TextStream
  readonly #messages: Messages
  readonly #failures: FailureCount
  readonly #isKept: boolean
  readonly #isSilent: boolean
  #ticker: NodeJS.Timeout | undefined
  #endWarnings = () => {}
  #startedAt = 0
  #saidAt = 0
  #progress: FollowProgress | undefined
  readonly #standstill: Standstill

  constructor(io: Pick<Io, 'stderr' | 'env'>, messages: Messages, { quiet = false, json = false, sharesTerminal }: FollowMeterFlags, failures: FailureCount) {
    this.#stream = io.stderr
    this.#messages = messages
    this.#failures = failures
    this.#isKept = canRedraw(io) && !quiet && !json && !sharesTerminal
    this.#isSilent = sharesTerminal
    this.#standstill = new Standstill({ tell: (sentence, facts) => this.tell(sentence, facts), explain: messages.explain }, failures)
  }

  start(): void {
    this.#standstill.start()
    this.#startedAt = this.#saidAt = performance.now()
    this.#ticker = setInterval(() => this.#tick(), TICK)
    this.#ticker.unref()
    this.#endWarnings = warnOfOtherChain((sentence) => {
      this.#makeRoom()
      this.#messages.warn(sentence)
    })
  }

  update(progress: FollowProgress): void {
    this.#progress = progress
    if (progress.failure === undefined) this.#standstill.moved()
    else this.#standstill.tell(progress.failure)
  }

  /** What has arrived is written now: until `written`, the job waits for nothing else. */
  writing(): void {
    this.#standstill.writing()
  }

  written(): void {
    this.#standstill.written()
  }

  /** Prints a message in place of the line, which comes again below it. */
  tell(...[sentence, facts]: Parameters<Messages['tell']>): void {
    this.#makeRoom()
    this.#messages.tell(sentence, facts)
  }

  stop(): void {
    clearInterval(this.#ticker)
    this.#endWarnings()
    this.#makeRoom()
  }

  #makeRoom(): void {
    if (this.#isKept) this.#stream.write('\r\x1b[K')
  }

  #tick(): void {
    this.#standstill.explain()
    const figures = this.#figures
    if (figures === undefined) return
    if (this.#isKept) this.#stream.write(`\r${followLine(figures, this.#stream.columns)}\x1b[K`)
    else if (!this.#isSilent && figures.behind > 0 && performance.now() - this.#saidAt >= LINE_EVERY) this.#report(figures)
  }

  #report({ number, blocks, behind, rate, rollbacks, msLeft, retries, throttled }: FollowFigures): void {
    this.#saidAt = performance.now()
    const failures = failuresText(this.#failures)
    const parts = [
      ...[`block ${number}`, `${count(rate)} blocks/s`, `${count(behind)} behind`],
      ...(msLeft === undefined ? [] : [`${durationOf(msLeft)} left`]),
      ...(failures === '' ? [] : [failures]),
    ]
    this.#messages.tell(parts.join(' | '), {
      type: 'progress',
      number: number.toString(),
      blocks,
      behind,
      blocksPerSecond: rate,
      secondsLeft: msLeft === undefined ? null : Math.round(msLeft / 1000),
      rollbacks,
      retries,
      throttled,
    })
  }

  /** Undefined before the first block. */
  get #figures(): FollowFigures | undefined {
    const { number, head, blocks = 0, rollbacks = 0 } = this.#progress ?? {}
    if (number === undefined) return undefined
    const behind = head === undefined || head < number ? 0 : Number(head - number)
    const elapsed = performance.now() - this.#startedAt
    const { retries, throttled } = this.#failures
    return {
      ...{ number, blocks, behind, rollbacks, retries, throttled },
      rate: Math.round((blocks * 1000) / Math.max(1, elapsed)),
      // Nobody knows how long it stands still.
      msLeft: behind === 0 || this.#standstill.isOn ? undefined : timeLeft({ done: blocks, total: blocks + behind }, elapsed),
    }
  }
}
