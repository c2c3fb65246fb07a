import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { MalformedReplyError } from '../../src/errors.ts'
import { getNftsByCollection, getStreams, type Paged, type RestOptions, type Stream, type StreamPage } from '../../src/rest/index.ts'
import { type Answer, always, cut, emptyPage, KEY, pages, quick, type RestServer, serveRest } from '../support/rest-server.ts'
import { runs } from '../support/runs.ts'
import { errorOf } from '../support/server.ts'

/** The streams of a server; only their ids matter. */
function streamsOf(server: RestServer, cursor?: string, options: RestOptions = {}): Paged<StreamPage> {
  return getStreams(server.service, { limit: 2, ...(cursor !== undefined && { cursor }) }, { retry: false, ...options })
}
const page = (ids: string, cursor?: string | null, more: object = {}) => ({
  result: [...ids].map((id) => ({ id })),
  ...(cursor !== undefined && { cursor }),
  ...more,
})
const idsOf = (records: readonly Stream[]) => records.map(({ id }) => id).join('')

async function all(list: AsyncIterable<Stream>): Promise<string> {
  const records: Stream[] = []
  for await (const record of list) records.push(record)
  return idsOf(records)
}

const threePages: Answer = pages({ '': page('ab', 'x'), x: page('cd', 'y'), y: page('e', null) })

describe('await', () => {
  it('returns the first page, with one request however often it is awaited', async () => {
    const server = await serveRest(threePages)
    const list = streamsOf(server)
    const first = await list
    expect(idsOf(first.result)).toBe('ab')
    expect(first.cursor).toBe('x')
    expect(await Promise.all([list, list.then(), list.catch(), list.finally()])).toEqual([first, first, first, first])
    expect(server.requests).toHaveLength(1)
  })

  it('sends nothing before it is used', async () => {
    const server = await serveRest(threePages)
    const list = streamsOf(server)
    const iterator = list[Symbol.asyncIterator]()
    const pagesOf = list.pages()
    // Another call makes a full round trip first.
    await streamsOf(server, 'y')
    expect(server.requests.map(({ cursor }) => cursor)).toEqual(['y'])
    await iterator.next()
    await pagesOf.next()
    expect(server.requests).toHaveLength(3)
  })

  it('returns the page at the caller’s cursor', async () => {
    const server = await serveRest(threePages)
    expect(idsOf((await streamsOf(server, 'y')).result)).toBe('e')
  })

  it('rejects with the failure of one request, however often it is awaited', async () => {
    const server = await serveRest(cut)
    const list = streamsOf(server)
    const error = await errorOf(Promise.resolve(list))
    expect(error.name).toBe('NetworkError')
    expect(await list.catch((caught) => caught)).toBe(error)
    const ended: string[] = []
    expect(await errorOf(list.finally(() => ended.push('finally')))).toBe(error)
    expect(ended).toEqual(['finally'])
    expect(server.requests).toHaveLength(1)
  })
})

describe('for await', () => {
  it('yields all records of all pages, and requests each page when it is reached', async () => {
    const server = await serveRest(threePages)
    const seen: string[] = []
    for await (const { id } of streamsOf(server)) seen.push(`${id}${server.requests.length}`)
    expect(seen).toEqual(['a1', 'b1', 'c2', 'd2', 'e3'])
    expect(server.requests.map(({ cursor }) => cursor)).toEqual([undefined, 'x', 'y'])
  })

  it('starts again each time, also after await', async () => {
    const server = await serveRest(threePages)
    const list = streamsOf(server)
    await list
    expect(await all(list)).toBe('abcde')
    expect(await all(list)).toBe('abcde')
    expect(server.requests).toHaveLength(7)
  })

  it('requests nothing after a break', async () => {
    const server = await serveRest(threePages)
    for await (const { id } of streamsOf(server)) if (id === 'b') break
    // Any pending request would arrive before this one.
    await streamsOf(server, 'y')
    expect(server.requests.map(({ cursor }) => cursor)).toEqual([undefined, 'y'])
  })

  it('yields the records before a failure, and then the failure', async () => {
    const server = await serveRest(always(page('ab', 'x')), cut)
    const seen: string[] = []
    const error = await errorOf(
      (async () => {
        for await (const { id } of streamsOf(server)) seen.push(String(id))
      })(),
    )
    expect(seen).toEqual(['a', 'b'])
    expect(error.name).toBe('NetworkError')
  })

  it('retries a page that failed, and no other', async () => {
    const server = await serveRest(always(page('ab', 'x')), cut, always('', { status: 502 }), always(page('c', null)))
    expect(await all(streamsOf(server, undefined, { retry: quick }))).toBe('abc')
    expect(server.requests.map(({ cursor }) => cursor)).toEqual([undefined, 'x', 'x', 'x'])
  })

  it('ends when the signal is aborted, also in the middle of a page', async () => {
    const server = await serveRest(threePages)
    const aborter = new AbortController()
    const reason = new Error('enough')
    const seen: string[] = []
    const error = await errorOf(
      (async () => {
        for await (const { id } of streamsOf(server, undefined, { signal: aborter.signal })) {
          seen.push(String(id))
          if (id === 'c') aborter.abort(reason)
        }
      })(),
    )
    expect(error).toBe(reason)
    expect(seen.join('')).toBe('abc')
    expect(server.requests).toHaveLength(2)
  })
})

test('pages() yields page after page', async () => {
  const server = await serveRest(threePages)
  const seen: [string, string | null][] = []
  for await (const each of streamsOf(server).pages()) seen.push([idsOf(each.result), each.cursor])
  expect(seen).toEqual([
    ['ab', 'x'],
    ['cd', 'y'],
    ['e', null],
  ])
})

describe('cursor, to resume with later', () => {
  it('is that of the first page that is not completely yielded', async () => {
    const list = streamsOf(await serveRest(threePages))
    const seen: [string | null, string | null | undefined][] = []
    for await (const { id } of list) seen.push([id, list.cursor])
    // While the consumer has a page's last record, it is unknown whether it is done with it.
    expect(seen).toEqual([
      ['a', undefined],
      ['b', undefined],
      ['c', 'x'],
      ['d', 'x'],
      ['e', 'y'],
    ])
    expect(list.cursor).toBeNull()
  })

  it('is the caller’s own at first', async () => {
    const server = await serveRest(threePages)
    expect(streamsOf(server).cursor).toBeUndefined()
    expect(streamsOf(server, 'y').cursor).toBe('y')
    expect(server.requests).toEqual([])
  })

  it('after await is the next page, or null', async () => {
    const server = await serveRest(threePages)
    for (const [begin, after] of [
      [undefined, 'x'],
      ['x', 'y'],
      ['y', null],
    ] as const) {
      const list = streamsOf(server, begin)
      await list
      expect(list.cursor).toBe(after)
    }
  })

  it('does not go back when the first page is awaited later', async () => {
    const list = streamsOf(await serveRest(threePages))
    for await (const _ of list);
    await list
    expect(list.cursor).toBeNull()
  })

  it('is the page that failed after a failure, so that nothing is lost or repeated', async () => {
    const server = await serveRest(always(page('ab', 'x')), cut)
    const list = streamsOf(server)
    const first: string[] = []
    await errorOf(
      (async () => {
        for await (const { id } of list) first.push(String(id))
      })(),
    )
    expect(list.cursor).toBe('x')
    server.script(threePages)
    expect(first.join('') + (await all(streamsOf(server, list.cursor ?? undefined)))).toBe('abcde')
  })

  it('is unchanged after a failed first page', async () => {
    const server = await serveRest(cut)
    for (const begin of [undefined, 'x']) {
      const list = streamsOf(server, begin)
      await errorOf(Promise.resolve(list))
      expect(list.cursor).toBe(begin)
    }
  })

  it('is that page after a break in the middle', async () => {
    const list = streamsOf(await serveRest(threePages))
    for await (const { id } of list) if (id === 'c') break
    expect(list.cursor).toBe('x')
  })
})

describe('the end', () => {
  test.each<[string, object]>([
    ['cursor null', page('b', null)],
    ['cursor empty', page('b', '')],
    ['no cursor', page('b')],
    ['hasNextPage false', page('b', null, { hasNextPage: false })],
    ['hasNextPage false, with a cursor', page('b', 'z', { hasNextPage: false })],
    ['hasNextPage "false", with a cursor', page('b', 'z', { hasNextPage: 'false' })],
    ['an empty page without a cursor', page('', null)],
    ['a result of null', { result: null, cursor: '' }],
  ])('%s', async (_, last) => {
    const server = await serveRest(pages({ '': page('a', 'x'), x: last }))
    const list = streamsOf(server)
    const seen: (string | null)[] = []
    for await (const { cursor } of list.pages()) seen.push(cursor)
    expect(seen).toEqual(['x', null])
    expect(list.cursor).toBeNull()
    expect((await streamsOf(server, 'x')).cursor).toBeNull()
  })

  test.each<[string, object]>([
    ['an empty page with a cursor', page('', 'y')],
    ['a result of null with a cursor', { result: null, cursor: 'y' }],
    ['hasNextPage null with a cursor', page('', 'y', { hasNextPage: null })],
  ])('is not %s', async (_, middle) => {
    expect(await all(streamsOf(await serveRest(pages({ '': page('a', 'x'), x: middle, y: page('b', null) }))))).toBe('ab')
  })

  it('a single object in place of a list is a list of one', async () => {
    expect((await streamsOf(await serveRest(always({ result: { id: 'a' }, cursor: null })))).result).toMatchObject([{ id: 'a' }])
  })

  it('a page without a result is refused, such as an error with status 200', async () => {
    const server = await serveRest(always({ message: `slow down, ${KEY}` }))
    const error = await errorOf(Promise.resolve(streamsOf(server)))
    const message = 'result: expected an array, received undefined and the message "slow down, [hidden]"'
    expect(error).toMatchObject({ name: 'CodecError', kind: 'malformed', message })
    expect(error).toMatchObject({ endpoint: new URL(server.url).host, attempts: 1 })
  })
})

describe('an endless list', () => {
  test.each<[string, Record<string, object>, string | undefined, number]>([
    ['a page that leads to itself', { '': page('a', 'x'), x: page('b', 'x') }, undefined, 2],
    ['two pages that lead to each other', { '': page('a', 'x'), x: page('b', 'y'), y: page('c', 'x') }, undefined, 3],
    ['a longer cycle', { '': page('a', 'w'), w: page('b', 'x'), x: page('c', 'y'), y: page('d', 'z'), z: page('e', 'w') }, undefined, 5],
    ['empty pages that lead to each other', { '': page('', 'x'), x: page('', 'y'), y: page('', 'x') }, undefined, 3],
    ['a page that leads to the caller’s start', { x: page('a', 'y'), y: page('b', 'x') }, 'x', 2],
  ])('%s: is an error', async (_, byCursor, begin, asked) => {
    const server = await serveRest(pages(byCursor))
    const error = await errorOf(all(streamsOf(server, begin)))
    expect(error).toBeInstanceOf(MalformedReplyError)
    expect(error.message).toBe('getStreams: the service sent a cursor for the second time, so the list would never end')
    expect(server.requests).toHaveLength(asked)
  })

  it('with more pages but no cursor is an error', async () => {
    for (const last of [page('b', null, { hasNextPage: true }), page('b', '', { hasNextPage: 'true' }), page('b', undefined, { hasNextPage: true })]) {
      const server = await serveRest(pages({ '': page('a', 'x'), x: last }))
      const error = await errorOf(all(streamsOf(server)))
      expect(error).toBeInstanceOf(MalformedReplyError)
      expect(error.message).toBe('getStreams: the service sent no cursor, although there are more pages')
      expect(await errorOf(Promise.resolve(streamsOf(server, 'x')))).toMatchObject({
        kind: 'malformed',
        method: 'getStreams',
        endpoint: new URL(server.url).host,
        attempts: 1,
      })
    }
  })

  it('a cursor may come again in another list', async () => {
    const list = streamsOf(await serveRest(threePages))
    expect([await all(list), await all(list)]).toEqual(['abcde', 'abcde'])
  })
})

/**
 * A server with `records` records, in pages of these sizes in turn; a size of 0 is an empty page
 * with a cursor.
 */
function numbered(records: number, sizes: readonly number[]): Answer {
  return ({ cursor }, response) => {
    const [start, turn] = cursor === undefined ? [0, 0] : (cursor.split('.').map(Number) as [number, number])
    const end = Math.min(records, start + (sizes[turn % sizes.length] as number))
    const result = Array.from({ length: end - start }, (_, i) => ({ token_data_id_hash: (start + i).toString(16), supply: String(start + i) }))
    return always({ result, hasNextPage: end < records, cursor: end < records ? `${end}.${turn + 1}` : null })(undefined as never, response)
  }
}

describe('exactly the records of the server', () => {
  async function supplies(server: RestServer, cursor?: string): Promise<bigint[]> {
    const seen: bigint[] = []
    const params = { collection_data_id_hash: 'ab', limit: 100, ...(cursor !== undefined && { cursor }) }
    for await (const { supply } of getNftsByCollection(server.service, params)) seen.push(supply as bigint)
    return seen
  }
  const upTo = (records: number) => Array.from({ length: records }, (_, i) => BigInt(i))

  it('thousands of them', async () => {
    const server = await serveRest(numbered(5_000, [100]))
    expect(await supplies(server)).toEqual(upTo(5_000))
    expect(server.requests).toHaveLength(50)
  })

  it('in one page of thousands', async () => {
    expect(await supplies(await serveRest(numbered(20_000, [20_000])))).toEqual(upTo(20_000))
  })

  it('for any page sizes, and when resumed anywhere', async () => {
    const server = await serveRest(emptyPage)
    const sizes = fc.array(fc.nat(7), { minLength: 1, maxLength: 6 }).filter((each) => each.some((size) => size > 0))
    await fc.assert(
      fc.asyncProperty(fc.nat(60), sizes, fc.nat(60), async (records, each, stop) => {
        server.script(numbered(records, each))
        expect(await supplies(server)).toEqual(upTo(records))
        const list = getNftsByCollection(server.service, { collection_data_id_hash: 'ab', limit: 100 })
        const before: bigint[] = []
        let pagesLeft = stop % 10
        for await (const { result } of list.pages()) {
          if (pagesLeft-- === 0) break
          before.push(...result.map(({ supply }) => supply as bigint))
        }
        const after = list.cursor === null ? [] : await supplies(server, list.cursor)
        expect([...before, ...after]).toEqual(upTo(records))
      }),
      runs(60),
    )
  })
})
