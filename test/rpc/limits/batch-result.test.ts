import { describe, expect, test } from 'vitest'
import { type ErrorKind, HttpError, LimitError, MalformedReplyError, NetworkError, RpcError, TimeoutError } from '../../../src/errors.ts'
import { type Outcome, ownRead } from '../../../src/rpc/call.ts'
import { unanswered } from '../../../src/rpc/failure-kinds.ts'
import { type BatchInFlight, type BatchResult, batchResult } from '../../../src/rpc/limits/batch-result.ts'
import { replyOf } from '../../../src/rpc/reply.ts'

const batchOf = (count: number): BatchInFlight => ({
  calls: Array.from({ length: count }, (_, i) => ownRead({ method: 'eth_call', params: [i], deadline: 1000 })),
  sentAt: 0,
  nth: 1,
  nthBusy: 1,
  expectedBytes: 0,
  isProbe: false,
  hadRoom: false,
})
const resultOf = (...outcomes: Outcome[]) => batchResult(batchOf(outcomes.length), outcomes)

const answered = replyOf('0x1', 10)
const reverted = new RpcError({ code: 3, message: 'execution reverted' })
const late = new TimeoutError('no reply')
const stalled = new TimeoutError('the reply stopped', { stalled: true })
const broken = new MalformedReplyError('not JSON')
const missing = unanswered(new MalformedReplyError('no reply with its id came'))
const lost = new NetworkError('no connection')
const unsent = new NetworkError('no connection', { unsent: true })
const tooLarge = new LimitError('too large', 'response-too-large', { limit: 1, size: 2 })
const http = (status: number, kind: Extract<ErrorKind, 'server' | 'not-found' | 'rate-limit' | 'invalid'>, retryAfterMs?: number) =>
  new HttpError({ status, headers: {}, body: '' }, { kind, retryAfterMs })

test.each<[BatchResult['common'], string, readonly Outcome[]]>([
  ['answered', 'results', [answered, answered]],
  ['timed-out', 'timeouts', [late, late]],
  ['unexplained', 'replies that are not JSON, or failures of the server', [broken, http(500, 'server')]],
  ['not-found', 'HTTP 404', [http(404, 'not-found'), http(404, 'not-found')]],
  ['mixed', 'errors of the calls', [reverted, reverted]],
  ['cut', 'a connection that ended, or replies that stopped in their middle', [lost, stalled]],
  ['mixed', 'a connection that was never made', [unsent, unsent]],
  ['mixed', 'results and failures', [answered, broken]],
  ['mixed', 'failures of two sorts', [late, broken]],
  ['mixed', 'no outcome at all', []],
])('a batch is %s as a whole if it has %s', (common, _, outcomes) => {
  expect(resultOf(...outcomes).common).toBe(common)
})

test.each<[number, string, readonly Outcome[]]>([
  [2, 'those at the beginning alone', [answered, reverted, missing, missing]],
  [2, 'all but the last one', [answered, answered, missing]],
  [0, 'those at the end alone', [missing, missing, answered]],
  [0, 'all', [answered, answered]],
  [0, 'none', [missing, missing]],
  [0, 'all, and some are not valid', [answered, broken, broken]],
  [0, 'some, and others failed', [answered, lost, lost]],
])('of a batch, %i calls are answered first where replies come to %s', (count, _, outcomes) => {
  expect(resultOf(...outcomes).answeredFirst).toBe(count)
})

describe('a batch result counts', () => {
  test('results, their bytes, and their calls', () => {
    const result = resultOf(answered, reverted, answered)
    expect(result.bytes).toBe(20)
    expect(result.answered.map(({ params }) => params[0])).toEqual([0, 2])
    expect(result.taken).toBe(result.batch.calls)
    const whole = resultOf(answered, answered)
    expect([whole.answered, whole.taken]).toEqual([whole.batch.calls, whole.batch.calls])
    expect(resultOf(lost, reverted, http(429, 'rate-limit'), answered, tooLarge).taken.map(({ params }) => params[0])).toEqual([1, 3])
  })

  test.each([5n, Number.NaN, '7', undefined, -1])('no bytes where a post function says that a result has %s', (bytes) => {
    expect(resultOf({ take: () => 1, bytes } as unknown as Outcome, replyOf(1, 8)).bytes).toBe(8)
  })

  test('signs of too many calls at once', () => {
    expect(resultOf(lost, late, stalled, reverted, answered).strained).toBe(2)
  })

  test('of the throttled calls, the failure that asks for the longest pause', () => {
    const longest = http(429, 'rate-limit', 500)
    expect(resultOf(http(429, 'rate-limit', 100), longest, http(429, 'rate-limit'), answered)).toMatchObject({ throttling: longest, taken: [{ params: [3] }] })
    expect(resultOf(answered, reverted).throttling).toBeUndefined()
  })

  test('the refusal of a part, but not of a single call, whose own error it is', () => {
    expect(resultOf(answered, tooLarge).refusal).toBe(tooLarge)
    const own = new RpcError({ code: -32000, message: 'too large' }, { kind: 'response-too-large' })
    expect(resultOf(own)).toMatchObject({ refusal: undefined, taken: [{}] })
  })
})
