import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ownRead, type PooledCall } from '../../../src/rpc/call.ts'
import { decodedOf } from '../../../src/rpc/decoded-reply.ts'
import { correlate, type ReplyObject } from '../../../src/rpc/post/correlate.ts'
import { decodedReplies } from '../../../src/rpc/post/decoded.ts'
import { runs } from '../../support/runs.ts'

/** As strict as a reader of bytes: plain JSON without white space. */
function decode(json: Buffer): object {
  const value = JSON.parse(json.toString('latin1'))
  if (value === null || JSON.stringify(value) !== json.toString('latin1')) throw new Error('unusual')
  return { decoded: value }
}

const callsOf = (count: number, each: Partial<PooledCall> = { decode }): PooledCall[] =>
  Array.from({ length: count }, () => ({ ...ownRead({ method: 'eth_getLogs', params: [], deadline: 0 }), ...each }))

const LONG = `"${'x'.repeat(9000)}"`
const envelope = (id: number, result: string) => `{"jsonrpc":"2.0","id":${id},"result":${result}}`

describe('a large body is decoded from its bytes', () => {
  test('for one call, whose reply gives the parsed result to those who take it', () => {
    const [reply] = decodedReplies(Buffer.from(envelope(7, `[1,${LONG}]`)), callsOf(1), 7) ?? []
    expect(decodedOf(reply as never)).toEqual({ decoded: JSON.parse(`[1,${LONG}]`) })
    expect(reply?.take()).toEqual(JSON.parse(`[1,${LONG}]`))
    expect([reply?.take(), decodedOf(reply as never)]).toEqual([undefined, undefined])
  })

  test('for several calls, of which one has no decoder, one gets null, and one a result with white space', () => {
    const results = [`[${LONG}]`, '{"a":1}', 'null', '[ 2 ]']
    const body = Buffer.from(`[${results.map((result, i) => envelope(i + 3, result)).join()}]\n`)
    const calls = callsOf(4).with(1, callsOf(1, {})[0] as PooledCall)
    const replies = decodedReplies(body, calls, 3) ?? []
    expect(replies.map((reply) => decodedOf(reply) !== undefined)).toEqual([true, false, false, false])
    expect(replies.map(({ bytes }) => bytes)).toEqual(results.map(({ length }) => length))
    expect(replies.map((reply) => reply.take())).toEqual(results.map((result) => JSON.parse(result)))
  })
})

describe('a body is left to the parser', () => {
  const whole = `[${envelope(1, `[${LONG}]`)},${envelope(2, '{}')}]`
  test.each<[string, string, PooledCall[]]>([
    ['without a decoder', whole, callsOf(2, {})],
    ['for bytes', whole, callsOf(2, { decode, as: 'bytes' })],
    ['of a few bytes', `[${envelope(1, '[]')},${envelope(2, '{}')}]`, callsOf(2)],
    ['with an error', `[${envelope(1, `[${LONG}]`)},{"jsonrpc":"2.0","id":2,"error":{"code":3,"message":"no"}}]`, callsOf(2)],
    ['with another field', whole.replace('{}}', '{},"extra":{}}'), callsOf(2)],
    ['in another order', `[${envelope(2, `[${LONG}]`)},${envelope(1, '{}')}]`, callsOf(2)],
    ['that is cut', whole.slice(0, -20), callsOf(2)],
    [
      'with what looks like the next envelope inside a result',
      `[${envelope(1, `{"a":[${LONG},{"e":{"b":{}}},${envelope(2, '[{"stolen":1}]')}],"o":{}}`)},${envelope(2, '{}')}]`,
      callsOf(2),
    ],
  ])('%s', (_, body, calls) => {
    expect(decodedReplies(Buffer.from(body), calls, 1)).toBeUndefined()
  })
})

const result = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('{}', '[]', 'null', '[ ]', `[${LONG}]`, `{"long":${LONG}}`, '[{"e":[[]]}]', '{"o":{"p":{}}}') },
  fc.constant('"0x1"'),
  fc.constantFrom(1, 2, 3).map((id) => `[${LONG},{"a":{}},${envelope(id, '[{"stolen":1}]')}]`),
  fc.constantFrom(1, 2, 3).map((id) => `{"a":[{"e":{"b":{}}},${envelope(id, '[{"stolen":1}]')}],"o":{}}`),
)
const damage = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  takes: fc.constantFrom(0, 1, 30),
  puts: fc.constantFrom('', '"', ',', '}', ']', '{', '\\', 'x', '\0', 'é', ' ', '"result":1,', `}},${envelope(2, '{"z":{}}').slice(0, -1)}`),
})

test('whatever a body is, its replies are those of JSON.parse, or it is left to it', () => {
  const outcomes = { decoded: 0, left: 0 }
  fc.assert(
    fc.property(fc.tuple(result, result, result), fc.option(damage, { freq: 1 }), (results, damaged) => {
      let text = `[${results.map((each, i) => envelope(i + 1, each)).join()}]`
      if (damaged !== null) {
        const at = Math.floor(damaged.at * text.length)
        text = text.slice(0, at) + damaged.puts + text.slice(at + damaged.takes)
      }
      const replies = decodedReplies(Buffer.from(text), callsOf(3), 1)
      if (replies === undefined) {
        outcomes.left++
        return
      }
      outcomes.decoded++
      const { replies: parsed, refusal, stray } = correlate(JSON.parse(text), 1, 3)
      expect([refusal, stray]).toEqual([undefined, undefined])
      for (const [i, reply] of replies.entries()) {
        const right = (parsed[i] as ReplyObject).result
        const decoded = decodedOf(reply)
        if (decoded !== undefined) expect(decoded).toEqual({ decoded: right })
        expect(reply.take()).toEqual(right)
      }
    }),
    runs(1000, 17),
  )
  expect(outcomes.decoded).toBeGreaterThan(300)
  expect(outcomes.left).toBeGreaterThan(300)
})
