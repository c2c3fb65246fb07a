import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { aligned, type Column, table, wrapped } from '../../../src/cli/output/table.ts'
import { runs } from '../../support/runs.ts'

const columns: Column<{ name: unknown; count: unknown }>[] = [
  { title: 'Name', of: ({ name }) => name },
  { title: 'Count', of: ({ count }) => count, right: true },
]
const hash = `0x${'ab'.repeat(16)}${'cd'.repeat(16)}`
const oneColumn: Column<unknown>[] = [{ title: 'A', of: (each) => each }]
const columnsOf = (...titles: readonly string[]): Column<readonly unknown[]>[] => titles.map((title, i) => ({ title, of: (row) => row[i] }))

test('columns are aligned, numbers to the right', () => {
  expect(
    table(
      columns,
      [
        { name: 'a', count: 5 },
        { name: 'longer', count: 12345678n },
        { name: null, count: undefined },
      ],
      80,
    ).split('\n'),
  ).toEqual(['Name       Count', 'a              5', 'longer  12345678', '-              -'])
})

test('objects are JSON, and no line ends in spaces', () => {
  expect(table(oneColumn, [{ a: ['x'] }, ''])).toBe('A\n{"a":["x"]}\n')
})

test('control characters become spaces, so that each record is one line', () => {
  expect(table([{ title: 'A\u001b[2J', of: (each) => each }], ['a\u001b[2J\r\nb'])).toBe('A [2J\na [2J b')
})

describe('a table', () => {
  it('is whole without a width, and where it fits', () => {
    const records = [{ name: hash, count: 1 }]
    for (const width of [undefined, hash.length + 7]) expect(table(columns, records, width)).toContain(hash)
    expect(table(columns, records, hash.length + 6)).not.toContain(hash)
  })

  it('that is too wide has long words shortened in their middle, and no number', () => {
    const number = '9'.repeat(20)
    expect(table(columns, [{ name: hash, count: number }], 40).split('\n')).toEqual([
      `Name${' '.repeat(31)}Count`,
      `${hash.slice(0, 9)}…${hash.slice(-8)}  ${number}`,
    ])
  })

  it('that is too wide has sentences wrapped', () => {
    expect(
      table(
        columns,
        [
          { name: 'each names the block before as its parent', count: 20 },
          { name: 'short', count: 1 },
        ],
        28,
      ).split('\n'),
    ).toEqual(['Name                  Count', 'each names the block     20', 'before as its parent', 'short                     1'])
  })

  it('becomes a list of fields for each record where even narrow columns do not fit, and nothing is lost', () => {
    const wide = columnsOf('a', 'bb', 'ccc', 'dddd')
    expect(
      table(
        wide,
        [
          [hash.slice(0, 30), 'x', null, { a: [1] }],
          ['some words of a sentence', '', 'y', 'y'],
        ],
        24,
      ).split('\n'),
    ).toEqual([
      ...['row 1', `a     ${hash.slice(0, 18)}`, `      ${hash.slice(18, 30)}`, 'bb    x', 'ccc   -', 'dddd  {"a":[1]}', ''],
      ...['row 2', 'a     some words of a', '      sentence', 'ccc   y', 'dddd  y'],
    ])
  })

  it('is never wider than the terminal', () => {
    const text = fc.oneof(fc.string({ maxLength: 90 }), fc.lorem({ maxCount: 12 }), fc.constant(hash))
    const row = fc.array(text, { minLength: 5, maxLength: 5 })
    fc.assert(
      fc.property(fc.array(row, { maxLength: 5 }), fc.integer({ min: 20, max: 200 }), (rows, width) => {
        for (const line of table(columnsOf('a', 'b', 'c', 'd', 'e'), rows, width).split('\n')) expect(line.length).toBeLessThanOrEqual(width)
      }),
      runs(100),
    )
  })

  it('of a terminal has each letter of its words, or a mark', () => {
    const words = fc.lorem({ maxCount: 12 })
    fc.assert(
      fc.property(words, words, fc.integer({ min: 20, max: 100 }), (a, b, width) => {
        const letters = (shown: string) => [...shown.replaceAll(/[^a-z…]/g, '')].sort().join('')
        const shown = table(columnsOf('1', '2'), [[a, b]], width)
        if (!shown.includes('…')) expect(letters(shown.replaceAll('row', ''))).toBe(letters(a + b))
      }),
      runs(100),
    )
  })
})

test('rows are aligned, and their last column is wrapped', () => {
  const rows = [
    ['calls', '2,001', 'between a few and many'],
    ['  of a rather long name', '7', ''],
  ]
  expect(aligned(rows, [false, true, false], 48).split('\n')).toEqual([
    'calls                    2,001  between a few',
    '                                and many',
    '  of a rather long name      7',
  ])
  expect(aligned(rows, [false, true, false])).toContain('between a few and many')
})

test('a word that is longer than a line stays whole', () => {
  expect(wrapped('a b verylongword c', 4)).toEqual(['a b', 'verylongword', 'c'])
})
