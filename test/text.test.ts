import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { scrubJson } from '../src/http/scrub-json.ts'
import { scrubStart } from '../src/http/secrets.ts'
import { copyText, excerpt, harmlessJson, harmlessText, LONGEST_MESSAGE, messagePrefix, shellWord, shortened, show } from '../src/text.ts'

test('a message of more than 4,096 characters is cut, and ends with "..."', () => {
  const longest = 'x'.repeat(LONGEST_MESSAGE)
  expect(shortened(longest)).toBe(longest)
  expect(shortened(`${longest}y`)).toBe(`${'x'.repeat(LONGEST_MESSAGE - 3)}...`)
})

test.each([
  ['/data/main-net_1.0', '/data/main-net_1.0'],
  ['C:\\data', "'C:\\data'"],
  ['my data', "'my data'"],
  ["it's $HOME", "'it'\\''s $HOME'"],
  ['', "''"],
])('the path %j is the word %s of a shell', (path, word) => {
  expect(shellWord(path)).toBe(word)
})

/** Clears a terminal, hides what follows, reverses it, ends a line. */
const hostile = 'a\u001b[2Jb\u009bc\u202ed\u2028e\u0000f\u007fg\u2066h'

describe('text from elsewhere', () => {
  test('has spaces in place of characters that control a terminal or disguise text', () => {
    expect(harmlessText(hostile)).toBe('a [2Jb c d e f g h')
    expect(harmlessText('a\r\n\tb')).toBe('a b')
    expect(harmlessText('Zürich, 東京, 🦊')).toBe('Zürich, 東京, 🦊')
  })

  test('in JSON has escapes in their place, with the same meaning', () => {
    expect(harmlessJson('"\u009b\u202e"')).toBe('"\\u009b\\u202e"')
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(undefined, '\t', 2), (value, space) => {
        const json = JSON.stringify([value, hostile, '\u2029'], undefined, space)
        const safe = harmlessJson(json)
        expect(JSON.parse(safe)).toEqual(JSON.parse(json))
        expect(harmlessText(safe)).toBe(safe)
      }),
      { seed: 3 },
    )
  })

  test('is quoted in one line of at most 200 characters', () => {
    expect(excerpt(`  ${hostile}\n\n  more  `)).toBe('a [2Jb c d e f g h more')
    expect(excerpt('x'.repeat(200))).toHaveLength(200)
    expect(excerpt('x'.repeat(201))).toBe(`${'x'.repeat(197)}...`)
  })
})

test.each<[unknown, string]>([
  ['text', '"text"'],
  ['a\n\u001b"b', '"a\\n\\u001b\\"b"'],
  ['https://node.example/v3/KEY', '"https://node.example/..."'],
  ['wss://user:KEY@node.example', '"wss://node.example/..."'],
  [' http://node.example?key=KEY', '"http://node.example/..."'],
  ['ftp://node.example', '"ftp://node.example"'],
  ['x'.repeat(80), `"${'x'.repeat(80)}"`],
  ['x'.repeat(81), `"${'x'.repeat(77)}..."`],
  [7, '7'],
  [Number.NaN, 'NaN'],
  [7n, '7n'],
  [10n ** 80n, 'a bigint of more than 80 digits'],
  [null, 'null'],
  [undefined, 'undefined'],
  [Symbol('odd'), 'Symbol(odd)'],
  [() => 1, 'a function'],
  [[1, [2]], 'an array of 2'],
  [{ a: 1 }, 'an object'],
  [Object.create(null), 'an object'],
  [new Map(), 'a Map'],
  [Object.create({ constructor: { name: 5 } }), 'an object'],
])('%o is shown as %s', (value, shown) => {
  expect(show(value)).toBe(shown)
})

test.each([
  [{ endpoint: 'node', method: 'eth_call' }, 'node: eth_call: '],
  [{ endpoint: 'node' }, 'node: '],
  [{ method: 'eth_call' }, 'eth_call: '],
  [{}, ''],
])('a message about %o begins with "%s"', (about, prefix) => {
  expect(messagePrefix(about)).toBe(prefix)
})

describe('a text that was cut from a longer one', () => {
  setFlagsFromString('--expose-gc')
  const gc: () => void = runInNewContext('gc')

  test('is copied as it is', () => {
    for (const text of ['', 'x', 'Zürich, 東京, 🦊', '\ud800\n"\\\u2028']) expect(copyText(text)).toBe(text)
  })

  test.each<readonly [string, (text: string) => unknown]>([
    ['shortened', shortened],
    ['excerpt', excerpt],
    ['scrubStart', (text) => scrubStart(text, 500, (whole) => whole)],
    ['scrubJson', (text) => scrubJson([text], (whole) => whole)],
  ])('does not hold it: %s', (_, cut) => {
    gc()
    const before = process.memoryUsage().heapUsed
    const held = Array.from({ length: 20 }, () => cut(Buffer.alloc(1_000_000, 'y').toString('latin1')))
    gc()
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(5_000_000)
    expect(held).toHaveLength(20)
  })
})
