import { type Call, createClient, type HexlineError, type Post, type Reply, RpcError, replyOf } from 'hexline'
import { expect, onTestFinished, test } from 'vitest'

const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    (value) => expect.fail(`no error, but ${JSON.stringify(value)}`),
    (error) => error as HexlineError,
  )

function clientOf(post: Post, options = {}) {
  const client = createClient(post, { retry: false, deadlineMs: 20_000, ...options })
  onTestFinished(() => client.close())
  return client
}

test.each<[string, Post]>([
  ['an array with a hole', async (calls) => Object.assign(new Array(calls.length), { 0: replyOf('0x1') })],
  ['a rejection with a symbol', () => Promise.reject(Symbol('odd'))],
  ['a rejection with an object that has no prototype', () => Promise.reject(Object.create(null))],
])('a post function that returns %s fails its calls', async (_, post) => {
  const client = clientOf(post)
  const errors = await Promise.all([1, 2].map((i) => errorOf(client.request({ method: 'eth_getBalance', params: [`0x${i}`, 'latest'] }))))
  for (const error of errors) expect(error).toMatchObject({ name: 'MalformedReplyError', kind: 'malformed' })
})

test('errors of a post function may be frozen and shared: callers get copies, and the originals do not change', async () => {
  const shared = Object.freeze(new RpcError({ code: -32603, message: 'not now' }, { method: 'eth_getBalance', kind: 'server' }))
  const client = clientOf(async (calls) => calls.map(() => shared), { retry: { attempts: 2, baseDelayMs: 1 } })
  const errors = await Promise.all([1, 2].map((i) => errorOf(client.request({ method: 'eth_getBalance', params: [`0x${i}`, 'latest'] }))))
  for (const error of errors) expect(error).toMatchObject({ name: 'RpcError', kind: 'server', said: 'not now', endpoint: 'custom', attempts: 2 })
  expect(errors[0]).not.toBe(errors[1])
  expect(shared).toMatchObject({ endpoint: undefined, attempts: 0 })
})

test('an error that a post function rejects with is copied with the method of each call', async () => {
  const shared = new RpcError({ code: 3, message: 'execution reverted' }, { method: 'eth_call', endpoint: 'elsewhere' })
  const client = clientOf(() => Promise.reject(shared))
  expect(await errorOf(client.request({ method: 'eth_chainId' }))).toMatchObject({
    message: 'elsewhere: eth_chainId: execution reverted',
    method: 'eth_chainId',
    endpoint: 'custom',
  })
})

test.each([Number.NaN, -5, '10'])('a `retryAfterMs` of %s in the error of a post function is ignored', async (retryAfterMs) => {
  let posts = 0
  const empty: number[] = []
  const refusal = new RpcError({ code: 429, message: 'not now' }, { kind: 'rate-limit', retryAfterMs: retryAfterMs as number })
  const client = clientOf(
    async (calls) => {
      if (calls.length === 0) empty.push(posts)
      return ++posts < 4 ? calls.map(() => refusal) : calls.map(() => replyOf('0x1'))
    },
    { retry: { attempts: 2, baseDelayMs: 1 } },
  )
  expect(await client.request({ method: 'eth_chainId' })).toBe('0x1')
  expect(posts).toBe(4)
  expect(empty).toEqual([])
})

test('the stack of an error has few frames of hexline among its ten', async () => {
  const client = clientOf(async (calls) => calls.map(() => new RpcError({ code: 3, message: 'execution reverted' })))
  const frames = (await errorOf(client.request({ method: 'eth_call', params: [{}, 'latest'] }))).stack?.match(/^ +at .*/gm) ?? []
  // Failed retries leave no frame; there is one more while `hexline:call` has a listener.
  expect(frames.findIndex((frame) => frame.includes('custom-post.test.ts'))).toBeLessThan(5)
  expect(frames.join('\n')).not.toMatch(/errorFor|call-failure/)
})

test('a reply without a result fails every caller of a joined call', async () => {
  const broken = () => {
    throw new Error('taken already')
  }
  const client = clientOf(async (calls) => calls.map(() => ({ take: broken, bytes: 0 })))
  const errors = await Promise.all([1, 1].map(() => errorOf(client.request({ method: 'eth_chainId' }))))
  for (const error of errors) expect(error.message).toContain('the reply gives no result')
})

test('a post function that never ends and ignores its signal ends at its timeout, and frees its slot', async () => {
  let posts = 0
  const post: Post = (calls) => (++posts === 1 ? new Promise(() => {}) : Promise.resolve(calls.map(() => replyOf('0x1'))))
  const client = clientOf(post, { timeoutMs: 50, concurrency: 1 })
  const first = errorOf(client.request({ method: 'eth_getBalance', params: ['0x1', 'latest'] }))
  expect(await first).toMatchObject({ name: 'TimeoutError', message: 'post: no whole reply within 50 ms', attempts: 1 })
  expect(await client.request({ method: 'eth_chainId' })).toBe('0x1')
})

test('a post function whose callers have all left frees its slot at once', async () => {
  const signals: AbortSignal[] = []
  const post: Post = (calls, signal) => {
    signals.push(signal)
    return signals.length === 1 ? new Promise(() => {}) : Promise.resolve(calls.map(() => replyOf('0x1')))
  }
  const client = clientOf(post, { concurrency: 1 })
  const end = new AbortController()
  const first = errorOf(client.request({ method: 'eth_getBalance', params: ['0x1', 'latest'] }, { signal: end.signal }))
  await new Promise((resolve) => setTimeout(resolve, 20))
  end.abort(new Error('not wanted'))
  expect((await first).message).toBe('not wanted')
  expect(await client.request({ method: 'eth_chainId' })).toBe('0x1')
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
})

test('a post function may give the same object each time: it is decoded as a copy', async () => {
  const canned = { oldestBlock: '0x5', baseFeePerGas: ['0x7'] }
  const client = clientOf(async (calls) => calls.map(() => replyOf(canned)))
  for (let i = 0; i < 2; i++) expect(await client.call('eth_feeHistory', 1, 'latest', [])).toMatchObject({ oldestBlock: 5n, baseFeePerGas: [7n] })
  expect(canned).toEqual({ oldestBlock: '0x5', baseFeePerGas: ['0x7'] })
})

test('a result that contains itself is refused, also where several wait for it', async () => {
  const itself: Record<string, unknown> = { oldestBlock: '0x5' }
  itself.reward = [itself]
  const client = clientOf(async (calls) => calls.map(() => replyOf(itself)))
  const ask = () => errorOf(client.call('eth_feeHistory', 1, 'latest', []))
  const failure = { kind: 'malformed', method: 'eth_feeHistory' }
  expect(await ask()).toMatchObject({ ...failure, message: expect.stringContaining('something else (an object contains itself)') })
  expect(await Promise.all([ask(), ask()])).toMatchObject([failure, failure])
})

test('a result may hold an object twice, and be frozen', async () => {
  const row = Object.freeze(['0x7'])
  const canned = Object.freeze({ oldestBlock: '0x5', reward: Object.freeze([row, row]) })
  const client = clientOf(async (calls) => calls.map(() => replyOf(canned)))
  expect(await client.call('eth_feeHistory', 1, 'latest', [])).toMatchObject({ oldestBlock: 5n, reward: [[7n], [7n]] })
})

test('a post function may use up the list of its calls', async () => {
  const client = clientOf(async (calls) => {
    const outcomes: Reply[] = []
    for (let call = (calls as Call[]).shift(); call !== undefined; call = (calls as Call[]).shift()) outcomes.push(replyOf(call.params[0]))
    return outcomes
  })
  const results = await Promise.all(['0x1', '0x2', '0x3'].map((account) => client.request({ method: 'eth_getBalance', params: [account, 'latest'] })))
  expect(results).toEqual(['0x1', '0x2', '0x3'])
  expect(await client.request({ method: 'eth_getBalance', params: ['0x4', 'latest'] })).toBe('0x4')
})
