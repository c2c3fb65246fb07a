import { describe, expect, it } from 'vitest'
import { HexlineError, NetworkError, RpcError } from '../../src/errors.ts'
import { Asker, type AskerOptions } from '../../src/probe/asker.ts'
import type { Outcome, Post } from '../../src/rpc/call.ts'
import { replyOf } from '../../src/rpc/reply.ts'
import { errorOf } from '../support/server.ts'

/**
 * An asker of an endpoint that gives each call the same outcome; `posts` has the methods of each
 * POST.
 */
function start(outcome: (method: string) => Outcome, options: Partial<AskerOptions> = {}) {
  const posts: string[][] = []
  const post: Post = async (calls) => {
    posts.push(calls.map(({ method }) => method))
    return calls.map(({ method }) => outcome(method))
  }
  const asker = new Asker({ post, maxCalls: 100, reserved: 0, timeoutMs: 10_000, signal: undefined, onPost: () => {}, ...options })
  return { asker, posts }
}

const answered = () => replyOf('0x1', 5)
const refused = (kind: 'rate-limit' | 'invalid') => () => new RpcError({ code: -32000, message: `it is ${kind}` }, { kind })

describe('a batch', () => {
  it('is one POST, with the outcome of each call', async () => {
    const { asker, posts } = start((method) => (method === 'b' ? refused('invalid')() : answered()))
    const heard = await asker.batch([{ method: 'a' }, { method: 'b' }])
    expect(heard).toEqual([
      { value: '0x1', bytes: 5, ms: expect.any(Number) },
      { kind: 'invalid', why: 'it is invalid', error: expect.any(RpcError) },
    ])
    expect([posts, asker.calls, asker.posts]).toEqual([[['a', 'b']], 2, 1])
  })

  it('is not made if too few unreserved calls are left', async () => {
    const { asker, posts } = start(answered, { maxCalls: 5, reserved: 2 })
    await asker.batch([{ method: 'a' }, { method: 'a' }])
    expect(await asker.batch([{ method: 'b' }, { method: 'b' }])).toEqual(Array(2).fill({ kind: 'spent', why: 'it would exceed the limit of 5 calls' }))
    expect(await asker.one('c')).toMatchObject({ value: '0x1' })
    expect(posts).toEqual([['a', 'a'], ['c']])
  })

  it('that rejects, or lacks outcomes, is malformed', async () => {
    const { asker } = start(answered, { post: async () => Promise.reject(new Error('oh\nno')) })
    expect(await asker.one('a')).toMatchObject({ kind: 'malformed', why: 'the POST failed: oh no' })
    expect(await start(answered, { post: async () => [] }).asker.one('a')).toEqual({ kind: 'malformed', why: 'no outcome' })
  })

  it('that is throttled is repeated once', async () => {
    const { asker, posts } = start(refused('rate-limit'))
    expect(await asker.one('a')).toMatchObject({ kind: 'rate-limit', why: 'it is rate-limit' })
    expect(posts).toEqual([['a'], ['a']])
  })

  it('that is throttled for too long is not repeated', async () => {
    const { asker, posts } = start(() => new RpcError({ code: -32005, message: 'no' }, { kind: 'rate-limit', retryAfterMs: 60_000 }))
    expect(await asker.one('a')).toMatchObject({ kind: 'rate-limit' })
    expect(posts).toHaveLength(1)
  })
})

describe('an endpoint that gives no reply', () => {
  const lost = () => new NetworkError('no connection')
  it('is asked once whether it is there after three single calls in a row, and gets no more calls', async () => {
    const { asker, posts } = start(lost)
    for (const method of ['a', 'b', 'c']) expect(await asker.one(method)).toMatchObject({ kind: 'network', why: 'no connection' })
    for (let i = 0; i < 3; i++) expect(await asker.one('d')).toEqual({ kind: 'timeout', why: 'not asked: the endpoint did not answer 3 calls in a row' })
    expect(posts).toEqual([['a'], ['b'], ['c'], ['eth_chainId']])
  })

  it('to one method gets no more of its calls, but others', async () => {
    const { asker, posts } = start((method) => (method === 'a' ? lost() : answered()))
    for (let i = 0; i < 3; i++) await asker.one('a')
    for (let i = 0; i < 2; i++) expect(await asker.one('a')).toEqual({ kind: 'timeout', why: 'not asked: `a` did not answer 3 calls in a row' })
    expect(await asker.one('b')).toMatchObject({ value: '0x1' })
    expect(posts).toEqual([['a'], ['a'], ['a'], ['eth_chainId'], ['b']])
  })

  it('gets more calls if only batches get none, or a reply came in between', async () => {
    let calls = 0
    const { asker, posts } = start((method) => (method === 'a' || calls++ % 3 < 2 ? lost() : answered()))
    for (let i = 0; i < 5; i++) await asker.batch([{ method: 'a' }, { method: 'a' }])
    for (let i = 0; i < 9; i++) await asker.one('b')
    expect(posts).toHaveLength(14)
  })

  it('is not asked beyond the allowed calls', async () => {
    const { asker, posts } = start(lost, { maxCalls: 4 })
    for (const method of ['a', 'b', 'c']) await asker.one(method)
    expect(await asker.one('d')).toMatchObject({ kind: 'spent' })
    expect(posts).toHaveLength(3)
  })
})

describe('a burst', () => {
  it('makes the reserved calls, one by one, until one is refused', async () => {
    const all = start(answered, { maxCalls: 20, reserved: 10 })
    expect((await all.asker.burst({ method: 'a' }, 4)).heard).toHaveLength(10)
    let calls = 0
    const few = start(() => (++calls > 3 ? refused('rate-limit')() : answered()), { maxCalls: 20, reserved: 10 })
    expect((await few.asker.burst({ method: 'a' }, 1)).heard).toHaveLength(4)
    expect([...all.posts, ...few.posts].every((post) => post.length === 1)).toBe(true)
  })
})

it('ends with the reason of the signal, and reports each POST', async () => {
  const counts: number[] = []
  const reason = new HexlineError('enough', 'closed')
  const aborter = new AbortController()
  const { asker, posts } = start(answered, { signal: aborter.signal, onPost: (calls) => counts.push(calls) })
  await asker.batch([{ method: 'a' }, { method: 'a' }])
  await asker.one('a')
  aborter.abort(reason)
  expect(await errorOf(asker.one('a'))).toBe(reason)
  expect([counts, posts.length]).toEqual([[2, 3], 2])
})
