import { describe, expect, test } from 'vitest'
import type { Call } from '../../../src/rpc/call.ts'
import { cutBody, parseBody, resultFor, scanBody } from '../../../src/rpc/post/body.ts'

const bytesOf = (text: string) => Buffer.from(text, 'utf8')
const textOf = (bytes: unknown) => Buffer.from(bytes as Uint8Array).toString('utf8')

describe('a parsed body', () => {
  test.each([
    ['ASCII', '{"id":1}', { id: 1 }],
    ['UTF-8', '{"id":1,"result":"Zürich 🦊"}', { id: 1, result: 'Zürich 🦊' }],
    ['UTF-8 after a byte order mark', '\ufeff{"id":1}', { id: 1 }],
  ])('may be %s', (_, text, value) => {
    expect(parseBody(bytesOf(text))).toEqual(value)
  })
})

describe('a body that is split without parsing', () => {
  const cut = (text: string, count: number) => cutBody(bytesOf(text), 1, count)?.map(({ start, end }) => bytesOf(text).toString('utf8', start, end))
  const envelope = (id: number, result: string) => `{"jsonrpc":"2.0","id":${id},"result":${result}}`

  test('yields the text of each result', () => {
    expect(cut(`${envelope(1, '{"a":1}')} \n`, 1)).toEqual(['{"a":1}'])
    expect(cut(`[${envelope(1, '{"a":{}}')},${envelope(2, 'null')},${envelope(3, '[[]]')}]`, 3)).toEqual(['{"a":{}}', 'null', '[[]]'])
  })

  test('leaves what is behind a lone result to its reader, which reads to its end', () => {
    expect(cut(`${envelope(1, '{"a":1}')},${envelope(2, '{"b":2}')}`, 1)).toEqual([`{"a":1}},${envelope(2, '{"b":2}').slice(0, -1)}`])
  })

  test.each([
    ['has its replies in another order', `[${envelope(2, '{}')},${envelope(1, '{}')}]`],
    ['has too few replies', `[${envelope(1, '{}')}]`],
    ['has too many replies', `[${envelope(1, '{}')},${envelope(2, '{}')},${envelope(3, '{}')}]`],
    ['is cut short', `[${envelope(1, '{}')},${envelope(2, '{}')}`],
    ['contains an error', `[${envelope(1, '{}')},{"jsonrpc":"2.0","id":2,"error":{}}]`],
    ['has a result that is neither an array, an object nor null', `[${envelope(1, '{}')},${envelope(2, '"0x1"')}]`],
  ])('yields nothing if it %s', (_, text) => {
    expect(cut(text, 2)).toBeUndefined()
  })
})

describe('a scanned body', () => {
  const call = (as: 'value' | 'bytes') => ({ as }) as Call
  const body =
    '\ufeff [ {"jsonrpc":"2.0","id":1,"result": {"a" : [1.0]} }, {"id":"2","result":null}, {"id":3,"error":{"code":-32000,"message":"no","data":[1]}}, 7 ] '

  test('is the result of JSON.parse, with bytes in place of results', () => {
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

  test('gives each call its result in the requested form', () => {
    const [first, second] = scanBody(bytesOf(body), 1, 3) as { result: unknown }[]
    expect(textOf(resultFor(call('bytes'), first?.result, true, 0).take())).toBe('{"a" : [1.0]}')
    expect(resultFor(call('value'), first?.result, true, 0).take()).toEqual({ a: [1] })
    expect(textOf(resultFor(call('bytes'), second?.result, true, 0).take())).toBe('null')
    expect(resultFor(call('value'), second?.result, true, 0).take()).toBeNull()
  })

  test.each(['{"id":1,"result":2} x', '[{"id":1,"result":2}', '{"id":1,"result":', '<html>', ''])('is refused if it is not JSON: %j', (text) => {
    expect(() => scanBody(bytesOf(text), 1, 1)).toThrow(SyntaxError)
  })

  test('has the same results in the usual form and in any other', () => {
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

describe('parts that do not belong to the result', () => {
  const reply = (id: number | null, part: string) => `{"jsonrpc":"2.0","id":${id},${part}}`
  const long = JSON.stringify({ code: -32000, message: 'm'.repeat(3000) })
  const result = `{"number":"0x1","list":[{"a":{}},{"b":{}}],"text":"${'x'.repeat(3000)}"}`
  const partsOf = (body: string, count: number) =>
    [scanBody(bytesOf(body), 1, count)].flat().map((each) => {
      const { id, result, error } = each as { id: unknown; result?: Buffer; error?: unknown }
      return [id, result && textOf(result), error !== undefined]
    })

  test.each(['{}', result, '[]'])('an error beside it is found, however long: %s', (value) => {
    const odd = reply(1, `"result":${value},"error":${long}`)
    expect(partsOf(odd, 1)).toEqual([[1, value, true]])
    expect(partsOf(`[${odd},${reply(2, `"result":${value}`)}]`, 2)).toEqual([
      [1, value, true],
      [2, value, false],
    ])
  })

  test('replies to other ids stay separate, wherever they are', () => {
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
  test.each([
    ['an object', '{"number":"0x1"}'],
    ['an array', '[{"a":["x"],"b":1}]'],
    ['an empty object', '{}'],
  ])('is not part of %s', (_, result) => {
    // A single reply in the usual form may also be a list.
    const resultsOf = (body: string, count: number) => [scanBody(bytesOf(body), 1, count)].flat().map((reply) => textOf((reply as { result: Buffer }).result))
    for (const tail of [`"meta":${long}`, `"meta":[${long}]`, `"error":null,"meta":${long}`]) {
      expect(resultsOf(`{"jsonrpc":"2.0","id":1,"result":${result},${tail}}`, 1)).toEqual([result])
      const batch = `[{"jsonrpc":"2.0","id":1,"result":${result},${tail}},{"jsonrpc":"2.0","id":2,"result":${result}}]`
      expect(resultsOf(batch, 2)).toEqual([result, result])
    }
  })
})
