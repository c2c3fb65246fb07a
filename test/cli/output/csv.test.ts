import { expect, it } from 'vitest'
import { csvLine } from '../../../src/cli/output/csv.ts'

it('quotes what would end a field, and doubles the quotes in it', () => {
  expect(csvLine(['plain', 'a,b', 'a\nb', 'a\rb', 'say "x"'])).toBe('plain,"a,b","a\nb","a\rb","say ""x"""\n')
})

it('distinguishes an empty text from null', () => {
  expect(csvLine(['', null, undefined, 0, false])).toBe('"",,,0,false\n')
})

it('writes lists and objects as JSON', () => {
  expect(csvLine([['0xab', null], { a: 1 }])).toBe('"[""0xab"",null]","{""a"":1}"\n')
})
