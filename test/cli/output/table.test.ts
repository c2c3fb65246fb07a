import { expect, test } from 'vitest'
import { type Column, table } from '../../../src/cli/output/table.ts'

const columns: Column<{ name: unknown; count: unknown }>[] = [
  { title: 'Name', of: ({ name }) => name },
  { title: 'Count', of: ({ count }) => count, right: true },
]

test('columns are aligned, numbers to the right', () => {
  expect(
    table(
      columns,
      [
        { name: 'a', count: 5 },
        { name: 'longer', count: 12345678n },
        { name: null, count: undefined },
      ],
      true,
    ).split('\n'),
  ).toEqual(['Name       Count', 'a              5', 'longer  12345678', '-              -'])
})

test('objects are JSON, and no line ends in spaces', () => {
  expect(table([{ title: 'A', of: (each) => each }], [{ a: ['x'] }, ''], false)).toBe('A\n{"a":["x"]}\n')
})

test('long text is shortened on a terminal only', () => {
  const long = `${'x'.repeat(40)}${'y'.repeat(40)}`
  expect(table([{ title: 'A', of: (each) => each }], [long], true)).toBe(`A\n${'x'.repeat(21)}…${'y'.repeat(20)}`)
  expect(table([{ title: 'A', of: (each) => each }], [long], false)).toBe(`A\n${long}`)
})

test('control characters become spaces, so that each record is one line', () => {
  expect(table([{ title: 'A', of: (each) => each }], ['a\u001b[2J\r\nb'], false)).toBe('A\na [2J b')
})
