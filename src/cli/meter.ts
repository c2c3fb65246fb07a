import cliProgress from 'cli-progress'
import type { Progress } from '../bulk/get-blocks.ts'

/** Between two lines where there is no terminal, in ms. */
const LINE_EVERY = 5000

/** Shows how a bulk job gets on: a bar on a terminal, a line every few seconds elsewhere. */
export class Meter {
  readonly #stream: NodeJS.WriteStream
  readonly #startedAt = performance.now()
  readonly #bar: cliProgress.SingleBar | undefined
  #saidAt = this.#startedAt
  #last: Progress | undefined

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    this.#bar = stream.isTTY ? barOn(stream) : undefined
  }

  update(progress: Progress): void {
    const isFirst = this.#last === undefined
    this.#last = progress
    if (this.#bar === undefined) {
      if (performance.now() - this.#saidAt < LINE_EVERY) return
      this.#saidAt = performance.now()
      const percent = Math.floor((100 * progress.done) / progress.total)
      this.#stream.write(
        `${percent} % | ${count(progress.done)} of ${count(progress.total)} blocks | ${this.#rate(progress)} blocks/s | ${this.#timeLeft(progress)} left\n`,
      )
      return
    }
    const payload = { rate: this.#rate(progress), size: sizeOf(progress.bytes), left: this.#timeLeft(progress) }
    if (isFirst) this.#bar.start(progress.total, progress.done, payload)
    else this.#bar.update(progress.done, payload)
  }

  /** Takes the bar away. */
  clear(): void {
    this.#bar?.stop()
  }

  /** Takes the bar away and says what was done. */
  finish(): void {
    this.clear()
    const progress = this.#last
    if (progress === undefined) return
    const seconds = (performance.now() - this.#startedAt) / 1000
    this.#stream.write(`${count(progress.done)} blocks, ${sizeOf(progress.bytes)} in ${seconds.toFixed(1)} s (${this.#rate(progress)} blocks/s)\n`)
  }

  #perMs({ done }: Progress): number {
    return done / Math.max(1, performance.now() - this.#startedAt)
  }

  #rate(progress: Progress): string {
    return count(Math.round(this.#perMs(progress) * 1000))
  }

  #timeLeft(progress: Progress): string {
    return durationOf((progress.total - progress.done) / this.#perMs(progress))
  }
}

function barOn(stream: NodeJS.WriteStream): cliProgress.SingleBar {
  return new cliProgress.SingleBar(
    {
      stream,
      format: '{bar} {percentage} % | {value} of {total} blocks | {rate} blocks/s | {size} | {left} left',
      formatValue: (value, _, type) => (type === 'value' || type === 'total' ? count(value) : String(value)),
      barsize: 24,
      hideCursor: true,
      clearOnComplete: true,
      gracefulExit: false,
    },
    cliProgress.Presets.shades_classic,
  )
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** Time as a person reads it: `12 s`, `3 min 20 s`, `5 h 12 min`. */
export function durationOf(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Bytes as a person reads them, in decimal units. */
export function sizeOf(bytes: number): string {
  if (bytes < 1000) return `${Math.round(bytes)} B`
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`
}
