import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { followLine, progressLine, waitingLine } from '../../../src/cli/output/progress-line.ts'
import { runs } from '../../support/runs.ts'

const figures = { done: 7_016, total: 20_001, rate: 1_861, bytes: 11_200_000, detail: '', msLeft: 440_000, retries: 0, throttled: 0 }
const failing = { ...figures, retries: 3, throttled: 1_234 }

describe('the bar of a job', () => {
  it.each([
    [
      200,
      failing,
      '████████░░░░░░░░░░░░░░░░ 35 % | 7,016 of 20,001 blocks | 1,861 blocks/s | 11.2 MB | 7 min 20 s left | 3 calls repeated, 1,234 calls throttled',
    ],
    [120, figures, '████████░░░░░░░░░░░░░░░░ 35 % | 7,016 of 20,001 blocks | 1,861 blocks/s | 11.2 MB | 7 min 20 s left'],
    [120, failing, '████░░░░░░░░ 35 % | 7,016 of 20,001 blocks | 1,861 blocks/s | 7 min 20 s left | 3 calls repeated, 1,234 calls throttled'],
    [80, figures, '████████░░░░░░░░░░░░░░░░ 35 % | 7,016 blocks | 1,861 blocks/s | 7 min 20 s left'],
    [80, failing, '████░░░░░░░░ 35 % | 1,861/s | 7 min 20 s left | 3 repeated, 1,234 throttled'],
    [60, failing, '35 % | 1,861/s | 7 min left | 3 repeated, 1,234 throttled'],
    [40, figures, '35 % | 1,861 blocks/s | 7 min 20 s left'],
    [40, failing, '35 % 1.9K/s 7 min left 3 rep. 1.2K thr.'],
  ])('of %i columns has done, rate, time left and failures', (columns, shown, text) => {
    expect(progressLine(shown, columns)).toBe(text)
  })

  it('leaves out a detail that is too long, and uses its room', () => {
    const logs = { ...figures, detail: '123 logs, 2 splits' }
    expect(progressLine(logs, 80)).toBe('████░░░░░░░░ 35 % | 1,861 blocks/s | 123 logs, 2 splits | 7 min 20 s left')
    expect(progressLine({ ...logs, detail: 'x'.repeat(70) }, 80)).toBe('████████░░░░░░░░░░░░░░░░ 35 % | 7,016 blocks | 1,861 blocks/s | 7 min 20 s left')
  })

  it('is that of 80 columns where the terminal does not know its width', () => {
    expect(progressLine(figures, 0)).toBe(progressLine(figures, 80))
    expect(progressLine(figures, undefined)).toBe(progressLine(figures, 80))
  })
})

describe('the line of a job without an end', () => {
  const catching = { number: 21_000_123n, blocks: 1_234, behind: 56_789, rate: 56, rollbacks: 0, msLeft: 1_014_000, retries: 0, throttled: 0 }

  it.each([
    [120, catching, 'block 21000123 | 1,234 blocks | 56 blocks/s | 56,789 behind | 16 min 54 s left'],
    [80, { ...catching, rollbacks: 2, throttled: 7 }, '21000123 | 56/s | 56,789 behind | 16 min 54 s left | 2 rollbacks | 7 throttled'],
    [40, { ...catching, throttled: 7, retries: 1_000 }, '21000123 56/s 16 min 1K rep. 7 thr.'],
    [40, { ...catching, behind: 0, msLeft: undefined }, 'block 21000123 | at the head'],
  ])('of %i columns says how far it is', (columns, shown, text) => {
    expect(followLine(shown, columns)).toBe(text)
  })
})

it('waits in one line', () => {
  expect(waitingLine({ retries: 0, throttled: 0 }, 40)).toBe('waiting for the node')
  expect(waitingLine({ retries: 1, throttled: 12 }, 80)).toBe('waiting for the node: 1 call repeated, 12 calls throttled')
  expect(waitingLine({ retries: 1, throttled: 12_345 }, 40)).toBe('waiting for the node: 1 rep. 12K thr.')
})

it('a stream that is days behind in 40 columns has all but the time left', () => {
  const shown = { number: 100_000_000n, blocks: 1, behind: 1e8, rollbacks: 0, rate: 100, msLeft: 864e6, retries: 1050, throttled: 1050 }
  expect(followLine(shown, 40)).toBe('100000000 | 100/s | 1.1K rep. 1.1K thr.')
})

const upTo = (max: number) => fc.integer({ min: 0, max })
const large = fc.record({
  ...{ done: upTo(1e8), rate: upTo(999_000), bytes: upTo(1e12), detail: fc.string({ maxLength: 200 }) },
  ...{ msLeft: fc.option(upTo(1e10), { nil: undefined }), retries: upTo(99_000), throttled: upTo(99_000) },
})

it('every line is shorter than the terminal is wide, and from 40 columns on nothing is cut', () => {
  fc.assert(
    fc.property(large, upTo(1e8), fc.integer({ min: 40, max: 220 }), (shown, more, columns) => {
      const { done, rate, msLeft, retries, throttled } = shown
      const lines = [
        progressLine({ ...shown, total: done + more }, columns),
        followLine({ number: 100_000_000n + BigInt(done), blocks: done, behind: more, rollbacks: 0, rate, msLeft, retries, throttled }, columns),
        waitingLine(shown, columns),
      ]
      for (const line of lines) {
        expect(line.length).toBeLessThan(columns)
        expect(line).not.toContain('…')
      }
    }),
    runs(200),
  )
})
