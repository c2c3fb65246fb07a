import cliProgress from 'cli-progress'
import type { Progress } from '../bulk/get-blocks.ts'

/** Shows how a bulk job gets on: a bar on a terminal, a line every few seconds elsewhere. */
export class Meter {
  readonly #stream: NodeJS.WriteStream
  readonly #startedAt = performance.now()
  readonly #bar: cliProgress.SingleBar
  #last: Progress | undefined

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
    this.#bar = new cliProgress.SingleBar(
      {
        stream,
        format: '{bar} {percentage}% | {value}/{total} blocks | {rate} blocks/s | {size} | {eta_formatted} left',
        formatValue: (value, _, type) => (type === 'value' || type === 'total' ? value.toLocaleString('en-US') : String(value)),
        hideCursor: true,
        clearOnComplete: true,
        noTTYOutput: true,
        notTTYSchedule: 5000,
        etaBuffer: 1000,
        gracefulExit: false,
      },
      cliProgress.Presets.shades_classic,
    )
  }

  update(progress: Progress): void {
    const payload = { rate: Math.round(this.#rate(progress)).toLocaleString('en-US'), size: sizeOf(progress.bytes) }
    if (this.#last === undefined) this.#bar.start(progress.total, progress.done, payload)
    else this.#bar.update(progress.done, payload)
    this.#last = progress
  }

  /** Takes the bar away. */
  clear(): void {
    this.#bar.stop()
  }

  /** Takes the bar away and says what was done. */
  finish(): void {
    this.clear()
    const progress = this.#last
    if (progress === undefined) return
    const seconds = (performance.now() - this.#startedAt) / 1000
    const rate = Math.round(this.#rate(progress)).toLocaleString('en-US')
    this.#stream.write(`${progress.done.toLocaleString('en-US')} blocks, ${sizeOf(progress.bytes)} in ${seconds.toFixed(1)} s (${rate} blocks/s)\n`)
  }

  #rate({ done }: Progress): number {
    return (done * 1000) / Math.max(1, performance.now() - this.#startedAt)
  }
}

/** Bytes as a person reads them, in decimal units. */
export function sizeOf(bytes: number): string {
  if (bytes < 1000) return `${Math.round(bytes)} B`
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`
}
