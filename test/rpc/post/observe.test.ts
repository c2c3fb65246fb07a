import { describe, expect, test } from 'vitest'
import { HttpError, RpcError } from '../../../src/errors.ts'
import { ownRead, type Post } from '../../../src/rpc/call.ts'
import { watched, watchPost } from '../../../src/rpc/post/observe.ts'
import { replyOf } from '../../../src/rpc/reply.ts'
import { eventsOf } from '../../support/events.ts'
import { VirtualClock } from '../../support/virtual-clock.ts'

/* Through clients: test/rpc/events.test.ts. */

const clock = new VirtualClock()
const { signal } = new AbortController()
const reverted = new RpcError({ code: 3, message: 'execution reverted' })
const calls = (count: number) => Array.from({ length: count }, () => ownRead({ method: 'eth_call', params: [], deadline: 1000 }))
const busy = new HttpError({ status: 429, headers: {}, body: '' }, { kind: 'rate-limit' })

test('a POST is not watched without listeners', () => {
  expect(watchPost('node', calls(1), signal, clock)).toBeUndefined()
})

describe('the event of a POST', () => {
  test('has its duration, the size of its body, its status, and its failures by kind', async () => {
    const events = eventsOf('hexline:post')
    const onPosted = watchPost('node', calls(4), signal, clock)
    await clock.sleep(20)
    onPosted?.([replyOf('0x1'), busy, reverted, busy], { status: 200, body: Buffer.alloc(70) })
    expect(events).toEqual([
      { id: expect.any(Number), endpoint: 'node', calls: 4, bytes: 70, durationMs: 20, status: 200, failures: { 'rate-limit': 2, execution: 1 }, isCut: false },
    ])
  })

  test('has the size of all results if there was no HTTP reply', () => {
    const events = eventsOf('hexline:post')
    watchPost('node', calls(3), signal, clock)?.([replyOf('0x1', 30), busy, replyOf('0x2', 12)])
    expect(events).toMatchObject([{ bytes: 42, status: undefined }])
  })

  test('has no failures if the POST was cut', () => {
    const events = eventsOf('hexline:post')
    watchPost('node', calls(1), AbortSignal.abort(), clock)?.([busy])
    expect(events.map(({ failures, isCut }) => [failures, isCut])).toEqual([[{}, true]])
  })
})

describe('a watched post function', () => {
  test.each<[string, unknown]>([
    ['holes', [undefined, null, replyOf('0x1', 5)]],
    ['a reply that has a kind of its own', [Object.assign(replyOf('0x1', 5), { kind: 'cached' })]],
    ['a reply that throws where it is asked for a kind', [Object.defineProperty(replyOf('0x1', 5), 'kind', { get: () => expect.unreachable('it was read') })]],
    ['errors that are not of hexline', [Object.assign(new Error('no'), { kind: 'timeout', bytes: 7 }), replyOf('0x1', 5)]],
    ['no array', 'nonsense'],
    ['nothing', undefined],
  ])('may return %s, which is passed on, and the event is published', async (_, given) => {
    const events = eventsOf('hexline:post')
    const post = (async () => given) as unknown as Post
    expect(await watched('node', post, clock)([], signal)).toBe(given)
    expect(events.map(({ endpoint, bytes, failures }) => [endpoint, bytes, failures])).toEqual([['node', Array.isArray(given) ? 5 : 0, {}]])
  })

  test('may reject: so does the watched one, and the event is published', async () => {
    const events = eventsOf('hexline:post')
    const post: Post = () => Promise.reject('broken')
    await expect(watched('node', post, clock)([], signal)).rejects.toBe('broken')
    expect(events).toHaveLength(1)
  })
})
