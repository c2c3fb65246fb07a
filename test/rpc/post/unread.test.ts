import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type RequestMarks, UNREAD } from '../../../src/client/internals.ts'
import { createClient, type HexlineError, type Request } from '../../../src/index.ts'
import { BodyPool } from '../../../src/rpc/body-pool.ts'
import { correlate, isError, type ReplyObject } from '../../../src/rpc/post/correlate.ts'
import { mayBeReadInParts, readUnread, unreadResults, wasRead } from '../../../src/rpc/post/unread.ts'
import { runs } from '../../support/runs.ts'
import { send, serve } from '../../support/server.ts'

/*
 * Results as the node's own bytes: each call gets the bytes of the result that parsing the whole
 * body would give it.
 */

/** `#0`, `#1` and `#2` stand for the ids of the calls. */
const ids = fc.constantFrom('#0', '#1', '#2', '"#0"', '"#1"', '"#2"', 'null', '7')

const long = (item: string) => `[${Array.from({ length: 120 }, () => item).join()}]`

/** Results, some of which contain what looks like the next envelope. */
const result = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.stringify(value)),
  fc.tuple(ids, ids).map(([a, b]) => `{"a":{"b":{}},"c":[{"jsonrpc":"2.0","id":${a},"result":{"x":{}}},{"jsonrpc":"2.0","id":${b},"result":{"y":{}}}]}`),
  ids.map((id) => `[{"n":[]},{"jsonrpc":"2.0","id":${id},"result":[{"inside":[1]}]},{"jsonrpc":"2.0","id":${id},"result":[]}]`),
  // If cut before the inner envelope, the rest looks like a complete result.
  ids.map((id) => `{"a":[{"e":{"b":{}}},{"jsonrpc":"2.0","id":${id},"result":[{"stolen":1}]}],"o":{}}`),
  ids.map((id) => `[{"e":[[]]},{"jsonrpc":"2.0","id":${id},"result":{"stolen":{}}}]`),
  fc.constantFrom('["own"]', '{"own":{}}'),
  fc.constantFrom('{}', '[]', 'null', '"0x1"', long('{"a":[],"b":{}}'), `{"list":${long('"0x12"')},"o":{}}`),
  fc.constant('{"text":"a \\"}},{\\"jsonrpc\\":\\"2.0\\",\\"id\\":#1,\\"result\\":{}","o":{}}'),
)

const field = fc.oneof(
  result.map((value) => `"result":${value}`),
  ids.map((id) => `"id":${id}`),
  fc.constantFrom('"error":null', '"error":{"code":3,"message":"no"}', `"error":{"code":3,"message":"no","data":${long('"x"')}}`, `"meta":${long('{"m":[]}')}`),
)

/** A reply as most nodes write it, with white space, or with more fields. */
const reply = (id: string) =>
  fc.oneof(
    { arbitrary: result.map((value) => `{"jsonrpc":"2.0","id":${id},"result":${value}}`), weight: 20 },
    result.map((value) => `{ "jsonrpc": "2.0",\n"id": ${id} , "result": ${value} }`),
    fc.tuple(result, fc.array(field, { maxLength: 2 })).map(([value, more]) => `{"jsonrpc":"2.0","id":${id},"result":${[value, ...more].join()}}`),
    fc.constant(`{"jsonrpc":"2.0","id":${id},"error":{"code":3,"message":"no"}}`),
  )

const replies = fc.oneof({ arbitrary: fc.tuple(reply('#0'), reply('#1'), reply('#2')), weight: 6 }, fc.array(ids.chain(reply), { minLength: 1, maxLength: 4 }))

/** One change to the text, or none. */
const damage = fc.oneof(
  { arbitrary: fc.constant((text: string) => text), weight: 4 },
  fc
    .nat(999)
    .map((n) => n / 1000)
    .map((at) => (text: string) => text.slice(0, Math.floor(at * text.length))),
  fc
    .tuple(
      fc.nat(999).map((n) => n / 1000),
      fc.constantFrom('"', ',', '}', ']', '{', '\\', 'x', '\0', '}},{"jsonrpc":"2.0","id":#1,"result":{"z":{}'),
    )
    .map(
      ([at, puts]) =>
        (text: string) =>
          text.slice(0, Math.floor(at * text.length)) + puts + text.slice(Math.floor(at * text.length)),
    ),
)

const bodyOf = (all: fc.Arbitrary<readonly string[]>) =>
  fc.tuple(all, damage, fc.constantFrom('', '\n')).map(
    ([all, damaged, end]) =>
      (first: number) =>
        damaged(`[${all.join()}]`).replace(/#(\d)/g, (_, i) => `${first + Number(i)}`) + end,
  )

const body = bodyOf(replies)

/** Bodies of the form that is split without looking inside. */
const whole = fc.constantFrom(
  '["own"]',
  '{"own":{}}',
  long('"x"'),
  '{"a":[{"e":{"b":{}}},{"jsonrpc":"2.0","id":#1,"result":[{"stolen":1}]}],"o":{}}',
  '[{"e":[[]]},{"jsonrpc":"2.0","id":#1,"result":{"stolen":{}}}]',
  '{"a":[{"e":{"b":{}}},{"jsonrpc":"2.0","id":#2,"result":[{"stolen":1}]}],"o":{}}',
)
const usual = bodyOf(fc.tuple(whole, whole, whole).map((results) => results.map((each, i) => `{"jsonrpc":"2.0","id":#${i},"result":${each}}`)))

/** The replies to calls 1, 2 and 3 in a body; undefined if it is not JSON. */
function repliesIn(text: string): readonly (ReplyObject | string)[] | undefined {
  try {
    return correlate(JSON.parse(text), 1, 3).replies
  } catch {
    return undefined
  }
}

describe('three calls for bytes get the same as from parsing the body', () => {
  const outcome = async (asked: Promise<{ take(): unknown }>, read: (value: unknown) => unknown) => {
    try {
      return { value: read((await asked).take()) }
    } catch (error) {
      const { name, kind } = error as HexlineError
      return { name, kind }
    }
  }

  test('over HTTP, for any body', async () => {
    let text = ''
    const server = await serve((request, response) => {
      text = make(request.entries[0]?.id as number)
      send(response, text)
    })
    let make: (first: number) => string = () => ''
    let answered = 0
    let refused = 0
    await fc.assert(
      fc.asyncProperty(body, async (each) => {
        make = each
        // A new client, so that ids are the same.
        const ask = async (as: 'value' | 'bytes', read: (value: unknown) => unknown) => {
          await using client = createClient(server.url, { retry: false })
          return await Promise.all([0, 1, 2].map((i) => outcome(client.send({ method: 'eth_getBalance', params: [i], as }), read)))
        }
        // A result is one JSON value, or it cannot be parsed.
        const bytes = await ask('bytes', (value) => JSON.parse(Buffer.from(value as Uint8Array).toString()))
        const values = await ask('value', (value) => value)
        for (const each of values) 'value' in each ? answered++ : refused++
        expect([text, bytes]).toEqual([text, values])
      }),
      runs(200, 14),
    )
    expect(answered).toBeGreaterThan(100)
    expect(refused).toBeGreaterThan(100)
  })

  test('if the bytes are read later, in any order, each by a reader that checks them', () => {
    let read = 0
    let passed = 0
    fc.assert(
      fc.property(usual, fc.uniqueArray(fc.nat(2), { minLength: 1, maxLength: 3 }), (make, order) => {
        const text = make(1)
        const results = unreadResults(Buffer.from(text), 1, 3)
        if (results === undefined) return
        const right = repliesIn(text) ?? []
        for (const i of order) {
          const match = right[i]
          let value: unknown
          try {
            value = readUnread(results[i] as Buffer, (bytes) => JSON.parse(bytes.toString()))
          } catch (error) {
            // Only bytes without a right answer are refused.
            expect([text, error instanceof SyntaxError, typeof match !== 'object' || isError(match)]).toEqual([text, true, true])
            passed++
            continue
          }
          // Bytes after a complete result may invalidate the body, or repeat its id; the first
          // result has been read by then.
          if (typeof match === 'object') expect([text, value]).toEqual([text, match.result])
          read++
        }
      }),
      runs(5000, 14),
    )
    expect(read).toBeGreaterThan(1000)
    expect(passed).toBeGreaterThan(100)
  })
})

test('a result that may be read in parts is the right one, whichever were read before it', () => {
  let read = 0
  let refused = 0
  fc.assert(
    fc.property(usual, fc.uniqueArray(fc.nat(2), { minLength: 1, maxLength: 3 }), (make, order) => {
      const text = make(1)
      const results = unreadResults(Buffer.from(text), 1, 3)
      const right = repliesIn(text)
      if (results === undefined || right === undefined) return
      for (const i of order) {
        const bytes = results[i] as Buffer
        let value: unknown
        try {
          value = JSON.parse(bytes.toString())
        } catch {
          continue
        }
        if (!mayBeReadInParts(bytes)) {
          refused++
          continue
        }
        wasRead(bytes)
        const match = right[i] as ReplyObject
        expect([text, value]).toEqual([text, match.result])
        read++
      }
    }),
    runs(5000, 14),
  )
  expect(read).toBeGreaterThan(300)
  expect(refused).toBeGreaterThan(10)
})

describe('a result that contains what looks like the next envelope', () => {
  const inside = '{"a":[{"e":{"b":{}}},{"jsonrpc":"2.0","id":2,"result":[{"stolen":1}]}],"o":{}}'
  const text = `[{"jsonrpc":"2.0","id":1,"result":${inside}},{"jsonrpc":"2.0","id":2,"result":["own"]}]`
  const read = (bytes: Buffer) => JSON.parse(bytes.toString())

  test.each([[[0, 1]], [[1, 0]], [[1]], [[1, 1, 0]]])('gives each call its own result, read in the order %j', (order) => {
    const results = unreadResults(Buffer.from(text), 1, 2)
    // Without a cut at a wrong place this would show nothing.
    expect(results?.map(String)[0]).not.toBe(inside)
    for (const i of order) expect(readUnread(results?.[i] as Buffer, read)).toEqual(i === 0 ? JSON.parse(inside) : ['own'])
  })

  test('gives each call its own result over HTTP, too, if all of them are long', async () => {
    const items = JSON.stringify(Array.from({ length: 500 }, () => 'x'))
    const first = `[{"e":${items}},{"jsonrpc":"2.0","id":2,"result":{"stolen":1}},{"z":1}]`
    const second = `{"own":"${'x'.repeat(2000)}"}`
    const server = await serve((_, response) => send(response, `[{"jsonrpc":"2.0","id":1,"result":${first}},{"jsonrpc":"2.0","id":2,"result":${second}}]`))
    await using client = createClient(server.url, { retry: false })
    const replies = await Promise.all(['0x1', '0x2'].map((account) => client.send({ method: 'eth_getBalance', params: [account], as: 'bytes' })))
    expect(replies.map((each) => Buffer.from(each.take() as Uint8Array).toString())).toEqual([first, second])
  })
})

describe('bytes that their reader has not looked at yet', () => {
  test('are not shared with an identical call', async () => {
    const server = await serve((request, response) => {
      const [a, b, ...others] = request.entries.map(({ id }) => id)
      // The first result contains what looks like the second reply, which follows it.
      const inside = `{"x":[{"a":{}},{"jsonrpc":"2.0","id":${b},"result":{"stolen":1}}]}`
      const body = `[{"jsonrpc":"2.0","id":${a},"result":${inside}},{"id":${b},"jsonrpc":"2.0","result":{"own":2}}`
      const rest = others.map((id, i) => `,{"jsonrpc":"2.0","id":${id},"result":${i === 0 ? inside : '{"own":2}'}}`)
      send(response, `${body}${rest.join('')}]`)
    })
    await using client = createClient(server.url)
    const ask = (block: string, isUnread: boolean) => {
      const request: Request & RequestMarks = {
        method: 'eth_getBlockByNumber',
        params: [block, false],
        as: 'bytes',
        [UNREAD]: isUnread ? new BodyPool() : undefined,
      }
      return client.send(request)
    }
    const replies = await Promise.all([ask('0x1', true), ask('0x2', true), ask('0x1', false), ask('0x2', false)])
    const texts = replies.slice(2).map((reply) => Buffer.from(reply.take() as Uint8Array).toString())
    expect(texts.map((text) => JSON.parse(text))).toEqual([{ x: [{ a: {} }, { jsonrpc: '2.0', id: expect.any(Number), result: { stolen: 1 } }] }, { own: 2 }])
  })
})
