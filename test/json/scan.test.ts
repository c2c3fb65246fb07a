import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compact, parseAt, scanArray, scanObject, skipValue, viewOf } from '../../src/json/scan.ts'
import { scanBody } from '../../src/rpc/post/body.ts'
import { correlate } from '../../src/rpc/post/correlate.ts'
import { runs } from '../support/runs.ts'

const bytesOf = (text: string) => Buffer.from(text, 'utf8')
const textOf = (bytes: unknown) => Buffer.from(bytes as Uint8Array).toString('utf8')

/** JSON text of any value, with white space where JSON allows it. */
const jsonText = fc
  .jsonValue({ maxDepth: 5, noUnicodeString: false } as never)
  .chain((value) => fc.constantFrom(0, 1, 2, '\t', '\n ').map((space) => JSON.stringify(value, undefined, space)))

describe('scanning JSON as bytes', () => {
  it('finds the items of an array and the fields of an object as JSON.parse does', () => {
    fc.assert(
      fc.property(fc.array(jsonText), fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), jsonText)), (items, fields) => {
        const array = bytesOf(` [${items.join(' , ')}] `)
        const found: unknown[] = []
        const end = scanArray(array, 1, (from, to) => found.push(parseAt(array, from, to)))
        expect(found).toEqual(JSON.parse(array.toString()))
        expect(end).toBe(array.length - 1)

        const object = bytesOf(`{${fields.map(([name, json]) => `${JSON.stringify(name)}\n:${json}`).join(',')}}`)
        const named: [string, unknown][] = []
        scanObject(object, 0, (name, from, to) => named.push([name, parseAt(object, from, to)]))
        expect(named).toEqual(fields.map(([name, json]) => [name, JSON.parse(json)]))
      }),
      runs(500, 7),
    )
  })

  it('removes white space, and nothing else', () => {
    fc.assert(
      fc.property(jsonText, (json) => {
        const small = textOf(compact(bytesOf(json)))
        expect(small).toBe(JSON.stringify(JSON.parse(json)))
      }),
      runs(500, 7),
    )
    expect(textOf(compact(bytesOf('{ "a b" : [ 1.50 , 1E+2,\r\n"\\u0041 \\" ]" ] }')))).toBe('{"a b":[1.50,1E+2,"\\u0041 \\" ]"]}')
  })

  it('copies nothing when there is no white space', () => {
    const bytes = bytesOf('{"a":[1,"c"]}')
    expect(compact(bytes) === bytes).toBe(true)
  })

  it.each(['[1], "a": [2]', '{ "a": 1 } , "b": {}', '{ } {}', '[ ] 1', '{"a":1} }'])(
    'refuses to remove white space from %j, which is more than one value',
    (json) => {
      expect(() => compact(bytesOf(json))).toThrow(SyntaxError)
    },
  )

  it.each(['', '[', '[1', '[1,', '[,]', '[1 2]', '["a]', '["a\\"]', '[{]', '[{"a":1]', '[ }', 'null', '{"a":1}'])('refuses %j as an array', (json) => {
    expect(() => scanArray(bytesOf(json), 0, () => {})).toThrow(SyntaxError)
  })

  it.each(['', '{', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '{a:1}', '{"a" 1}', '{"a":}', '[1]'])('refuses %j as an object', (json) => {
    expect(() => scanObject(bytesOf(json), 0, () => {})).toThrow(SyntaxError)
  })
})

/** One change of JSON text: a byte inserted, removed or replaced. */
const change = fc.record({
  at: fc.nat(999).map((n) => n / 1000),
  takes: fc.constantFrom(0, 0, 1, 2),
  puts: fc.constantFrom(
    '',
    '"',
    ',',
    ':',
    '{',
    '}',
    '[',
    ']',
    '\\',
    '\\u00g0',
    '\\ud800',
    '\\x',
    ' ',
    '\n',
    '\0',
    '\u001b',
    'é',
    'tru',
    'nul',
    '01',
    '1.',
    '-',
    '1e',
    '0x12',
    '.5',
  ),
})

describe('the end of a value', () => {
  const isOneValue = (bytes: Buffer) => {
    try {
      return skipValue(bytes, viewOf(bytes), 0) === bytes.length
    } catch {
      return false
    }
  }
  const isJson = (text: string) => {
    try {
      JSON.parse(text)
      return true
    } catch {
      return false
    }
  }

  it('is where JSON.parse finds it, and is absent from what JSON.parse refuses', () => {
    let refused = 0
    fc.assert(
      fc.property(jsonText, fc.option(change), (json, odds) => {
        const at = odds === null ? 0 : Math.floor(odds.at * json.length)
        // White space around a value is not part of it.
        const text = odds === null ? json : (json.slice(0, at) + odds.puts + json.slice(at + odds.takes)).trim()
        if (!isJson(text)) refused++
        expect([text, isOneValue(bytesOf(text))]).toEqual([text, isJson(text)])
      }),
      runs(2000, 7),
    )
    expect(refused).toBeGreaterThan(1000)
  })

  it.each([
    'tru',
    'truE',
    'nul',
    'fals',
    '0x12',
    '01',
    '-',
    '-01',
    '1.',
    '.5',
    '1e',
    '1e+',
    '+1',
    'NaN',
    '"\0"',
    '"\u001b"',
    '"\\x"',
    '"\\u12g4"',
    '"\\u123',
    '"\\',
    '[1,2}',
    '[1,]',
    '{"a":1,}',
  ])('is absent from %j', (text) => {
    expect(isOneValue(bytesOf(text))).toBe(false)
    expect(isOneValue(bytesOf(`{"a":[${text}]}`))).toBe(false)
  })

  it('is found for any depth of nesting', () => {
    const depth = 200_000
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
      ['[{"a":', '}]'],
    ] as const) {
      const json = `${open.repeat(depth)}1${close.repeat(depth)}`
      expect(isOneValue(bytesOf(json))).toBe(true)
      expect(isOneValue(bytesOf(json.replace(close, close === ']' ? '}' : ']')))).toBe(false)
    }
  })
})

describe('the time for bytes', () => {
  /** The least CPU time of several runs, in us. */
  const cost = (run: () => unknown) => {
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < 7; i++) {
      const before = process.cpuUsage()
      try {
        run()
      } catch {
        // Invalid JSON takes time, too.
      }
      const { user, system } = process.cpuUsage(before)
      least = Math.min(least, user + system)
    }
    return least
  }

  it.each<[string, (size: number) => string]>([
    ['white space everywhere', (size) => `[${' 1 ,'.repeat(size / 4)}1 ]`],
    ['nothing but white space', (size) => `[${' '.repeat(size)}1]`],
    ['nothing but backslashes', (size) => ` "${'\\'.repeat(size)}"`],
    ['nothing but escaped quotes', (size) => ` "${'\\"'.repeat(size / 2)}"`],
    ['nothing but quotes', (size) => ` [${'"",'.repeat(size / 3)}""]`],
    ['nested brackets', (size) => ` ${'['.repeat(size / 2)}${']'.repeat(size / 2)}`],
    ['strings without an end', (size) => ` [${`"${'\\"'.repeat(50)}`.repeat(size / 101)}`],
    ['no ASCII', (size) => ` "${'é'.repeat(size / 2)}"`],
  ])('is linear in their number: %s', (_, textOf) => {
    const [short, long] = [1, 32].map((times) => bytesOf(textOf(times * 20_000))) as [Buffer, Buffer]
    const body = (bytes: Buffer) => Buffer.concat([bytesOf('{"jsonrpc":"2.0","id":1,"result":'), bytes, bytesOf('}')])
    // 32 times as long would take 1,024 times as long if it were quadratic.
    const growth = (read: (bytes: Buffer) => unknown) =>
      cost(() => read(long)) /
      Math.max(
        cost(() => read(short)),
        1000,
      )
    expect(growth(compact)).toBeLessThan(200)
    expect(growth((bytes) => scanBody(body(bytes), 1, 1))).toBeLessThan(200)
  })

  it('to compare replies with the same id is about the time to scan them', () => {
    const bytes = bytesOf(`["${'x'.repeat(1_500_000)}"]`)
    const replies = [bytes, Buffer.from(bytes)].map((result) => ({ id: 1, result }))
    expect(cost(() => correlate(replies, 1, 1))).toBeLessThan(20 * cost(() => skipValue(bytes, viewOf(bytes), 0)) + 2000)
  })
})
