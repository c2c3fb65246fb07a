import { describe, expect, it } from 'vitest'
import { Histogram, Series } from '../../src/metrics/series.ts'

describe('a series', () => {
  it('has one figure for each combination of labels, in the order of their first use', () => {
    const series = new Series(2, () => ({ value: 0 }))
    series.at('a', 'x').value++
    series.at('b', 'x').value += 5
    series.at('a', 'y').value += 7
    series.at('a', 'x').value++
    expect([...series]).toEqual([
      [['a', 'x'], { value: 2 }],
      [['a', 'y'], { value: 7 }],
      [['b', 'x'], { value: 5 }],
    ])
  })

  it('takes a missing label as an empty one', () => {
    const series = new Series(4, () => ({ value: 0 }))
    series.at('a', 'b', 'c', undefined).value++
    expect([...series]).toEqual([[['a', 'b', 'c', ''], { value: 1 }]])
  })

  it('forgets a figure that is removed, which begins anew', () => {
    const series = new Series(2, () => ({ value: 0 }))
    for (const [a, b] of [
      ['a', 'x'],
      ['a', 'y'],
      ['b', ''],
    ] as const)
      series.at(a, b).value++
    series.delete('a', 'x')
    series.delete('b')
    series.delete('c', 'x')
    expect([...series]).toEqual([[['a', 'y'], { value: 1 }]])
    expect(series.at('a', 'x')).toEqual({ value: 0 })
  })

  it('is empty before its first figure', () => {
    expect([...new Series(1, () => ({ value: 0 }))]).toEqual([])
  })
})

describe('a histogram', () => {
  it('counts a value at its bound below it, and what is above all bounds last', () => {
    const histogram = new Histogram([1, 10])
    for (const value of [0, 1, 1.5, 10, 11]) histogram.add(value)
    expect(histogram.counts).toEqual([2, 2, 1])
    expect(histogram.sum).toBe(23.5)
  })
})
