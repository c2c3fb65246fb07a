import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { resultTable } from '../../../src/cli/output/result-table.ts'
import { runs } from '../../support/runs.ts'

const hash = `0x${'ab'.repeat(16)}${'cd'.repeat(16)}`
const columns = [
  { title: 'hash', isNumber: false },
  { title: 'gas', isNumber: true },
]

describe('a result', () => {
  it('is a table, with numbers to the right', () => {
    expect(
      resultTable(columns, [
        ['0xab', 5],
        ['-', '12345'],
        [null, null],
      ]).split('\n'),
    ).toEqual(['hash    gas', '0xab      5', '-     12345', '-         -'])
  })

  it('is not shortened where no terminal limits it', () => {
    expect(resultTable(columns, [[hash, 1]])).toContain(hash)
  })

  it('is not shortened where it fits', () => {
    expect(resultTable(columns, [[hash, 1]], hash.length + 5)).toContain(hash)
    expect(resultTable(columns, [[hash, 1]], hash.length + 4)).not.toContain(hash)
  })

  it('has texts shortened in their middle, and no number', () => {
    const number = '9'.repeat(20)
    expect(resultTable(columns, [[hash, number]], 40).split('\n')).toEqual([`hash${' '.repeat(33)}gas`, `${hash.slice(0, 9)}…${hash.slice(-8)}  ${number}`])
  })

  it('becomes a list of fields for each row where even short texts do not fit', () => {
    const wide = ['a', 'bb', 'ccc', 'dddd'].map((title) => ({ title, isNumber: false }))
    expect(
      resultTable(
        wide,
        [
          [hash, 'x', null, { a: [1] }],
          ['y', 'y', 'y', 'y'],
        ],
        30,
      ).split('\n'),
    ).toEqual([
      'row 1',
      `a     ${hash.slice(0, 12)}…${hash.slice(-11)}`,
      'bb    x',
      'ccc   -',
      'dddd  {"a":[1]}',
      '',
      'row 2',
      'a     y',
      'bb    y',
      'ccc   y',
      'dddd  y',
    ])
  })

  it('cannot control a terminal', () => {
    expect(resultTable([{ title: 't', isNumber: false }], [['a\u001b[2J\nb']], 80)).toBe('t\na [2J b')
  })

  it('is never wider than the terminal, but for titles and numbers that are', () => {
    const row = fc.array(fc.string({ maxLength: 90 }), { minLength: 5, maxLength: 5 })
    fc.assert(
      fc.property(fc.array(row, { maxLength: 5 }), fc.integer({ min: 20, max: 200 }), (rows, width) => {
        const text = resultTable(
          ['a', 'b', 'c', 'd', 'e'].map((title) => ({ title, isNumber: false })),
          rows,
          width,
        )
        for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(width)
      }),
      runs(100),
    )
  })
})
