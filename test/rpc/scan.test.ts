import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseBody, resultFor } from '../../src/rpc/body.ts'
import type { Call } from '../../src/rpc/call.ts'
import { compact, parseAt, scanArray, scanObject } from '../../src/rpc/scan.ts'

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
      { seed: 7, numRuns: 500 },
    )
  })

  it('takes white space out, and touches nothing else', () => {
    fc.assert(
      fc.property(jsonText, (json) => {
        const small = textOf(compact(bytesOf(json)))
        expect(small).toBe(JSON.stringify(JSON.parse(json)))
      }),
      { seed: 7, numRuns: 500 },
    )
    expect(textOf(compact(bytesOf('{ "a b" : [ 1.50 , 1E+2,\r\n"\\u0041 \\" ]" ] }')))).toBe('{"a b":[1.50,1E+2,"\\u0041 \\" ]"]}')
  })

  it('copies nothing when there is no white space', () => {
    const bytes = bytesOf('{"a b":[1,"c d"]}')
    expect(compact(bytes)).toBe(bytes)
  })

  it.each(['', '[', '[1', '[1,', '[,]', '[1 2]', '["a]', '["a\\"]', '[{]', '[{"a":1]', '[ }', 'null', '{"a":1}'])('refuses %j as an array', (json) => {
    expect(() => scanArray(bytesOf(json), 0, () => {})).toThrow(SyntaxError)
  })

  it.each(['', '{', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '{a:1}', '{"a" 1}', '{"a":}', '[1]'])('refuses %j as an object', (json) => {
    expect(() => scanObject(bytesOf(json), 0, () => {})).toThrow(SyntaxError)
  })
})

describe('a scanned body', () => {
  const call = (as: 'value' | 'bytes') => ({ as }) as Call
  const body =
    '\ufeff [ {"jsonrpc":"2.0","id":1,"result": {"a" : [1.0]} }, {"id":"2","result":null}, {"id":3,"error":{"code":-32000,"message":"no","data":[1]}}, 7 ] '

  it('is what JSON.parse makes of it, with bytes in the place of results', () => {
    const parsed = parseBody(bytesOf(body), true) as { id: unknown; result?: unknown; error?: unknown }[]
    expect(parsed.map((reply) => [reply.id, reply.error])).toEqual([
      [1, undefined],
      ['2', undefined],
      [3, { code: -32000, message: 'no', data: [1] }],
      [undefined, undefined],
    ])
    expect(textOf(parsed[0]?.result)).toBe('{"a" : [1.0]}')
    expect(parsed[1]?.result).toBeNull()
  })

  it('gives each call its result as it asked for it', () => {
    const [first, second] = parseBody(bytesOf(body), true) as { result: unknown }[]
    expect(textOf(resultFor(call('bytes'), first?.result, true, 0).take())).toBe('{"a":[1.0]}')
    expect(resultFor(call('value'), first?.result, true, 0).take()).toEqual({ a: [1] })
    expect(textOf(resultFor(call('bytes'), second?.result, true, 0).take())).toBe('null')
    expect(resultFor(call('value'), second?.result, true, 0).take()).toBeNull()
  })

  it.each(['{"id":1,"result":2} x', '[{"id":1,"result":2}', '{"id":1,"result":', '<html>', ''])('is refused when it is not JSON: %j', (text) => {
    expect(() => parseBody(bytesOf(text), true)).toThrow(SyntaxError)
  })
})
