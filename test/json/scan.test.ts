import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compact, parseAt, scanArray, scanObject, skipValue, viewOf } from '../../src/json/scan.ts'
import type { Call } from '../../src/rpc/call.ts'
import { resultFor, scanBody } from '../../src/rpc/post/body.ts'
import { correlate } from '../../src/rpc/post/correlate.ts'
import { runs } from '../support/runs.ts'

const bytesOf = (text: string) => Buffer.from(text, 'utf8')
const textOf = (bytes: unknown) => Buffer.from(bytes as Uint8Array).toString('utf8')

/** JSON text of any value, with white space where JSON allows it. */
const jsonText = fc
  .jsonValue({ maxDepth: 5, noUnicodeString: false } as never)
  .chain((value) => fc.constantFrom(0, 1, 2, '\t', '\n ').map((space) => JSON.stringify(value, undefined, space)))

describe('scanning JSON as bytes', () => {
  it('finds the items of an array and the fields of an object where JSON.parse finds them', () => {
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

  it('takes white space out, and touches nothing else', () => {
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
    'refuses %j, which is more than one value, where white space goes',
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

/** One change of JSON text: a byte put in, taken out or made another. */
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

  it('is where JSON.parse finds it, and is nowhere in what JSON.parse refuses', () => {
    let refused = 0
    fc.assert(
      fc.property(jsonText, fc.option(change), (json, odds) => {
        const at = odds === null ? 0 : Math.floor(odds.at * json.length)
        // White space around a value is not part of it.
        const text = odds === null ? json : (json.slice(0, at) + odds.puts + json.slice(at + odds.takes)).trim()
        if (!isJson(text)) refused++
        expect([text, isOneValue(bytesOf(text))]).toEqual([text, isJson(text)])
      }),
      runs(10_000, 7),
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
  ])('is nowhere in %j', (text) => {
    expect(isOneValue(bytesOf(text))).toBe(false)
    expect(isOneValue(bytesOf(`{"a":[${text}]}`))).toBe(false)
  })

  it('is found however deep the value is nested', () => {
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

describe('the time that bytes take', () => {
  /** The least CPU time of several runs, in us. */
  const cost = (run: () => unknown) => {
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < 7; i++) {
      const before = process.cpuUsage()
      try {
        run()
      } catch {
        // What is no JSON takes time, too.
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
  ])('grows with their number, not with its square: %s', (_, textOf) => {
    const [short, long] = [1, 32].map((times) => bytesOf(textOf(times * 60_000))) as [Buffer, Buffer]
    const body = (bytes: Buffer) => Buffer.concat([bytesOf('{"jsonrpc":"2.0","id":1,"result":'), bytes, bytesOf('}')])
    // 32 times as long: 1,024 times the time, were it to grow with the square.
    const growth = (read: (bytes: Buffer) => unknown) =>
      cost(() => read(long)) /
      Math.max(
        cost(() => read(short)),
        1000,
      )
    expect(growth(compact)).toBeLessThan(200)
    expect(growth((bytes) => scanBody(body(bytes), 1, 1))).toBeLessThan(200)
  })

  it('to tell a reply from others with the same id is about the time to scan them', () => {
    const bytes = bytesOf(`["${'x'.repeat(1_500_000)}"]`)
    const replies = [bytes, Buffer.from(bytes)].map((result) => ({ id: 1, result }))
    expect(cost(() => correlate(replies, 1, 1))).toBeLessThan(20 * cost(() => skipValue(bytes, viewOf(bytes), 0)) + 2000)
  })
})

describe('a scanned body', () => {
  const call = (as: 'value' | 'bytes') => ({ as }) as Call
  const body =
    '\ufeff [ {"jsonrpc":"2.0","id":1,"result": {"a" : [1.0]} }, {"id":"2","result":null}, {"id":3,"error":{"code":-32000,"message":"no","data":[1]}}, 7 ] '

  it('is what JSON.parse makes of it, with bytes in the place of results', () => {
    const parsed = scanBody(bytesOf(body), 1, 3) as { id: unknown; result?: unknown; error?: unknown }[]
    expect(parsed.map((reply) => [reply.id, reply.error])).toEqual([
      [1, undefined],
      ['2', undefined],
      [3, { code: -32000, message: 'no', data: [1] }],
      [undefined, undefined],
    ])
    expect(textOf(parsed[0]?.result)).toBe('{"a" : [1.0]}')
    expect(parsed[1]?.result).toBeNull()
  })

  it('gives each call its result in the requested form', () => {
    const [first, second] = scanBody(bytesOf(body), 1, 3) as { result: unknown }[]
    expect(textOf(resultFor(call('bytes'), first?.result, true, 0).take())).toBe('{"a" : [1.0]}')
    expect(resultFor(call('value'), first?.result, true, 0).take()).toEqual({ a: [1] })
    expect(textOf(resultFor(call('bytes'), second?.result, true, 0).take())).toBe('null')
    expect(resultFor(call('value'), second?.result, true, 0).take()).toBeNull()
  })

  it.each(['{"id":1,"result":2} x', '[{"id":1,"result":2}', '{"id":1,"result":', '<html>', ''])('is refused when it is not JSON: %j', (text) => {
    expect(() => scanBody(bytesOf(text), 1, 1)).toThrow(SyntaxError)
  })

  it('has the same results in the usual form and in any other', () => {
    const results = ['{"a":1}', '"0x1"', 'null', '[]', 'true', '{"nested":{"jsonrpc":"2.0","id":9,"result":1}}']
    const envelope = (id: number, result: string, behind = '') => `{"jsonrpc":"2.0","id":${id},"result":${result}${behind}}`
    const usual = results.map((result, i) => envelope(5 + i, result))
    const bodies = [
      `[${usual.join(',')}]`,
      `[${usual.join(', ')}]`,
      `[${[...usual].reverse().join(',')}]`,
      `[${results.map((result, i) => envelope(5 + i, result, ',"error":null')).join(',')}]`,
      `[${results.map((result, i) => `{"result":${result},"id":${5 + i}}`).join(',')}]`,
    ]
    for (const body of bodies) {
      const replies = scanBody(bytesOf(body), 5, results.length) as { id: number; result: Buffer | null }[]
      const found = new Map(replies.map(({ id, result }) => [id, result === null ? 'null' : textOf(result)]))
      expect([...found].sort(([a], [b]) => a - b)).toEqual(results.map((result, i) => [5 + i, result]))
    }
  })
})

describe('what does not belong to the result', () => {
  const reply = (id: number | null, part: string) => `{"jsonrpc":"2.0","id":${id},${part}}`
  const long = JSON.stringify({ code: -32000, message: 'm'.repeat(3000) })
  const result = `{"number":"0x1","list":[{"a":{}},{"b":{}}],"text":"${'x'.repeat(3000)}"}`
  const partsOf = (body: string, count: number) =>
    [scanBody(bytesOf(body), 1, count)].flat().map((each) => {
      const { id, result, error } = each as { id: unknown; result?: Buffer; error?: unknown }
      return [id, result && textOf(result), error !== undefined]
    })

  it.each(['{}', result, '[]'])('an error beside it is seen, however long it is: %s', (value) => {
    const odd = reply(1, `"result":${value},"error":${long}`)
    expect(partsOf(odd, 1)).toEqual([[1, value, true]])
    expect(partsOf(`[${odd},${reply(2, `"result":${value}`)}]`, 2)).toEqual([
      [1, value, true],
      [2, value, false],
    ])
  })

  it('unexpected replies are separate replies, wherever they are', () => {
    const [first, second] = [reply(1, `"result":${result}`), reply(2, `"result":${result}`)]
    const one = [1, result, false]
    const two = [2, result, false]
    const stray = reply(null, `"error":${long}`)
    const turned = `{"id":7,"jsonrpc":"2.0","result":${result}}`
    expect(partsOf(`[${first},${first},${second}]`, 2)).toEqual([one, one, two])
    expect(partsOf(`[${first},${second},${second}]`, 2)).toEqual([one, two, two])
    expect(partsOf(`[${first},${stray},${second}]`, 2)).toEqual([one, [null, undefined, true], two])
    expect(partsOf(`[${first},${second},${stray}]`, 2)).toEqual([one, two, [null, undefined, true]])
    expect(partsOf(`[${first},${turned},${second}]`, 2)).toEqual([one, [7, result, false], two])
  })
})

describe('a long field of the envelope after the result', () => {
  const long = JSON.stringify({ text: 'x'.repeat(3000) })
  it.each([
    ['an object', '{"number":"0x1"}'],
    ['an array', '[{"a":["x"],"b":1}]'],
    ['an empty object', '{}'],
  ])('is not part of %s', (_, result) => {
    // Of a lone reply, too, there is a list where its form is the usual one.
    const resultsOf = (body: string, count: number) => [scanBody(bytesOf(body), 1, count)].flat().map((reply) => textOf((reply as { result: Buffer }).result))
    for (const tail of [`"meta":${long}`, `"meta":[${long}]`, `"error":null,"meta":${long}`]) {
      expect(resultsOf(`{"jsonrpc":"2.0","id":1,"result":${result},${tail}}`, 1)).toEqual([result])
      const batch = `[{"jsonrpc":"2.0","id":1,"result":${result},${tail}},{"jsonrpc":"2.0","id":2,"result":${result}}]`
      expect(resultsOf(batch, 2)).toEqual([result, result])
    }
  })
})
