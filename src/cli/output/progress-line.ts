import { type FittedLine, fittedLine, type Part } from './fitted-line.ts'
import { brief, briefDurationOf, count, countOf, durationOf, sizeOf } from './units.ts'

/** Failed attempts of a job's calls. */
export interface Failures {
  readonly retries: number
  readonly throttled: number
}

/** What the progress bar of a job shows. */
export interface ProgressFigures extends Failures {
  readonly done: number
  readonly total: number
  /** Blocks per second. */
  readonly rate: number
  readonly bytes: number
  /** What else there is to say; empty for nothing. */
  readonly detail: string
  /** Undefined while it is unknown. */
  readonly msLeft: number | undefined
}

/** What the line of a job shows that has no end: it goes towards the head, or is there. */
export interface FollowFigures extends Failures {
  readonly number: bigint
  /** Blocks so far. */
  readonly blocks: number
  /** Blocks between this one and the head. */
  readonly behind: number
  /** Blocks per second. */
  readonly rate: number
  readonly rollbacks: number
  readonly msLeft: number | undefined
}

/** The terminal's width, less the column in which the cursor stands. */
const roomIn = (columns: number | undefined) => (columns || 80) - 1

/**
 * A progress bar with its figures, in one line of a terminal. A narrow terminal gets shorter
 * figures, and no bar; the percentage, the rate, the time left and the failures are always there
 * from 40 columns on.
 */
export function progressLine({ done, total, rate, bytes, detail, msLeft, ...failures }: ProgressFigures, columns: number | undefined): string {
  const share = total === 0 ? 1 : done / total
  const bar = (length: number) => '█'.repeat(Math.floor(length * share)).padEnd(length, '░')
  const line: FittedLine = {
    parts: {
      // A space divides the bar from the percentage.
      bar: [`${bar(24)} ${percentOf(share)}`, `${bar(12)} ${percentOf(share)}`, percentOf(share)],
      done: [`${count(done)} of ${count(total)} blocks`, countOf(done, 'block'), ''],
      rate: rateForms(rate),
      size: [sizeOf(bytes), ''],
      detail: [detail, ''],
      left: leftForms(msLeft),
      failures: failureForms(failures),
    },
    separator: [' | ', ' '],
    steps: ['size', 'done', 'bar', 'failures', 'rate', 'done', 'bar', 'detail', 'left', 'failures', 'rate', 'separator', 'left'],
  }
  return fittedLine(line, roomIn(columns))
}

/** Where a job is that goes towards the head, in one line of a terminal. */
export function followLine({ number, blocks, behind, rate, rollbacks, msLeft, ...failures }: FollowFigures, columns: number | undefined): string {
  const isBehind = behind > 0
  const line: FittedLine = {
    parts: {
      number: [`block ${number}`, `${number}`],
      done: [countOf(blocks, 'block'), ''],
      rate: isBehind ? rateForms(rate) : [''],
      behind: isBehind ? [`${count(behind)} behind`, `${brief(behind)} behind`, ''] : ['at the head', 'head'],
      left: isBehind ? [...leftForms(msLeft), ''] : [''],
      rollbacks: [rollbacks === 0 ? '' : countOf(rollbacks, 'rollback'), ''],
      failures: failureForms(failures),
    },
    separator: [' | ', ' '],
    steps: ['done', 'failures', 'rate', 'number', 'behind', 'left', 'failures', 'rollbacks', 'rate', 'behind', 'separator', 'left', 'left'],
  }
  return fittedLine(line, roomIn(columns))
}

/** That nothing has arrived yet, in one line of a terminal. */
export function waitingLine(failures: Failures, columns: number | undefined): string {
  const line: FittedLine = {
    parts: { what: ['waiting for the node', 'waiting'], failures: failureForms(failures) },
    separator: [': '],
    steps: ['failures', 'failures', 'what'],
  }
  return fittedLine(line, roomIn(columns))
}

/** The failed attempts in words; empty without any. */
export function failuresText(failures: Failures): string {
  return failureForms(failures)[0]
}

function percentOf(share: number): string {
  return `${Math.floor(100 * share)} %`
}

function rateForms(rate: number): Part {
  return [`${count(rate)} blocks/s`, `${count(rate)}/s`, `${brief(rate)}/s`]
}

function leftForms(ms: number | undefined): Part {
  return ms === undefined ? [''] : [`${durationOf(ms)} left`, `${briefDurationOf(ms)} left`, briefDurationOf(ms)]
}

function failureForms({ retries, throttled }: Failures): Part {
  const say = (parts: readonly string[], separator: string) => parts.filter(Boolean).join(separator)
  const of = (value: number, text: (value: number) => string) => (value === 0 ? '' : text(value))
  return [
    say([of(retries, (calls) => `${countOf(calls, 'call')} repeated`), of(throttled, (calls) => `${countOf(calls, 'call')} throttled`)], ', '),
    say([of(retries, (calls) => `${count(calls)} repeated`), of(throttled, (calls) => `${count(calls)} throttled`)], ', '),
    say([of(retries, (calls) => `${brief(calls)} rep.`), of(throttled, (calls) => `${brief(calls)} thr.`)], ' '),
  ]
}
