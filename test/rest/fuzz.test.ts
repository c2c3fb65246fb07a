import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { HexlineError } from '../../src/errors.ts'
import { names, operations } from '../support/rest-operations.ts'
import { samples } from '../support/rest-records.ts'
import { type Answer, always, emptyPage, KEY, type RestServer, serveRest } from '../support/rest-server.ts'
import { nightly, runs } from '../support/runs.ts'
import { send } from '../support/server.ts'

// Each has its own key: with a shared one, every throttled call would delay the next ones.
let keys = 0

/**
 * Reads all operations to their end: each gives a result, or fails with a hexline error. Returns
 * the names of the outcomes.
 */
async function endings(server: RestServer, answer: Answer): Promise<string[]> {
  const ended: string[] = []
  for (const name of names) {
    for (const lenient of [false, true]) {
      server.script(answer)
      const { call, params } = operations[name]
      try {
        const service = { ...server.service, apiKey: `${KEY}${keys++}` }
        const asked = call(service, params, { retry: false, lenient, maxResponseBytes: 50_000_000 })
        if (Symbol.asyncIterator in asked) {
          // The items of a list can be read.
          for await (const record of asked as AsyncIterable<unknown>) expect(typeof record).toBe('object')
        } else await asked
        ended.push('given')
      } catch (error) {
        if (!(error instanceof HexlineError)) throw error
        ended.push(error.name)
      }
    }
  }
  return ended
}

/** JSON values, including those special to JavaScript. */
const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom('', '0', '1e999', '-0', 'null', '{}', '{"a":', '2022-10-16T23:07:19Z', 'Invalid Date', '\ud800', '__proto__', 1e308, -1, 2 ** 53),
)

/** A nearly correct reply: records of any kind, with some other values in their fields. */
const nearly = fc
  .tuple(
    fc.constantFrom(...Object.values(samples)),
    fc.array(fc.tuple(fc.nat(40), anyJson), { maxLength: 4 }),
    fc.record({ cursor: anyJson, hasNextPage: anyJson, page: anyJson, total: anyJson }, { requiredKeys: [] }),
    fc.constantFrom('list', 'lone', 'bare'),
  )
  .map(([{ sent }, changes, around, how]) => {
    const fields = Object.keys(sent)
    const changed: Record<string, unknown> = { ...sent }
    for (const [i, value] of changes) changed[fields[i % fields.length] as string] = value
    if (how === 'bare') return changed
    return { ...around, result: how === 'list' ? [sent, changed] : changed }
  })

describe('a helper ends with a result or with a HexlineError', () => {
  it('for any JSON, with any status', async () => {
    const server = await serveRest(emptyPage)
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyJson, nearly), fc.constantFrom(200, 200, 200, 201, 302, 400, 401, 404, 429, 500), async (body, status) => {
        for (const ending of await endings(server, always(JSON.stringify(body), { status }))) seen.add(ending)
      }),
      runs(8),
    )
    // Replies are both good and bad, or this would show little.
    expect([...seen].sort()).toEqual(expect.arrayContaining(['CodecError', 'ServiceError', 'given']))
  })

  it('for any text, cut off anywhere, of any type', async () => {
    const server = await serveRest(emptyPage)
    const whole = JSON.stringify({ result: [samples.nft.sent], cursor: 'next' })
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.nat(whole.length - 1).map((end) => whole.slice(0, end)),
    )
    const types = fc.constantFrom('application/json', 'text/html', 'text/plain; charset=utf-16', 'image/png', 'nonsense')
    await fc.assert(
      fc.asyncProperty(texts, types, async (text, type) => {
        await endings(server, always(text, { headers: { 'content-type': type } }))
      }),
      runs(8),
    )
  })

  it('for any bytes', async () => {
    const server = await serveRest(emptyPage)
    const codings = fc.constantFrom('identity', 'gzip', 'br', 'deflate', 'zstd', 'unheard-of')
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), codings, fc.boolean(), async (bytes, coding, isError) => {
        const answer = always(Buffer.from(bytes), { status: isError ? 500 : 200, headers: { 'content-encoding': coding } })
        expect(new Set(await endings(server, answer))).not.toContain('given')
      }),
      runs(8),
    )
  })

  const lists = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  test.each([500, 5_000, ...nightly(2_000, 30_000)])('for any depth of nesting: %i', async (depth) => {
    const server = await serveRest(emptyPage)
    for (const nested of [lists(depth), objects(depth)]) {
      const inString = JSON.stringify(objects(depth))
      for (const body of [
        nested,
        `{"result":${nested}}`,
        `{"result":[{"id":"a","token_address":"a","balance":"1","token_data_id_hash":"a","hash":"a","logs":${nested},"abi":${nested},"x":${nested},"default_properties":${inString}}]}`,
      ]) {
        await endings(server, always(body))
      }
      for (const body of [`{"message":[${nested}]}`, `{"message":"no","details":${nested}}`, nested])
        expect(new Set(await endings(server, always(body, { status: 400 })))).toEqual(new Set(['ServiceError']))
    }
  })

  it('for a reply that is not HTTP', async () => {
    const server = await serveRest(emptyPage)
    const noHttp: Answer = ({ socket }) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n')
    const short: Answer = (_, response) => {
      response.writeHead(200, { 'content-length': '1000' })
      response.write('{"result":[]}', () => response.destroy())
    }
    expect(new Set(await endings(server, noHttp))).toEqual(new Set(['MalformedReplyError']))
    expect(new Set(await endings(server, short))).toEqual(new Set(['NetworkError']))
    expect(new Set(await endings(server, (_, response) => send(response, '', { status: 204 })))).toEqual(new Set(['MalformedReplyError']))
  })
})
